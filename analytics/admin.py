"""Admin lists of events, daily figures, turns and the audit log, and mixins that record changes in it."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join

from analytics import audit, audit_text
from analytics.events.event_fields import EVENT_FIELDS, EventSection
from analytics.events.event_filters import COUNTED_AS_PARAMETER, EVENT_CONDITIONS, CountedAs
from analytics.events.models import OperationEvent
from analytics.models import AuditEntry, Cohort
from analytics.reports.report_filter import COHORT_PARAMETER, NO_COHORT, match_cohort
from analytics.reports.selection import HAS_ESCALATION, HAS_MISS, MISSED_TOOL_PARAMETER, match_missed_tool
from analytics.rollups.models import OpDaily, Rollup
from analytics.turns.models import ToolSelection
from analytics.turns.turn_filters import TURN_CONDITIONS, TURN_WITH_PARAMETER, TurnWith
from core.admin import base
from core.templatetags.admin_format import breakable, indented

# Columns of events by whose value other pages link to the list.
SCOPE_FIELDS = ("surface", "release", "model", "cohort")
TURN_FIELDS = ("client", "session", "turn", "subject")


class LogAdmin(base.ReadOnlyMixin, base.ModelAdmin[Any]):
    """Read-only list of log rows."""

    date_hierarchy = "time"
    show_full_result_count = False
    list_per_page = 50


class ConditionFilter(admin.SimpleListFilter):
    """Filter for the rows that meet one of some named conditions."""

    choices_by_value: Mapping[str, tuple[str, Q]]  # {value: (label, condition)}

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(value, label) for value, (label, _) in self.choices_by_value.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        if value is None:
            return queryset
        if value not in self.choices_by_value:
            raise IncorrectLookupParameters
        return queryset.filter(self.choices_by_value[value][1])


class CountedAsFilter(ConditionFilter):
    """Filter for the events that reports count as calls, failed calls and so on."""

    title, parameter_name = "what reports count", COUNTED_AS_PARAMETER
    choices_by_value = {each.value: (str(each.label), EVENT_CONDITIONS[each]) for each in CountedAs}


class TurnWithFilter(ConditionFilter):
    title, parameter_name = "what happened", TURN_WITH_PARAMETER
    choices_by_value = {each.value: (str(each.label), TURN_CONDITIONS[each]) for each in TurnWith}


class ToolMissFilter(ConditionFilter):
    title, parameter_name = "tool miss", "missing"
    choices_by_value = {"yes": ("Yes", HAS_MISS)}


class EscalationFilter(ConditionFilter):
    title, parameter_name = "escalation", "escalating"
    choices_by_value = {"yes": ("Yes", HAS_ESCALATION)}


class MissedToolFilter(admin.SimpleListFilter):
    """Filter for the turns that missed a tool. Reports link to it; the list offers only the tool of the link."""

    title, parameter_name = "missed tool", MISSED_TOOL_PARAMETER

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, name)] if (name := self.value()) else []

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(match_missed_tool(name)) if (name := self.value()) else queryset


class CohortFilter(admin.SimpleListFilter):
    """Filter for the rows with a cohort among those that decided. A row can have several."""

    title, parameter_name = "cohort", COHORT_PARAMETER

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        names = set(Cohort.objects.values_list("name", flat=True))
        if (value := self.value()) and value != NO_COHORT:
            names.add(value)  # a report may link to a cohort that was deleted
        return [(NO_COHORT, "No cohort"), *((name, name) for name in sorted(names))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(match_cohort(self.value() or ""))


def _list_page_lines(section: EventSection) -> list[str | list[str] | tuple[str, ...] | tuple[()]]:
    """Return the lines of a section of an event's page, each with the fields that stand side by side."""
    lines: defaultdict[int, list[str]] = defaultdict(list)
    for field in EVENT_FIELDS:
        for place in field.places:
            if place.section == section:
                lines[place.line].append(place.display or field.name)
    return [tuple(names) for _line, names in sorted(lines.items())]


