"""The page of an op, and the rows of copy inside it."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.forms.fields import InvalidJSONInput
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from unfold.widgets import UnfoldAdminTextareaWidget

from audit import audit_log
from console.access.switches import SwitchableMixin
from console.copy.files import CopyFilesMixin
from console.copy.history import CopyForm
from console.copy.op_list import OpListMixin
from console.copy.other_copy import CopyAdmin
from console.copy.preview import OpPreviewMixin
from console.evals.op_edit import OpEditPageMixin
from core.admin import base
from core.admin.form_fields import SentenceField
from core.text import json_text
from registry.files import export
from registry.models import Example, Op, OpAlias, PolicyRule, Switch
from registry.releases import publishing
from registry.snapshot import diff, snapshot

SENTENCE_WIDGET = UnfoldAdminTextareaWidget(attrs={"rows": 1})  # it grows with its text


class RuleInline(base.TabularInline[PolicyRule, Op]):
    model = PolicyRule
    hide_title = True  # it would repeat the text in the line below
    ordering_field, hide_ordering_field = "position", True

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "text":
            kwargs |= {"form_class": SentenceField, "widget": SENTENCE_WIDGET}
        return super().formfield_for_dbfield(db_field, request, **kwargs)


class ExampleInline(base.StackedInline[Example, Op]):
    model = Example
    ordering_field, hide_ordering_field = "position", True


class AliasInline(base.TabularInline[OpAlias, Op]):
    model = OpAlias
    hide_title = True
    verbose_name, verbose_name_plural = "alias", "aliases"


class OpForm(CopyForm):
    """An op's form. It shows the schema as typed, because a JSON column loses indentation and may reorder keys."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        text = self.instance.schema_text
        if text and _is_schema_text(text, self.instance.parameters_schema):
            self.initial["parameters_schema"] = InvalidJSONInput(text)  # Django shows this type unchanged

    def clean(self) -> Any:
        cleaned = super().clean()
        if "parameters_schema" in self.cleaned_data:
            typed = self.data[self.add_prefix("parameters_schema")]
            self.instance.schema_text = typed.replace("\r\n", "\n")
        return cleaned


def _is_schema_text(text: str, schema: Any) -> bool:
    """Return whether the text is still this schema. An import or restore may have replaced the schema."""
    try:
        return diff.is_same_json(json_text.parse(text.encode(), json_text.CONTENT_LIMITS), schema)
    except json_text.NotStrictJSON:
        return False


@admin.register(Op)
class OpAdmin(OpListMixin, CopyAdmin, SwitchableMixin, OpPreviewMixin, CopyFilesMixin, OpEditPageMixin):
    empty = "Load the shipped ops with manage.py load_catalog, import files, or add one."
    form = OpForm
    line_lists = {"keywords": 100, "contexts": 60, "result_fields": 200, "display_only": 100}
    go_to_order = 1
    switch_kind, switch_name = Switch.Kind.OP, "op"
    actions: Any = ["switch_off", "switch_on", "export_csv"]
    search_fields = ["op", "tool_name", "upstream_name", "summary", "aliases__name"]
    readonly_fields = ["upstream_name", "source"]
    inlines = [RuleInline, ExampleInline, AliasInline]
    fieldsets = [
        ("What the model reads", {"fields": ["op", "summary", "description", "notes", "parameters_schema"]}),
        ("Search", {"fields": ["keywords", "contexts", "category"]}),
        (
            "Identity",
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
        ("HTTP service", {"fields": ["request", "result_fields"], "classes": ["collapse"]}),
        (
            "Execution",
            {
                "fields": [
                    ("connection", "timeout_ms"),
                    ("needs_subject", "confirm"),
                    "without_id",
                    "argument_aliases",
                    "display_only",
                ]
            },
        ),
    ]

    @admin.action(description="Download as CSV", permissions=["change"])
    def export_csv(self, request: HttpRequest, queryset: QuerySet[Op]) -> HttpResponse:
        chosen = set(queryset.values_list("op", flat=True))
        content = snapshot.snapshot_draft()
        content["ops"] = [op for op in content["ops"] if op["op"] in chosen]
        table = export.to_csv(content, publishing.count_tokens(content))
        if chosen:
            audit_log.record_export("copy", "ops.csv", by=str(request.user), at=timezone.now())
        headers = {"Content-Disposition": 'attachment; filename="ops.csv"'}
        return HttpResponse(table, content_type="text/csv; charset=utf-8", headers=headers)


class OpPartAdmin(CopyAdmin):
    """A row that belongs to an op."""

    list_select_related = ["op"]
    autocomplete_fields = ["op"]

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("registry.change_op")


@admin.register(PolicyRule)
class PolicyRuleAdmin(OpPartAdmin):
    empty = "A rule says how to use an op. Add one here or on the op's page."
    list_display = ["op", "kind", "text"]
    list_display_links = ["text"]
    list_filter = ["kind"]
    search_fields = ["text", "op__op"]
    go_to_order = 6


@admin.register(Example)
class ExampleAdmin(OpPartAdmin):
    empty = "An example is a working call. Add one here or on the op's page."
    list_display = ["op", "title", "note"]
    list_display_links = ["title"]
    search_fields = ["title", "note", "op__op"]


@admin.register(OpAlias)
class OpAliasAdmin(OpPartAdmin):
    empty = "An alias is another name for an op. Add one here or on the op's page."
    list_display = ["name", "op"]
    search_fields = ["name", "op__op"]
