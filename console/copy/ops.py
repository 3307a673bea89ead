"""The page of an op, and the rows of copy inside it."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.forms.fields import InvalidJSONInput
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from unfold.widgets import UnfoldAdminTextareaWidget

from audit import audit_log
from audit.models import AuditEntry
from console.access.switches import SwitchableMixin
from console.copy.files import CopyFilesMixin
from console.copy.history import CopyForm
from console.copy.op_list import OpListMixin
from console.copy.other_copy import CopyAdmin
from console.copy.preview import OpPreviewMixin
from console.evals.op_edit import OpEditPageMixin
from console.forms import build_flow_labels_field
from core.admin import base
from core.admin.form_fields import SentenceField
from core.admin.site import GoToResult
from core.text import json_text
from registry.files import export
from registry.models import Example, Op, OpAlias, PolicyRule, Switch
from registry.releases import publishing
from registry.snapshot import diff, snapshot

MAX_OPS_OF_ARGUMENT = 30  # in "Go to"
SENTENCE_WIDGET = UnfoldAdminTextareaWidget(attrs={"rows": 1})  # it grows with its text


class RuleInline(base.TabularInline[PolicyRule, Op]):
    model = PolicyRule
    part = "Copy"
    hide_title = True  # it would repeat the text in the line below
    ordering_field, hide_ordering_field = "position", True

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "text":
            kwargs |= {"form_class": SentenceField, "widget": SENTENCE_WIDGET}
        return super().formfield_for_dbfield(db_field, request, **kwargs)


class ExampleInline(base.StackedInline[Example, Op]):
    model = Example
    part = "Copy"
    ordering_field, hide_ordering_field = "position", True


class AliasInline(base.TabularInline[OpAlias, Op]):
    model = OpAlias
    part = "Search"
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


MAX_OPS_OF_ARGUMENT = 30  # in "Go to"


def _is_schema_text(text: str, schema: Any) -> bool:
    """Return whether the text is still this schema. An import or restore may have replaced the schema."""
    try:
        return diff.is_same_json(json_text.parse(text.encode(), json_text.CONTENT_LIMITS), schema)
    except json_text.NotStrictJSON:
        return False


MAX_CHANGES = 20  # on the page; its history has the others

# The tabs of the form: their fieldsets.
PARTS: dict[str, list[Any]] = {
    "Copy": [(None, {"fields": ["op", "summary", "description", "notes"]})],
    "Arguments": [(None, {"fields": ["parameters_schema", "argument_aliases", "display_only", "without_id"]})],
    "Search": [(None, {"fields": ["keywords", "contexts", "category"]})],
    "Runs": [
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
        ("Service", {"fields": ["request", "result_fields", "result_row"], "classes": ["collapse"]}),
        ("Execution", {"fields": [("connection", "timeout_ms"), ("needs_subject", "confirm"), "flow_labels"]}),
    ],
}


class OpPart(NamedTuple):
    """A tab of the form, with its fieldsets and its rows."""

    title: str
    fieldsets: list[Any]
    formsets: list[Any]


@admin.register(Op)
class OpAdmin(OpListMixin, CopyAdmin, SwitchableMixin, OpPreviewMixin, CopyFilesMixin, OpEditPageMixin):
    empty = "Load the shipped ops with manage.py load_catalog, import files, or add one."
    form = OpForm
    line_lists = {"keywords": 100, "contexts": 60, "result_fields": 200, "display_only": 100}
    go_to_order = 1
    switch_kind, switch_name = Switch.Kind.OP, "op"
    actions: Any = ["change_selected", "switch_off", "switch_on", "export_csv"]
    search_fields = ["op", "tool_name", "upstream_name", "summary", "aliases__name"]
    readonly_fields = ["upstream_name", "source"]
    inlines = [RuleInline, ExampleInline, AliasInline]
    fieldsets = [fieldset for fieldsets in PARTS.values() for fieldset in fieldsets]

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "flow_labels":
            return build_flow_labels_field(db_field)
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if db_field.name == "op":
            field.help_text = "If you rename the op, its old path becomes an alias, so that callers of it keep working."
        return field

    def get_fieldsets(self, request: HttpRequest, obj: Op | None = None) -> Any:
        """Leave out the path for people who can only view: the title has it."""
        copy, *others = super().get_fieldsets(request, obj)
        if obj is not None and not self.has_change_permission(request, obj):
            copy = (copy[0], copy[1] | {"fields": [name for name in copy[1]["fields"] if name != "op"]})
        return [copy, *others]

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Divide the form into its tabs, and add the last changes of the op."""
        fieldsets, formsets = iter(context["adminform"]), context["inline_admin_formsets"]
        context["parts"] = [
            OpPart(title, [next(fieldsets) for _ in names], [each for each in formsets if each.opts.part == title])
            for title, names in PARTS.items()
        ]
        op: Op | None = kwargs.get("obj")
        if op is not None and op.pk is not None:
            kind, name = self.get_audit_key(op)
            entries = AuditEntry.objects.filter(kind=kind, name=name)[:MAX_CHANGES]
            context["changes"] = [(entry, audit_log.describe_changes(entry)) for entry in entries]
        return super().render_change_form(request, context, *args, **kwargs)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Keep the old path of a renamed op as an alias. An alias that becomes the path is removed."""
        old_path = form.initial.get("op", "") if change and "op" in form.changed_data else ""
        if old_path and not Op.objects.filter(Q(op=old_path) | Q(tool_name=old_path)).exists():
            OpAlias.objects.get_or_create(name=old_path, defaults={"op": form.instance})
            OpAlias.objects.filter(op=form.instance, name=form.instance.op).delete()
        super().save_related(request, form, formsets, change)

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


def find_ops_by_argument(request: HttpRequest, search_text: str) -> Iterator[GoToResult]:
    """Yield the ops that have an argument with this name, for "Go to"."""
    if not request.user.has_perm("registry.view_op"):
        return
    named = Q(parameters_schema__properties__has_key=search_text) | Q(argument_aliases__has_key=search_text)
    for pk, op in Op.objects.filter(named).order_by("op").values_list("pk", "op")[:MAX_OPS_OF_ARGUMENT]:
        link = reverse("admin:registry_op_change", args=[pk])
        yield GoToResult(op, f"op with the argument {search_text}", link, OpAdmin.go_to_order, matched=search_text)


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
    go_to_is_text = True

    def get_go_to_texts(self, row: PolicyRule) -> tuple[str, str]:
        return str(row), f"rule of {row.op}"


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
