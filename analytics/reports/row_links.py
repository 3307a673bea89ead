"""URLs of the admin lists that show the rows behind a figure."""

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils import timezone

from analytics.reports import DAYS
from analytics.reports.report_filter import NO_COHORT, ReportFilter

AdminListQuery = Mapping[str, Any]  # query parameters of an admin list

CALLS = {"type__exact": "exec", "dry_run__exact": 0, "replayed__exact": 0}
FAILED = {**CALLS, "ok__exact": 0}
REPAIRS = {"mends__isnull": False}  # calls that repaired a failed one
SEARCHES = {"type__exact": "search", "ok__exact": 1}
MISSES = {**SEARCHES, "result_count__exact": 0}
UNKNOWN = {"reason__in": "unknown_op,unknown_path"}
LOOPS = {"repeats__gt": 0}  # of turns


def to_events(report_filter: ReportFilter, *filters: AdminListQuery, day: date | None = None) -> str:
    """Return the URL of the list of events in a scope, for one day or all days."""
    return _build_url("operationevent", report_filter, filters, day)


def to_last_days_of_op(op: str, *filters: AdminListQuery) -> str:
    """Return the URL of the list of an op's events in the period that op pages cover."""
    return to_events(ReportFilter(timezone.now(), days=DAYS), *filters, {"op__exact": op})


def to_turns(report_filter: ReportFilter, *filters: AdminListQuery, day: date | None = None) -> str:
    """Return the URL of the list of turns in a scope, for one day or all days."""
    return _build_url("turn", report_filter, filters, day)


def to_tool_selections(report_filter: ReportFilter, *filters: AdminListQuery) -> str:
    """Return the URL of the list of tool selections in a scope."""
    return _build_url("toolselection", report_filter, filters, None)


def _build_url(model: str, report_filter: ReportFilter, filters: Iterable[AdminListQuery], day: date | None) -> str:
    since, until = day or report_filter.first_day, day or report_filter.last_day
    query: dict[str, Any] = {
        "time__gte": _format_midnight(since),
        "time__lt": _format_midnight(until + timedelta(days=1)),
    }
    for each in filters:
        query |= each
    for name in ("surface", "release", "model"):
        if value := getattr(report_filter, name):
            query[f"{name}__exact"] = value
    if report_filter.cohort:
        # A list cannot filter for one of several names. This is right unless one cohort's name contains another's.
        query |= (
            {"cohort__exact": ""} if report_filter.cohort == NO_COHORT else {"cohort__contains": report_filter.cohort}
        )
    return f"{reverse(f'admin:analytics_{model}_changelist')}?{urlencode(query)}"


def _format_midnight(day: date) -> str:
    return datetime.combine(day, time(), UTC).isoformat()
