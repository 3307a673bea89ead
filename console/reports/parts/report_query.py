"""What a report is asked for (period, filters), and links from its rows."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from analytics.events.event_filters import COUNTED_AS_PARAMETER, CountedAs, build_op_query
from analytics.reports import DAYS
from analytics.reports import report_filter as scopes
from analytics.reports.report_filter import (
    COHORT_PARAMETER,
    DEFAULT_DAYS,
    EARLIEST,
    EXACT_FIELDS,
    FILTER_FIELDS,
    FROM,
    NO_COHORT,
    PERIODS,
    TO,
    InvalidPeriod,
    ReportFilter,
)
from analytics.turns.models import TURN_WITH_PARAMETER, TurnWith
from core.admin.page_parts import FilterChip
from registry.releases.stored_releases import map_short_names

CHOSEN_DAYS = "chosen"  # as a period: from one day to another
DATE_ATTRS = {"type": "date", "min": EARLIEST.isoformat()}
MAX_ECHOED_CHARS = 60  # characters of an invalid value that are repeated on the page
NO_COHORT_LABEL = "No cohort (defaults)"
AdminListQuery = Mapping[str, Any]  # query parameters of an admin list
NO_QUERY: AdminListQuery = {}


class ReportFilterForm(forms.Form):
    """The filters above a report. A requested value is a choice even without data."""

    days = forms.ChoiceField(
        label="Period",
        choices=[*((str(days), f"Last {days} days") for days in PERIODS), (CHOSEN_DAYS, "Custom dates")],
        required=False,
        widget=UnfoldAdminSelectWidget,
    )

    def __init__(self, data: Mapping[str, Any], seen: Mapping[str, Sequence[str]], left_out: Sequence[str]) -> None:
        has_days = data.get(FROM) or data.get(TO)
        super().__init__({"days": CHOSEN_DAYS if has_days else str(DEFAULT_DAYS), **data})
        for name in (FROM, TO):
            self.fields[name] = forms.DateField(
                label=name.capitalize(), required=False, widget=UnfoldAdminTextInputWidget(attrs=DATE_ATTRS)
            )
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
    """Return the label of each surface, cohort, release, model or client."""
    values = list(values)
    labels = {NO_COHORT: NO_COHORT_LABEL} if name == "cohort" else {}
    if name == "release":
        labels = map_short_names(filter(None, values))
    return {value: labels.get(value, value) or "unknown" for value in values}


def label_value(name: str, value: str) -> str:
    """Return the label of one surface, cohort, release, model or client."""
    return label_values(name, [value])[value]


class ReportQuery:
    """A parsed report request: the filter form, the scope, and links that keep the filters."""

    def __init__(self, request: HttpRequest, *, left_out: Sequence[str] = ()) -> None:
        at = timezone.now()
        self.seen_values = scopes.list_filter_values(at)
        submitted = ReportFilterForm(request.GET.dict(), self.seen_values, left_out)
        submitted.full_clean()
        self.period_problem = ""
        self.scope = self._choose_period(submitted, at)
        for name in FILTER_FIELDS:
            self.scope = self.scope.narrow(name, submitted.cleaned_data.get(name) or "")
        self.filters = self.scope.list_parameters()
        # It shows what the figures are about. The days are there in case that the reader chooses other ones.
        days = {FROM: self.scope.first_day.isoformat(), TO: self.scope.last_day.isoformat()}
        chosen = {"days": str(self.scope.days) if self.scope.last is None else CHOSEN_DAYS}
        self.form = ReportFilterForm({**self.filters, **days, **chosen}, self.seen_values, left_out)
        self.chosen_count = sum(name in self.filters for name in FILTER_FIELDS)
        self.filters_without_data = [
            f"{name} {value[:MAX_ECHOED_CHARS]}"
            for name in FILTER_FIELDS
            if (value := getattr(self.scope, name)) and value not in (NO_COHORT, *self.seen_values[name])
        ]

    def _choose_period(self, submitted: ReportFilterForm, at: datetime) -> ReportFilter:
        """Return the filter of the requested period; of the default one if it cannot be shown, and say so."""
        values = submitted.cleaned_data
        days = str(values.get("days") or "")
        if days in map(str, PERIODS):
            return ReportFilter(at, int(days))
        if wrong := next((name for name in ("days", FROM, TO) if name in submitted.errors), None):
            self.period_problem = f"Unknown period “{str(submitted.data[wrong])[:MAX_ECHOED_CHARS]}”."
            return ReportFilter(at)
        if not (values[FROM] or values[TO]):
            return ReportFilter(at)
        try:
            return scopes.choose_days(at, values[FROM], values[TO])
        except InvalidPeriod as error:
            self.period_problem = str(error)
            return ReportFilter(at)

    def list_chips(self, other: Mapping[str, str]) -> list[FilterChip]:
        """Return the filters in use, and the period if it is not the usual one. `other` are parameters to keep."""
        chips = []
        if self.scope.last is not None or self.scope.days != DEFAULT_DAYS:
            rest = {name: value for name, value in self.filters.items() if name in FILTER_FIELDS}
            text = f"last {self.scope.days} days" if self.scope.last is None else format_days(self.scope)
            chips.append(FilterChip("Period", text, "?" + urlencode({**other, **rest})))
        for name in FILTER_FIELDS:
            if value := getattr(self.scope, name):
                rest = {key: each for key, each in self.filters.items() if key != name}
                chips.append(
                    FilterChip(name.capitalize(), label_value(name, value), "?" + urlencode({**other, **rest}))
                )
        return chips

    def build_query_string(self, **more: Any) -> str:
        """Return a query string with the same filters and with `more`."""
        return "?" + urlencode({**self.filters, **more})


def format_days(scope: ReportFilter) -> str:
    """Return the first and the last day of a period: "6 Mar to 12 Mar 2026"."""
    return f"{scope.first_day:%-d %b} to {scope.last_day:%-d %b %Y}"


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


def to_feedback(report_filter: ReportFilter, query: AdminListQuery = NO_QUERY, *, day: date | None = None) -> str:
    """Return the URL of the list of feedback in a scope, for one day or all days."""
    return _build_url("feedback", report_filter, query, day)


def _build_url(model: str, report_filter: ReportFilter, query: AdminListQuery, day: date | None) -> str:
    since, until = day or report_filter.first_day, day or report_filter.last_day
    scope_query = {f"{name}__exact": getattr(report_filter, name) for name in EXACT_FIELDS}
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
