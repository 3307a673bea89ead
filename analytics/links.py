"""URLs of the admin lists that show the rows behind a figure."""

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils import timezone

from analytics.reports import DAYS
from analytics.reports.scope import NONE, Scope

Which = Mapping[str, Any]  # query parameters of an admin list

CALLS = {"type__exact": "exec", "dry_run__exact": 0, "replayed__exact": 0}
FAILED = {**CALLS, "ok__exact": 0}
MENDING = {"mends__isnull": False}  # calls that repaired a failed one
SEARCHES = {"type__exact": "search", "ok__exact": 1}
MISSES = {**SEARCHES, "result_count__exact": 0}
UNKNOWN = {"reason__in": "unknown_op,unknown_path"}
LOOPING = {"repeats__gt": 0}  # of turns


def events(scope: Scope, *which: Which, day: date | None = None) -> str:
    """Return the URL of the list of events in a scope, for one day or all days."""
    return _rows("operationevent", scope, which, day)


def week_of(op: str, *which: Which) -> str:
    """Return the URL of the list of an op's events in the period that op pages cover."""
    return events(Scope(timezone.now(), days=DAYS), *which, {"op__exact": op})


def turns(scope: Scope, *which: Which, day: date | None = None) -> str:
    """Return the URL of the list of turns in a scope, for one day or all days."""
    return _rows("turn", scope, which, day)


def selections(scope: Scope, *which: Which) -> str:
    """Return the URL of the list of tool selections in a scope."""
    return _rows("toolselection", scope, which, None)


def _rows(model: str, scope: Scope, which: Iterable[Which], day: date | None) -> str:
    since, until = day or scope.first, day or scope.last
    query: dict[str, Any] = {"time__gte": _midnight(since), "time__lt": _midnight(until + timedelta(days=1))}
    for each in which:
        query |= each
    for name in ("surface", "release", "model"):
        if value := getattr(scope, name):
            query[f"{name}__exact"] = value
    if scope.cohort:
        # A list cannot filter for one of several names. This is right unless one cohort's name contains another's.
        query |= {"cohort__exact": ""} if scope.cohort == NONE else {"cohort__contains": scope.cohort}
    return f"{reverse(f'admin:analytics_{model}_changelist')}?{urlencode(query)}"


def _midnight(day: date) -> str:
    return datetime.combine(day, time(), UTC).isoformat()
