"""Which events the roll-up counts next: each event once, whatever the order in which transactions end.

An event gets its id when it is inserted, and becomes visible when its transaction ends. So ids below the newest one may
be missing for a while. The mark keeps these gaps for ten minutes, and an event that appears in one of them is counted.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import reduce
from operator import or_
from typing import NamedTuple

from django.db import connection
from django.db.models import Q, QuerySet

from analytics.events.models import OperationEvent
from analytics.rollups.models import Rollup

Events = QuerySet[OperationEvent]
GAP_AGE = timedelta(minutes=10)  # no transaction takes as long; the ids of one that failed stay missing
MAX_RANGES = 200  # in one query


class Ids(NamedTuple):
    """A range of ids, both ends included."""

    first: int
    last: int


class Gap(NamedTuple):
    """A range of ids without a visible event, and when they were found missing (ISO 8601)."""

    first: int
    last: int
    since: str


def take_batch(mark: Rollup, at: datetime, size: int) -> tuple[Events | None, bool]:
    """Return the next events to count, if any, and whether there may be more. Moves the mark past them, unsaved.

    They are those that appeared in gaps, and `size` new ones at most.
    """
    gaps = [Gap(*gap) for gap in mark.gaps if at - datetime.fromisoformat(gap[2]) < GAP_AGE]
    found: list[Ids] = []
    is_full = False
    for start in range(0, len(gaps), MAX_RANGES):
        late, is_full = _find_ranges(_match_ids(gaps[start : start + MAX_RANGES]), size)
        found += late
        if is_full:
            break
    gaps = [Gap(*ids, gap.since) for gap in gaps for ids in _list_missing(gap, found)]
    if not is_full:
        new, is_full = _find_ranges(Q(pk__gt=mark.last_id), size)
        if new:
            missing = _list_missing(Ids(mark.last_id + 1, new[-1].last), new)
            gaps += [Gap(*ids, at.isoformat()) for ids in missing]
            mark.last_id = new[-1].last
        found += new
    mark.gaps = gaps
    return OperationEvent.objects.filter(_match_ids(found)) if found else None, is_full


def select_counted(mark: Rollup) -> Events:
    """Return all events that were counted."""
    return OperationEvent.objects.filter(pk__lte=mark.last_id).exclude(_match_ids([Gap(*gap) for gap in mark.gaps]))


def _match_ids(ranges: Sequence[Ids | Gap]) -> Q:
    return reduce(or_, (Q(pk__gte=each.first, pk__lte=each.last) for each in ranges), Q(pk__in=[]))


def _find_ranges(condition: Q, size: int) -> tuple[list[Ids], bool]:
    """Return the ids of the events with a condition, in order, as few ranges, and whether there may be more.

    The ranges come from one statement, so that all of them are seen at one moment.
    """
    query, parameters = (
        OperationEvent.objects.filter(condition).order_by("pk").values("id")[:size].query.sql_with_params()
    )
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT min(id), max(id), count(*) FROM ({query}) e", parameters)  # noqa: S608 - the names are ours
        first, last, count = cursor.fetchone()
        if not count or last - first + 1 == count:  # almost always: numbering the rows takes twice as long
            return [Ids(first, last)] if count else [], count >= size
        # Within a range, ids and row numbers grow alike.
        cursor.execute(
            "SELECT min(id), max(id), count(*) FROM ("  # noqa: S608 - the names are ours
            f"SELECT id, id - row_number() OVER (ORDER BY id) AS island FROM ({query}) e) i "
            f"GROUP BY island ORDER BY 1 LIMIT {MAX_RANGES}",
            parameters,
        )
        rows = cursor.fetchall()
    is_full = len(rows) == MAX_RANGES or sum(count for *_, count in rows) >= size
    return [Ids(first, last) for first, last, _ in rows], is_full


def _list_missing(ids: Ids | Gap, found: Sequence[Ids]) -> Iterator[Ids]:
    """Yield what is left of a range without those that were found, which are in order."""
    first = ids.first
    for each in found:
        if each.last < first or each.first > ids.last:
            continue
        if each.first > first:
            yield Ids(first, each.first - 1)
        first = each.last + 1
    if first <= ids.last:
        yield Ids(first, ids.last)
