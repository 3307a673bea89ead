"""URLs of the admin lists that show the rows behind a figure: as many rows as the figure says."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils import timezone

from analytics.events.event_filters import COUNTED_AS_PARAMETER, CountedAs, build_op_query
from analytics.reports import DAYS
from analytics.reports.report_filter import COHORT_PARAMETER, ReportFilter
from analytics.turns.turn_filters import TURN_WITH_PARAMETER, TurnWith

AdminListQuery = Mapping[str, Any]  # query parameters of an admin list
NO_QUERY: AdminListQuery = {}


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
