"""Counting operation events into daily figures (OpDaily) and turns (Turn), a periodic job.

What happened more than 15 minutes ago is settled: it is added once, and the mark of how far that got (Rollup) moves in
the same transaction. The minutes since are counted anew each time. So a run costs what these minutes hold, however
long the day, and pages never read events.

A failed call that a later one mends counts when that later one does, on the day and under the op, release and cohort
of the failed call: so a row that is settled never has to change, and what is settled stays mended.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta

from django.db import transaction
from django.db.models import Q

from analytics import daily
from analytics.models import OpDaily, OperationEvent, Rollup
from analytics.turns import counting

NAME = "op_daily"
# An event has the time at which its call came, and is written when that has ended: after two minutes at most. One that
# comes later than this, by a clock that is wrong, stands in the log and not in the figures.
LATE = timedelta(minutes=15)
STEP = timedelta(minutes=15)  # of what is settled at once: at a million events a day some tenths of a second
DAY = timedelta(days=1)


def run(at: datetime, *, step: timedelta = STEP) -> bool:
    """Count what happened since the last run. Returns whether there is more that can be settled.

    Of several processes that count at the same time, one writes what it found. Past hours are settled one `step` after
    the other, which a day holds without a rest.
    """
    mark = _mark(at)
    since, until = _to_settle(mark.settled_until, at, step)
    more = until < at - LATE
    settled = daily.counted(since.date(), since, until, is_settled=True)
    unsettled = [] if more else list(_unsettled(until, at))
    turns = counting.of(mark.settled_until, until if more else _midnight(at.date()) + DAY)
    with transaction.atomic():
        unmoved = Rollup.objects.filter(pk=mark.pk, settled_until=mark.settled_until, counted_at=mark.counted_at)
        if not unmoved.update(settled_until=until, counted_at=at):
            return False
        counting.write(turns)
        early = [each for each in turns.mended if each.by.time < until]
        daily.add(daily.with_mended(settled, early, is_settled=True))
        late = [each for each in turns.mended if each.by.time >= until]
        daily.replace(daily.with_mended(unsettled, late, is_settled=False))
    return more


def catch_up(at: datetime) -> None:
    """Count all that there is, a day at a time: for commands, which may take their time."""
    while run(at, step=DAY):
        pass


def recount(first: date, at: datetime) -> None:
    """Count the days from one on anew, from their events: all of them must still be there.

    A run that is under way meanwhile finds its mark moved, and writes nothing.
    """
    settled_until = min(_mark(at).settled_until, _midnight(first))
    with transaction.atomic():
        OpDaily.objects.filter(day__gte=first).delete()
        Rollup.objects.filter(name=NAME).update(settled_until=settled_until, counted_at=at)
    catch_up(at)


def _mark(at: datetime) -> Rollup:
    """Return how far figures got; where they are to begin, at the first event."""
    if mark := Rollup.objects.filter(name=NAME).first():
        return mark
    since = _first_event(Q()) or at - LATE
    Rollup.objects.bulk_create([Rollup(name=NAME, settled_until=since, counted_at=at)], ignore_conflicts=True)
    return Rollup.objects.get(name=NAME)


def _to_settle(since: datetime, at: datetime, step: timedelta) -> tuple[datetime, datetime]:
    """Return from when on and until when events are settled next, both of one day."""
    limit = max(since, at - LATE)
    first = _first_event(Q(time__gte=since, time__lt=limit))
    if first is None:
        return limit, limit
    midnight = _midnight(first.date())
    return first, min(midnight + step * ((first - midnight) // step + 1), limit)


def _first_event(which: Q) -> datetime | None:
    return OperationEvent.objects.filter(which).order_by("time", "id").values_list("time", flat=True).first()


def _unsettled(since: datetime, at: datetime) -> Iterator[OpDaily]:
    day = since.date()
    while day <= at.date():
        yield from daily.counted(day, max(since, _midnight(day)), _midnight(day) + DAY, is_settled=False)
        day += DAY


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
