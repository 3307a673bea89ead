"""Ops in the admin, with the rules, examples and aliases that lie on their page."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from core import desk
from registry import export, releases, snapshot
from registry.admin.copy import CopyAdmin
from registry.admin.switches import Switchable
from registry.models import Example, Op, OpAlias, PolicyRule, Switch


class RuleInline(desk.TabularInline[PolicyRule, Op]):
    model = PolicyRule


class ExampleInline(desk.StackedInline[Example, Op]):
    model = Example


class AliasInline(desk.TabularInline[OpAlias, Op]):
    model = OpAlias


@admin.register(Op)
class OpAdmin(CopyAdmin, Switchable):
    is_gone_to = True
    switch_kind, switch_name = Switch.Kind.OP, "op"
    actions: Any = ["switch_off", "switch_on", "export_csv"]
    list_display = ["op", "summary", "kind", "status", "updated_at"]
    list_filter = ["kind", "status", "source", "entity", "connection"]
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
