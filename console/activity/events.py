"""The list of operation events, one event, and how it ended in words."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join

from analytics.events import problems
from analytics.events.event_fields import EVENT_FIELDS, EventSection
from analytics.events.event_filters import COUNTED_AS_PARAMETER, EVENT_CONDITIONS, CountedAs
from analytics.events.models import OperationEvent
from analytics.events.problems import FIELD_ERROR_PARAMETER, EventFieldError
from console.log_pages import TIME_FILTER, CohortFilter, ConditionFilter, KnownValuesFilter, LogAdmin, show_release
from core.admin.site import GoToResult
from core.templatetags.admin_format import breakable

# Columns of events by whose value other pages link to the list.
SCOPE_FIELDS = ("surface", "release", "model", "cohort")
TURN_FIELDS = ("client", "session", "turn", "subject")
PROBLEM_PARAMETER = "problem"
ERROR_CODES = ("VALIDATION_ERROR", "PERMISSION_DENIED", "NOT_FOUND", "CONFLICT", "INTERNAL")


class CountedAsFilter(ConditionFilter):
    """Filter for the events that reports count as calls, failed calls and so on."""

    title, parameter_name = "what reports count", COUNTED_AS_PARAMETER
    choices_by_value = {each.value: (str(each.label), EVENT_CONDITIONS[each]) for each in CountedAs}


class DataFlowFilter(ConditionFilter):
    """Filter for the calls for which a rule of data flow held, by what it did."""

    title, parameter_name = "data flow", "flow"
    choices_by_value = {
        "shadow": ("a rule held, in shadow", Q(data_flow__startswith="shadow:")),
        "refused": ("refused", Q(data_flow__startswith="enforce:", reason="data_flow")),
        "asked": ("the user was asked", Q(data_flow__startswith="enforce:", reason="confirmation_required")),
        "agreed": ("ran after the user agreed", Q(data_flow__startswith="enforce:", ok=True)),
    }


class CodeFilter(KnownValuesFilter):
    title, parameter_name, values = "code", "code__exact", ERROR_CODES


class KindFilter(KnownValuesFilter):
    title, parameter_name, values = "kind", "kind__exact", ("read", "write")


class ProblemFilter(admin.SimpleListFilter):
    """Filter for the failed events with one problem. The causes above the list link to it."""

    title, parameter_name = "problem", PROBLEM_PARAMETER

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        if not (value := self.value()):
            return []
        problem = problems.parse_key(value)
        return [(value, problem.text if problem else value)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if not self.value():
            return queryset
        problem = problems.parse_key(self.value() or "")
        if problem is None:
            raise IncorrectLookupParameters
        return queryset.filter(problem.condition)


class FieldErrorFilter(admin.SimpleListFilter):
    """Filter for the calls with one field error, alone or besides others. Reports link to it."""

    title, parameter_name = "field error", FIELD_ERROR_PARAMETER

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        field_error = EventFieldError.parse(self.value() or "")
        return [(field_error.key, field_error.text)] if field_error else []

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if not self.value():
            return queryset
        if (field_error := EventFieldError.parse(self.value() or "")) is None:
            raise IncorrectLookupParameters
        return queryset.filter(field_error.condition)


def find_event(request: HttpRequest, search_text: str) -> Iterator[GoToResult]:
    """Yield the event with this id, for "Go to"."""
    is_id = search_text.isascii() and search_text.isdigit() and len(search_text) < 19
    if not is_id or not request.user.has_perm("analytics.view_operationevent"):
        return
    for event in OperationEvent.objects.filter(pk=int(search_text)):
        name = " ".join(filter(None, [event.type, event.op, event.code]))
        link = reverse("admin:analytics_operationevent_change", args=[event.pk])
        yield GoToResult(f"Event {event.pk}", name, link, order=0, matched=search_text)


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

    shows_seconds = True
    empty = "Create a client and an API key for it. Its calls appear here within a second."
    list_display = [field.list_display or field.name for field in EVENT_FIELDS if field.in_list or field.list_display]
    list_filter = [
        TIME_FILTER,
        ProblemFilter,
        FieldErrorFilter,
        CountedAsFilter,
        "type",
        "ok",
        CodeFilter,
        KindFilter,
        DataFlowFilter,
        "dry_run",
        CohortFilter,
    ]
    link_lookups = [f"{name}__exact" for name in (*SCOPE_FIELDS, *TURN_FIELDS, "op", "tool_name", "reason")]
    link_lookups += ["tool_name__gt", "latency_ms__gt"]
    search_fields = ["op", "trace_id", "session", "subject"]
    # The story above them says what people come for; the fields are for the rest.
    fieldsets = [(section, {"fields": _list_page_lines(section), "classes": ["collapse"]}) for section in EventSection]
    readonly_fields = [place.display for field in EVENT_FIELDS for place in field.places if place.display]
    compressed_fields = False  # labels above the fields, since several share a line

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> type[forms.ModelForm[Any]]:
        descriptions = {
            place.display or field.name: field.description for field in EVENT_FIELDS for place in field.places
        }
        return super().get_form(request, obj, change, help_texts=descriptions, **kwargs)

    @admin.display(description="outcome", ordering="ok")
    def outcome(self, event: OperationEvent) -> str:
        """Show what went wrong in a few words. The event's page has the details."""
        problem = problems.describe_problem(event)
        if not problem:
            return "OK"
        return problem if event.ok else format_html('<span class="ui-text-danger">{}</span>', breakable(problem))

    @admin.display(description="client", ordering="client")
    def show_client(self, event: OperationEvent) -> str:
        """Show the client's name; for a call that was tried in the console, the user's name."""
        return f"{event.key}, in the console" if event.source == OperationEvent.Source.ADMIN else event.client

    @admin.display(description="latency", ordering="latency_ms")
    def show_latency(self, event: OperationEvent) -> str:
        """Show the duration with a decimal only below 10 ms."""
        return f"{event.latency_ms:,.0f} ms" if event.latency_ms >= 10 else f"{event.latency_ms:.1f} ms"

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

    @admin.display(description="release")
    def show_release(self, event: OperationEvent) -> str:
        return show_release(event.release)

    @admin.display(description="changed IDs")
    def show_changed_ids(self, event: OperationEvent) -> str:
        return ", ".join(event.changed_ids or ())

    @admin.display(description="progress")
    def show_progress(self, event: OperationEvent) -> str:
        return " of ".join(f"{value:g}" for value in (event.progress or {}).values())

    @admin.display(description="field errors")
    def show_field_errors(self, event: OperationEvent) -> str:
        """Show the pointer and the code of each field error. Values are never stored."""
        errors = ((problems.describe_field_error(pointer, code),) for pointer, code in event.field_errors)
        return format_html_join("", "<div>{}</div>", errors)
