"""What a report is asked for (period, filters), and links from its rows."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from unfold.widgets import UnfoldAdminSelectWidget

from analytics.events.event_filters import COUNTED_AS_PARAMETER, CountedAs, build_op_query
from analytics.reports import DAYS
from analytics.reports import report_filter as scopes
from analytics.reports.report_filter import COHORT_PARAMETER, FILTER_FIELDS, NO_COHORT, PERIODS, ReportFilter
from analytics.turns.models import TURN_WITH_PARAMETER, TurnWith
from core.admin.page_parts import FilterChip
from registry.releases.stored_releases import map_short_names

DEFAULT_DAYS = 28
MAX_ECHOED_CHARS = 60  # characters of an invalid value that are repeated on the page
NO_COHORT_LABEL = "No cohort (defaults)"
AdminListQuery = Mapping[str, Any]  # query parameters of an admin list
NO_QUERY: AdminListQuery = {}


class ReportFilterForm(forms.Form):
    """The filters above a report. A requested value is a choice even without data."""

    days = forms.TypedChoiceField(
        label="Period",
        coerce=int,
        choices=[(days, f"Last {days} days") for days in PERIODS],
        required=False,
        widget=UnfoldAdminSelectWidget,
    )

    def __init__(self, data: Mapping[str, Any], seen: Mapping[str, Sequence[str]], left_out: Sequence[str]) -> None:
        super().__init__({"days": DEFAULT_DAYS, **data})
        for name in FILTER_FIELDS:
            if name not in left_out:
                self.fields[name] = forms.ChoiceField(
                    choices=[("", "All"), *build_choices(name, seen[name], chosen=[data.get(name, "")])],
                    required=False,
                    widget=UnfoldAdminSelectWidget,
                )


def build_choices(name: str, values: Sequence[str], *, chosen: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Return (value, label) of each choice of a filter: those with data, and what was chosen without having any."""
    labels = label_values(name, [*values, *chosen])
    choices = [
        *([(NO_COHORT, NO_COHORT_LABEL)] if name == "cohort" else []),
        *((value, labels[value]) for value in values),
    ]
    known = {"", *(value for value, _ in choices)}
    return [*choices, *((value, f"{labels[value]} (no data)") for value in chosen if value not in known)]


def label_values(name: str, values: Iterable[str]) -> dict[str, str]:
    """Return the label of each surface, cohort, release or model."""
    values = list(values)
    labels = {NO_COHORT: NO_COHORT_LABEL} if name == "cohort" else {}
    if name == "release":
        labels = map_short_names(filter(None, values))
    return {value: labels.get(value, value) or "unknown" for value in values}


def label_value(name: str, value: str) -> str:
    """Return the label of one surface, cohort, release or model."""
    return label_values(name, [value])[value]


class ReportQuery:
    """A parsed report request: the filter form, the scope, and links that keep the filters."""

    def __init__(self, request: HttpRequest, *, left_out: Sequence[str] = ()) -> None:
        at = timezone.now()
        self.seen_values = scopes.list_filter_values(at)
        self.params = request.GET
        submitted = ReportFilterForm(request.GET.dict(), self.seen_values, left_out)
        submitted.full_clean()
        self.filters = {name: value for name, value in submitted.cleaned_data.items() if value}
        self.form = ReportFilterForm(self.filters, self.seen_values, left_out)  # shows what the figures are about
        self.unknown_period = submitted.data["days"][:MAX_ECHOED_CHARS] if "days" in submitted.errors else ""
        self.filters_without_data = [
            f"{name} {self.filters[name][:MAX_ECHOED_CHARS]}"
            for name in FILTER_FIELDS
            if self.filters.get(name) and self.filters[name] not in (NO_COHORT, *self.seen_values[name])
        ]
        self.scope = ReportFilter(at, **self.filters)

    def list_chips(self, other: Mapping[str, str]) -> list[FilterChip]:
        """Return the filters in use, and the period if it is not the usual one. `other` are parameters to keep."""
        chips = []
        for name, value in self.filters.items():
            if name == "days" and value == DEFAULT_DAYS:
                continue
            rest = {key: each for key, each in self.filters.items() if key != name}
            label = "Period" if name == "days" else name.capitalize()
            text = f"last {value} days" if name == "days" else label_value(name, value)
            chips.append(FilterChip(label, text, "?" + urlencode({**other, **rest})))
        return chips

    def build_query_string(self, **more: Any) -> str:
        """Return a query string with the same filters and with `more`."""
        return "?" + urlencode({**self.filters, **more})


def to_events(
    report_filter: ReportFilter, counted_as: CountedAs, query: AdminListQuery = NO_QUERY, *, day: date | None = None
) -> str:
    """Return the URL of the list of the events that a figure counts, for one day or all days."""
    return _build_url("operationevent", report_filter, {COUNTED_AS_PARAMETER: counted_as.value, **query}, day)


def to_events_of_op(report_filter: ReportFilter, counted_as: CountedAs, op: str) -> str:
    """Return the URL of the list of the events that a figure of an op counts; "" stands for unknown names."""
    return to_events(report_filter, counted_as, build_op_query(op))


def to_last_days_of_op(op: str, counted_as: CountedAs) -> str:
    """Return the URL of the list of an op's events in the period that op pages cover."""
    return to_events_of_op(ReportFilter(timezone.now(), days=DAYS), counted_as, op)


def to_turns(
    report_filter: ReportFilter,
    contains: TurnWith | None = None,
    query: AdminListQuery = NO_QUERY,
    *,
    day: date | None = None,
) -> str:
    """Return the URL of the list of turns in a scope, for one day or all days."""
    contains_query = {TURN_WITH_PARAMETER: contains.value} if contains else {}
    return _build_url("turn", report_filter, {**contains_query, **query}, day)


def to_tool_selections(report_filter: ReportFilter, query: AdminListQuery = NO_QUERY) -> str:
    """Return the URL of the list of tool selections in a scope."""
    return _build_url("toolselection", report_filter, query, None)


def _build_url(model: str, report_filter: ReportFilter, query: AdminListQuery, day: date | None) -> str:
    since, until = day or report_filter.first_day, day or report_filter.last_day
    scope_query = {f"{name}__exact": getattr(report_filter, name) for name in ("surface", "release", "model")}
    scope_query[COHORT_PARAMETER] = report_filter.cohort
    parameters = {
        "time__gte": _format_midnight(since),
        "time__lt": _format_midnight(until + timedelta(days=1)),
        **query,
        **{name: value for name, value in scope_query.items() if value},
    }
    return f"{reverse(f'admin:analytics_{model}_changelist')}?{urlencode(parameters)}"


def _format_midnight(day: date) -> str:
    return datetime.combine(day, time(), UTC).isoformat()
