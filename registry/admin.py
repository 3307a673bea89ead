"""The draft and its releases in the Django admin."""

from functools import partial
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.widgets import AdminTextInputWidget
from django.core.exceptions import ValidationError
from django.db.models import CharField, Exists, JSONField, OuterRef, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.html import format_html, format_html_join

from analytics.models import AuditEntry
from core import canonical
from core.forms import PLAIN_TEXT, STRICT_JSON, StrictJSONField
from registry import draft, export, releases, restoring, snapshot
from registry.admin_history import HistoryAdmin, Recorded
from registry.admin_switches import ReasonForm, Switchable, SwitchAdmin
from registry.checks import Finding
from registry.forms import AcceptForm
from registry.models import (
    Activation,
    Connection,
    Example,
    Group,
    Op,
    OpAlias,
    PolicyRule,
    PromptSection,
    Release,
    Switch,
)

LISTED = 200  # warnings on a page: an import of thousands of functions has as many
LINE = AdminTextInputWidget(attrs={"class": "vLargeTextField"})  # a sentence should be seen whole while it is edited


class CopyAdmin(Recorded):
    """What the admins of copy share: strict JSON, long lines, publishing, and no deleting of what is shipped."""

    formfield_overrides = STRICT_JSON | PLAIN_TEXT
    actions = ["publish_draft"]

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if isinstance(db_field, CharField) and (db_field.max_length or 0) >= 200 and not db_field.choices:
            kwargs["widget"] = LINE
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        # A shipped row that is gone would come back with the next upgrade; retiring it lasts.
        return super().has_delete_permission(request, obj) and (obj is None or obj.shipped is None)

    @admin.action(description="Publish the whole draft", permissions=["publish"])
    def publish_draft(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        form = AcceptForm(request.POST if "seen" in request.POST else None)
        try:
            release = _publish(form, by=str(request.user))
        except releases.NeedsReason as error:
            page = {"title": "Publish with warnings?", "form": form, "opts": self.opts}
            page |= {"warnings": error.warnings[:LISTED], "count": len(error.warnings), "seen": _shown(error.warnings)}
            return TemplateResponse(request, "registry/accept.html", self.admin_site.each_context(request) | page)
        except releases.NotPublishable as error:
            for problem in error.problems[:10]:
                self.message_user(request, str(problem), messages.ERROR)
        except releases.AlreadyLive:
            self.message_user(request, "Nothing to publish: the draft is what is live.", messages.WARNING)
        except releases.Withdrawn as error:
            self.message_user(request, f"The draft is what was withdrawn. {error}", messages.ERROR)
        else:
            self.message_user(request, f"Release {release} is live with {release.op_count} ops.")
        return None

    def has_publish_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("registry.add_release")


def _publish(form: AcceptForm, *, by: str) -> Release:
    """Publish the draft, with the reason of a valid form for the warnings that it was shown with."""
    publish = partial(releases.publish, note="Published in the admin", by=by, at=timezone.now())
    try:
        return publish()
    except releases.NeedsReason as error:
        if not form.is_valid():
            raise
        if form.cleaned_data["seen"] != _shown(error.warnings):
            form.add_error(None, "The draft was edited meanwhile. Look at its warnings again.")
            raise
        return publish(accepted=form.cleaned_data["because"])


def _shown(warnings: list[Finding]) -> str:
    """Return what tells one list of warnings from another."""
    return canonical.digest([warning.as_dict() for warning in warnings])


class RuleInline(admin.TabularInline[PolicyRule, Op]):
    model = PolicyRule
    extra = 0
    formfield_overrides = {CharField: {"widget": LINE}}


class ExampleInline(admin.StackedInline[Example, Op]):
    model = Example
    extra = 0
    formfield_overrides = {
        JSONField: {"form_class": StrictJSONField, "widget": forms.Textarea(attrs={"rows": 6, "cols": 80})}
    }


class AliasInline(admin.TabularInline[OpAlias, Op]):
    model = OpAlias
    extra = 0


@admin.register(Group)
class GroupAdmin(CopyAdmin, Switchable):
    switch_kind, switch_name = Switch.Kind.GROUP, "path"
    actions: Any = ["publish_draft", "switch_off", "switch_on"]  # each base types it by itself
    list_display = ["path", "summary", "updated_at"]
    search_fields = ["path", "summary"]


@admin.register(Op)
class OpAdmin(CopyAdmin, Switchable):
    switch_kind, switch_name = Switch.Kind.OP, "op"
    actions: Any = ["publish_draft", "switch_off", "switch_on", "export_csv"]  # each base types it by itself
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
            {"fields": ["tool_name", "kind", "entity", "action", "status", "successor", "upstream_name", "source"]},
        ),
        (
            "How it runs",
            {
                "fields": [
                    *("connection", "timeout_ms", "needs_subject", "confirm", "without_id"),
                    *("argument_aliases", "display_only"),
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


@admin.register(PromptSection)
class PromptSectionAdmin(CopyAdmin):
    list_display = ["title", "prompt", "name", "position", "status", "updated_at"]
    list_filter = ["prompt", "status"]
    search_fields = ["prompt", "name", "title", "text"]
    fieldsets = [
        ("What the model reads", {"fields": ["title", "text"]}),
        ("Where it stands", {"fields": ["prompt", "position", "name", "status"]}),
    ]


class OfAnOp(CopyAdmin):
    """What lies on an op's page, listed across all ops: to find a phrase wherever it stands."""

    list_select_related = ["op"]
    autocomplete_fields = ["op"]

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("registry.change_op")


@admin.register(PolicyRule)
class PolicyRuleAdmin(OfAnOp):
    list_display = ["op", "kind", "text"]
    list_display_links = ["text"]
    list_filter = ["kind"]
    search_fields = ["text", "op__op"]


@admin.register(Example)
class ExampleAdmin(OfAnOp):
    list_display = ["op", "title", "note"]
    list_display_links = ["title"]
    search_fields = ["title", "note", "op__op"]


@admin.register(OpAlias)
class OpAliasAdmin(OfAnOp):
    list_display = ["name", "op"]
    search_fields = ["name", "op__op"]


@admin.register(Connection)
class ConnectionAdmin(Switchable):
    switch_kind, switch_name = Switch.Kind.CONNECTION, "name"
    list_display = ["name", "kind"]
    ordering = ["name"]
    search_fields = ["name"]


admin.site.register(Switch, SwitchAdmin)
admin.site.register(AuditEntry, HistoryAdmin)


class ReadOnlyAdmin(admin.ModelAdmin[Any]):
    """Rows that services own."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Release)
class ReleaseAdmin(ReadOnlyAdmin):
    list_display = ["__str__", "live", "op_count", "created_at", "created_by", "withdrawn_reason"]
    fields = readonly_fields = (
        *("version", "live", "op_count", "created_at", "created_by"),
        *("accepted_because", "warnings", "withdrawn_at", "withdrawn_by", "withdrawn_reason"),
    )
    search_fields = ["version", "created_by", "withdrawn_reason"]
    action_form = ReasonForm
    actions = ["make_live", "withdraw", "restore"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Release]:
        live = Activation.objects.filter(release=OuterRef("pk"), is_live=True)
        return Release.objects.defer("content", "tokens", "accepted_warnings").annotate(live=Exists(live))

    @admin.display(boolean=True)
    def live(self, release: Any) -> bool:
        return bool(release.live)

    @admin.display(description="Accepted warnings")
    def warnings(self, release: Release) -> str:
        said = (
            (warning["op"], warning["field"], warning["message"], warning["fix"])
            for warning in release.accepted_warnings[:LISTED]
        )
        listed = format_html_join("", "<div>{}, {}: {} {}</div>", said)
        left = len(release.accepted_warnings) - LISTED
        return format_html("{}<div>… and {} more.</div>", listed, left) if left > 0 else listed

    @admin.action(description="Make the selected release live", permissions=["publish"])
    def make_live(self, request: HttpRequest, queryset: QuerySet[Release]) -> None:
        if release := self._one(request, queryset):
            try:
                releases.activate(
                    version=release.version, note="Made live in the admin", by=str(request.user), at=timezone.now()
                )
            except releases.AlreadyLive:
                self.message_user(request, f"Release {release} is live already.", messages.WARNING)
            except releases.Withdrawn as error:
                self.message_user(request, str(error), messages.ERROR)
            else:
                self.message_user(request, f"Release {release} is live.")

    @admin.action(description="Withdraw the selected release for good, for the reason given", permissions=["publish"])
    def withdraw(self, request: HttpRequest, queryset: QuerySet[Release]) -> None:
        if release := self._one(request, queryset):
            reason = request.POST.get("reason", "")
            try:
                releases.withdraw(version=release.version, reason=reason, by=str(request.user), at=timezone.now())
            except (releases.IsLive, releases.Withdrawn) as error:
                self.message_user(request, str(error), messages.ERROR)
            except ValidationError as error:
                self.message_user(request, " ".join(error.messages), messages.ERROR)
            else:
                self.message_user(request, f"Release {release} is withdrawn: nobody is served it any more.")

    @admin.action(description="Restore the selected release into the draft", permissions=["restore"])
    def restore(self, request: HttpRequest, queryset: QuerySet[Release]) -> None:
        if release := self._one(request, queryset):
            try:
                found = restoring.restore(release, by=str(request.user), at=timezone.now())
            except draft.NothingToDo:
                self.message_user(request, f"The draft is release {release} already.", messages.WARNING)
            except (draft.Refused, draft.Moved) as error:
                self.message_user(request, str(error), messages.ERROR)
            else:
                told = f"The draft is release {release} again: {len(found)} changes. Publish it to make it live."
                self.message_user(request, told)

    def _one(self, request: HttpRequest, queryset: QuerySet[Release]) -> Release | None:
        chosen = list(queryset[:2])
        if len(chosen) == 1:
            return chosen[0]
        self.message_user(request, "Choose one release.", messages.ERROR)
        return None

    def has_restore_permission(self, request: HttpRequest) -> bool:
        models = ("op", "group", "promptsection")
        return request.user.has_perms([f"registry.{verb}_{model}" for verb in ("add", "change") for model in models])

    def has_publish_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("registry.add_release")


@admin.register(Activation)
class ActivationAdmin(ReadOnlyAdmin):
    list_display = ["release", "is_live", "activated_at", "activated_by", "note"]
    list_select_related = ["release"]
    search_fields = ["release__version", "note", "activated_by"]
