"""Which events the roll-up counts next: each event once, whatever the order in which transactions end.

An event gets its id when it is inserted, and becomes visible when its transaction ends. So ids below the newest one may
be missing for a while. The mark keeps these gaps for ten minutes, and an event that appears in one of them is counted.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import reduce
from operator import attrgetter, or_
from typing import NamedTuple

from django.db import connection
from django.db.models import Max, Min, Q, QuerySet

from analytics.events import counted_events
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


class NewEvents(NamedTuple):
    """Events with the next ids; whether there are none, and whether there are more."""

    events: Events
    is_empty: bool
    has_more: bool


def select_new(mark: Rollup, size: int) -> NewEvents:
    """Return the new events to count, `size` at most."""
    new = OperationEvent.objects.order_by().filter(pk__gt=mark.last_id)
    # Two queries: SQLite walks all of them if it is asked for the first and the last id at once.
    first, last = (new.aggregate(id=which("pk"))["id"] for which in (Min, Max))
    if first is None:
        first = last = mark.last_id
    end = first + size
    return NewEvents(new.filter(pk__lt=end), is_empty=last == mark.last_id, has_more=last >= end)


def add_late(mark: Rollup, limit: int) -> bool:
    """Add events that appeared in gaps to the table of counted ones. Return whether there may be more of them."""
    for part in _select_parts(_read_gaps(mark)):
        limit -= counted_events.add_events(part[:limit])
        if limit <= 0:
            return True
    return False


def move_mark(mark: Rollup, at: datetime) -> int:
    """Move the mark past the events in the table of counted ones, unsaved. Return how many they are."""
    found, count = _find_ranges()
    gaps = [Gap(*ids, gap.since) for gap in _read_gaps(mark) for ids in _list_missing(gap, found)]
    if found and found[-1].last > mark.last_id:
        new = Ids(mark.last_id + 1, found[-1].last)
        gaps += [Gap(*ids, at.isoformat()) for ids in _list_missing(new, found)]
        mark.last_id = new.last
    mark.gaps = gaps
    return count


def forget_old_gaps(mark: Rollup, at: datetime) -> None:
    """Forget gaps, unsaved, which this run must have looked at: it may be the first one after a long pause."""
    mark.gaps = [gap for gap in _read_gaps(mark) if at - datetime.fromisoformat(gap.since) < GAP_AGE]


def iter_counted(mark: Rollup) -> Iterator[Events]:
    """Yield parts of all events that were counted, in the order of their ids."""
    yield from _select_parts([*_list_missing(Ids(1, mark.last_id), found=_read_gaps(mark))])


def _read_gaps(mark: Rollup) -> list[Gap]:
    return [Gap(*gap) for gap in mark.gaps]


def _select_parts(ranges: Sequence[Ids | Gap]) -> Iterator[Events]:
    """Yield the events in some ranges, in parts that are small enough for databases to plan."""
    for start in range(0, len(ranges), MAX_RANGES):
        part = ranges[start : start + MAX_RANGES]
        is_in_range = reduce(or_, (Q(pk__gte=each.first, pk__lte=each.last) for each in part))
        yield OperationEvent.objects.order_by().filter(is_in_range)


def _find_ranges() -> tuple[list[Ids], int]:
    """Return the ids in the table of counted events, in order, as few ranges, and how many there are."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT min(id), max(id), count(*) FROM {counted_events.TABLE}")  # noqa: S608 - the name is ours
        first, last, count = cursor.fetchone()
        if not count or last - first + 1 == count:  # almost always: numbering the rows takes longer
            return [Ids(first, last)] if count else [], count
        # Within a range, ids and row numbers grow alike.
        cursor.execute(
            "SELECT min(id), max(id) FROM ("  # noqa: S608 - the name is ours
            f"SELECT id, id - row_number() OVER (ORDER BY id) AS island FROM {counted_events.TABLE}"
            ") i GROUP BY island ORDER BY 1"
        )
        return [Ids(*row) for row in cursor.fetchall()], count


def _list_missing(ids: Ids | Gap, found: Sequence[Ids | Gap]) -> Iterator[Ids]:
    """Yield what is left of a range without those that were found, which are in order."""
    first = ids.first
    for index in range(bisect_left(found, first, key=attrgetter("last")), len(found)):
        each = found[index]
        if each.first > ids.last:
            break
        if each.first > first:
            yield Ids(first, each.first - 1)
        first = each.last + 1
    if first <= ids.last:
        yield Ids(first, ids.last)
