"""Ops in the admin, with the rules, examples and aliases that lie on their page."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from unfold.widgets import UnfoldAdminTextareaWidget

from core import desk
from core.forms import SentenceField
from registry import export, releases, snapshot
from registry.admin.copy import CopyAdmin
from registry.admin.files import Filing
from registry.admin.op_list import OpList
from registry.admin.previews import Previewing
from registry.admin.switches import Switchable
from registry.models import Example, Op, OpAlias, PolicyRule, Switch

SENTENCE = UnfoldAdminTextareaWidget(attrs={"rows": 1})  # it grows with what stands in it


class RuleInline(desk.TabularInline[PolicyRule, Op]):
    model = PolicyRule
    hide_title = True  # which would say what stands in the line below
    ordering_field, hide_ordering_field = "position", True

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "text":
            kwargs |= {"form_class": SentenceField, "widget": SENTENCE}
        return super().formfield_for_dbfield(db_field, request, **kwargs)


class ExampleInline(desk.StackedInline[Example, Op]):
    model = Example
    ordering_field, hide_ordering_field = "position", True


class AliasInline(desk.TabularInline[OpAlias, Op]):
    model = OpAlias
    hide_title = True
    verbose_name, verbose_name_plural = "alias", "aliases"


@admin.register(Op)
class OpAdmin(OpList, CopyAdmin, Switchable, Previewing, Filing):
    is_gone_to = True
    switch_kind, switch_name = Switch.Kind.OP, "op"
    actions: Any = ["switch_off", "switch_on", "export_csv"]
    search_fields = ["op", "tool_name", "upstream_name", "summary", "aliases__name"]
    readonly_fields = ["upstream_name", "source"]
    inlines = [RuleInline, ExampleInline, AliasInline]
    fieldsets = [
        ("What the model reads", {"fields": ["op", "summary", "description", "notes", "parameters_schema"]}),
        ("How it is found", {"fields": ["keywords", "contexts", "category"]}),
        (
            "What it is",
            {
                "fields": [
                    "tool_name",
                    ("kind", "status"),
                    ("entity", "action"),
                    "successor",
                    ("upstream_name", "source"),
                ]
            },
        ),
        (
            "How it runs",
            {
                "fields": [
                    ("connection", "timeout_ms"),
                    ("needs_subject", "confirm"),
                    *("without_id", "argument_aliases", "display_only"),
                ]
            },
        ),
    ]

    @admin.action(description="Download as a table (CSV)", permissions=["change"])
    def export_csv(self, request: HttpRequest, queryset: QuerySet[Op]) -> HttpResponse:
        chosen = set(queryset.values_list("op", flat=True))
        content = snapshot.draft()
        content["ops"] = [op for op in content["ops"] if op["op"] in chosen]
        table = export.to_csv(content, releases.tokens_of(content))
        headers = {"Content-Disposition": 'attachment; filename="ops.csv"'}
        return HttpResponse(table, content_type="text/csv; charset=utf-8", headers=headers)