class OperationEventAdmin(LogAdmin):
    """Operation events. This, turns and tool selections are registered in `gateway`, whose pages they link to."""

    empty = "Create a client and an API key for it. Its calls appear here within a second."
    list_display = [field.name for field in EVENT_FIELDS if field.in_list]
    list_filter = [CountedAsFilter, "type", "ok", "code", "kind", "dry_run", CohortFilter]
    link_lookups = [f"{name}__exact" for name in (*SCOPE_FIELDS, *TURN_FIELDS, "op", "tool_name", "reason")]
    link_lookups += ["tool_name__gt"]
    search_fields = ["op", "trace_id", "session", "subject"]
    fieldsets = [(section, {"fields": _list_page_lines(section)}) for section in EventSection]
    readonly_fields = [place.display for field in EVENT_FIELDS for place in field.places if place.display]
    compressed_fields = False  # labels above the fields, since several share a line

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> type[forms.ModelForm[Any]]:
        descriptions = {
            place.display or field.name: field.description for field in EVENT_FIELDS for place in field.places
        }
        return super().get_form(request, obj, change, help_texts=descriptions, **kwargs)

    # Words instead of Django's green and red icons, since neither value is good or bad.
    @admin.display(description="dry run")
    def show_dry_run(self, event: OperationEvent) -> str:
        return "yes" if event.dry_run else "no"

    @admin.display(description="replayed")
    def show_replayed(self, event: OperationEvent) -> str:
        return "yes" if event.replayed else "no"

    @admin.display(description="unchanged")
    def show_unchanged(self, event: OperationEvent) -> str:
        return "yes" if event.unchanged else "no"

    @admin.display(description="changed IDs")
    def show_changed_ids(self, event: OperationEvent) -> str:
        return ", ".join(event.changed_ids or ())

    @admin.display(description="progress")
    def show_progress(self, event: OperationEvent) -> str:
        return " of ".join(f"{value:g}" for value in (event.progress or {}).values())

    @admin.display(description="args")
    def args(self, event: OperationEvent) -> str:
        return _render_content(event, "args")

    @admin.display(description="field errors")
    def show_field_errors(self, event: OperationEvent) -> str:
        """Show the pointer and the code of each field error. Values are never stored."""
        errors = ((pointer or "the args", code) for pointer, code in event.field_errors)
        return format_html_join("", "<div><code>{}</code> {}</div>", errors)

    @admin.display(description="result")
    def result(self, event: OperationEvent) -> str:
        return _render_content(event, "result")


def _render_content(event: OperationEvent, part: str) -> str:
    """Return an event's stored args or result as HTML, or why they are not stored."""
    if event.content is None:
        return "Not stored: GATEWAY_CONTENT_DAYS is 0 or has passed."
    if "too_large" in event.content:
        return f"Not stored: args and result have {event.content['too_large']:,} bytes."
    if part not in event.content:
        return "–"
    return format_html('<pre class="ui-code">{}</pre>', indented(event.content[part]))


@admin.register(OpDaily)
class OpDailyAdmin(LogAdmin):
    empty = "Calls are counted every minute. The latest ones are in the list of events."
    date_hierarchy = "day"
    list_display = ["day", "op", "calls", "invalid", "denied", "not_found", "conflict", "internal", "is_settled"]
    list_filter = ["day", "release"]
    search_fields = ["op"]


class TurnAdmin(LogAdmin):
    empty = "Turns are counted from calls that send a Gateway-Turn header."
    list_display = [
        "time",
        "turn",
        "searches",
        "helps",
        "calls",
        "failed",
        "repaired",
        "unknown_names",
        "repeats",
        "model",
    ]
    list_display_links = ["turn"]
    list_filter = [TurnWithFilter, "surface", CohortFilter, "model", "release"]
    link_lookups = ["cohort__exact"]
    search_fields = ["turn", "session", "subject"]


class ToolSelectionAdmin(LogAdmin):
    empty = "Chat services report a turn with POST telemetry when it ends."
    list_display = ["time", "turn", "count_loaded", "count_used", "missed", "escalated", "tokens", "outcome", "model"]
    list_display_links = ["turn"]
    list_filter = [
        *(ToolMissFilter, MissedToolFilter, EscalationFilter, "outcome", "selection_kind"),
        *("surface", CohortFilter, "model", "release"),
    ]
    link_lookups = ["cohort__exact"]
    search_fields = ["turn", "session", "subject", "missed"]

    @admin.display(description="Tools loaded")
    def count_loaded(self, row: ToolSelection) -> int:
        return len(row.loaded)

    @admin.display(description="Used")
    def count_used(self, row: ToolSelection) -> int:
        return len(row.used)


@admin.register(Rollup)
class RollupAdmin(LogAdmin):
    empty = "Servers count events every minute. To count them now, run manage.py run_jobs."
    date_hierarchy = "counted_at"
    list_display = ["name", "settled_until", "counted_at"]
    search_fields = ["name"]


