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
from django.db.models import Max, Min, Q, QuerySet

from analytics.events.counted_events import TABLE
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


def list_next(mark: Rollup, at: datetime, size: int) -> tuple[list[Events], bool]:
    """Return the next events to count, in parts, and whether there are more new ones. Drops old gaps from the mark.

    They are those that appeared in gaps, and those with the next ids: `size` of each part at most.
    """
    gaps = [Gap(*gap) for gap in mark.gaps if at - datetime.fromisoformat(gap[2]) < GAP_AGE]
    mark.gaps = gaps
    parts = [
        OperationEvent.objects.filter(_match_ids(gaps[start : start + MAX_RANGES])).order_by("pk")[:size]
        for start in range(0, len(gaps), MAX_RANGES)
    ]
    new = OperationEvent.objects.filter(pk__gt=mark.last_id)
    ids = new.aggregate(first=Min("pk"), last=Max("pk"))
    if ids["first"] is None:
        return parts, False
    end = ids["first"] + size
    return [new.filter(pk__lt=end), *parts], ids["last"] >= end


def move_mark(mark: Rollup, at: datetime) -> int:
    """Move the mark past the events in the table of counted ones, unsaved. Return how many they are."""
    found, count = _find_ranges()
    gaps = [Gap(*ids, gap.since) for gap in mark.gaps for ids in _list_missing(gap, found)]
    if found and found[-1].last > mark.last_id:
        new = Ids(mark.last_id + 1, found[-1].last)
        gaps += [Gap(*ids, at.isoformat()) for ids in _list_missing(new, found)]
        mark.last_id = new.last
    mark.gaps = gaps
    return count


def select_counted(mark: Rollup) -> Events:
    """Return all events that were counted."""
    return OperationEvent.objects.filter(pk__lte=mark.last_id).exclude(_match_ids([Gap(*gap) for gap in mark.gaps]))


def _match_ids(ranges: Sequence[Ids | Gap]) -> Q:
    return reduce(or_, (Q(pk__gte=each.first, pk__lte=each.last) for each in ranges), Q(pk__in=[]))


def _find_ranges() -> tuple[list[Ids], int]:
    """Return the ids in the table of counted events, in order, as few ranges, and how many there are."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT min(id), max(id), count(*) FROM {TABLE}")  # noqa: S608 - the name is ours
        first, last, count = cursor.fetchone()
        if not count or last - first + 1 == count:  # almost always: numbering the rows takes longer
            return [Ids(first, last)] if count else [], count
        # Within a range, ids and row numbers grow alike.
        cursor.execute(
            f"SELECT min(id), max(id) FROM (SELECT id, id - row_number() OVER (ORDER BY id) AS island FROM {TABLE}) i "  # noqa: S608 - ours
            "GROUP BY island ORDER BY 1"
        )
        return [Ids(*row) for row in cursor.fetchall()], count


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
