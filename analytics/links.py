"""Addresses of the rows behind a figure."""

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils import timezone

from analytics.reports import DAYS
from analytics.reports.scope import NONE, Scope

Which = Mapping[str, Any]  # an address's query, as a list of the admin takes it

CALLS = {"type__exact": "exec", "dry_run__exact": 0, "replayed__exact": 0}
FAILED = {**CALLS, "ok__exact": 0}
MENDING = {"mends__isnull": False}  # the calls that mended one
SEARCHES = {"type__exact": "search", "ok__exact": 1}
MISSES = {**SEARCHES, "result_count__exact": 0}
UNKNOWN = {"reason__in": "unknown_op,unknown_path"}
LOOPING = {"repeats__gt": 0}  # of turns


def events(scope: Scope, *which: Which, day: date | None = None) -> str:
    """Return the list of a scope's events, of one day or of all."""
    return _rows("operationevent", scope, which, day)


def week_of(op: str, *which: Which) -> str:
    """Return the list of an op's events of the days that pages of ops tell of."""
    return events(Scope(timezone.now(), days=DAYS), *which, {"op__exact": op})


def turns(scope: Scope, *which: Which, day: date | None = None) -> str:
    """Return the list of a scope's turns, of one day or of all."""
    return _rows("turn", scope, which, day)


def selections(scope: Scope, *which: Which) -> str:
    """Return the list of what was told of a scope's turns."""
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
        # A list cannot ask for one name of several: nearly always the name stands alone, or in no other.
        query |= {"cohort__exact": ""} if scope.cohort == NONE else {"cohort__contains": scope.cohort}
    return f"{reverse(f'admin:analytics_{model}_changelist')}?{urlencode(query)}"


def _midnight(day: date) -> str:
    return datetime.combine(day, time(), UTC).isoformat()