# The permission to view entries about a kind of rows, where it is not that to view the audit log.
KIND_PERMISSIONS = {
    AuditEntry.Kind.CLIENT: "gateway.view_client",
    AuditEntry.Kind.API_KEY: "gateway.view_apikey",
    AuditEntry.Kind.APPLICATION: "oauth2_provider.view_application",
    AuditEntry.Kind.USER: "auth.view_user",
    AuditEntry.Kind.ROLE: "auth.view_group",
    AuditEntry.Kind.SIGN_IN: "auth.view_user",
}


class PersonFilter(admin.SimpleListFilter):
    """Filter for what one person, command or job did."""

    title, parameter_name = "person", "by"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        names = model_admin.get_queryset(request).order_by("by").values_list("by", flat=True).distinct()
        return [(name, name) for name in names]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(by=name) if (name := self.value()) else queryset


class AuditEntryAdmin(LogAdmin):
    """The audit log. Registered by the apps that own the rows, which add actions for an entry."""

    empty = "Edit an op. Who changed what, and the text before, appear here."
    list_display = ["time", "by", "what", "what_changed", "note"]
    list_display_links = ["what"]
    list_filter = [PersonFilter, "kind", "action", ("time", admin.DateFieldListFilter)]
    link_lookups = ["name"]
    search_fields = ["name", "by", "note"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[AuditEntry]:
        """Leave out entries about rows that the user may not view, such as users and API keys."""
        entries: QuerySet[AuditEntry] = super().get_queryset(request)
        if not self.has_view_permission(request):
            return entries  # the pages refuse the user anyway
        hidden = [kind for kind, permission in KIND_PERMISSIONS.items() if not request.user.has_perm(permission)]
        return entries.exclude(kind__in=hidden) if hidden else entries

    @admin.display(description="what", ordering="name")
    def what(self, entry: AuditEntry) -> str:
        return breakable(audit_text.describe_entry(entry))

    @admin.display(description="before and after")
    def what_changed(self, entry: AuditEntry) -> str:
        return audit_text.describe_changes(entry)


class AuditHistoryAdmin(base.ModelAdmin[Any]):
    """Admin page whose history is the audit log, which has old and new values; Django's log has none."""

    def get_audit_key(self, row: Any) -> tuple[str, str]:
        """Return the kind and name of a row in the audit log."""
        raise NotImplementedError

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Redirect to the audit log of a row."""
        row = self.get_object(request, unquote(object_id))
        if row is None:
            raise Http404("This row does not exist.")
        if not self.has_view_or_change_permission(request, row):
            raise PermissionDenied
        kind, name = self.get_audit_key(row)
        changelist = reverse("admin:analytics_auditentry_changelist")
        return redirect(f"{changelist}?{urlencode({'kind': kind, 'name': name})}")


class AuditedAdmin(AuditHistoryAdmin):
    """Admin page that records changes in the audit log. For rows other than copy, which records its own."""

    audit_kind: AuditEntry.Kind

    def get_audit_key(self, row: Any) -> tuple[str, str]:
        return self.audit_kind, self.get_audit_name(row)

    def get_audit_name(self, row: Any) -> str:
        """Return the name of a row in the audit log."""
        return str(row)

    def get_audit_values(self, row: Any) -> dict[str, Any]:
        """Return the audited fields of a row as JSON values."""
        raise NotImplementedError

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        saved_row = type(obj)._default_manager.filter(pk=obj.pk).first() if change else None
        vars(request)["audited_before"] = self.get_audit_values(saved_row) if saved_row else None
        super().save_model(request, obj, form, change)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        row = type(form.instance)._default_manager.get(pk=form.instance.pk)
        self.record_change(request, row, vars(request).pop("audited_before"), self.get_audit_values(row))

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        self.record_change(request, obj, self.get_audit_values(obj), None)
        super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        for row in queryset:
            self.record_change(request, row, self.get_audit_values(row), None)
        super().delete_queryset(request, queryset)

    def record_change(
        self, request: HttpRequest, row: Any, before: audit.AuditValues | None, after: audit.AuditValues | None
    ) -> None:
        """Record what a user changed. `before` is None for an added row, `after` for a removed one."""
        audit.record_change(
            self.audit_kind, self.get_audit_name(row), before, after, by=str(request.user), at=timezone.now()
        )
