"""Periodic job that aggregates operation events into daily figures (OpDaily) and turns (Turn).

Events older than 15 minutes are settled: they are added once, and the same transaction moves the mark (Rollup) up to
which events are settled. Later events are recounted in each run. So the cost of a run does not grow with the day, and
admin pages never have to read events.

A repair is counted together with the call that repairs, but on the day and under the op, release and cohort of the
failed call. So settled rows never change, and a settled repair stays one.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta

from django.db import transaction
from django.db.models import Q

from analytics import daily
from analytics.models import OpDaily, OperationEvent, Rollup
from analytics.turns import counting

NAME = "op_daily"
# An event has the time of its call's arrival, and is written when the call ends, after two minutes at most. An event
# that arrives later than this, because of a wrong clock, is in the log but not in the figures.
LATE = timedelta(minutes=15)
STEP = timedelta(minutes=15)  # settled per run; takes some tenths of a second at a million events a day
DAY = timedelta(days=1)


def run(at: datetime, *, step: timedelta = STEP) -> bool:
    """Count the events since the last run. Return whether more can be settled.

    If several processes count at the same time, only one of them writes. Each run settles at most one `step`, which
    must divide a day evenly.
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
    """Count all events, one day at a time. For commands, which may run for long."""
    while run(at, step=DAY):
        pass


def recount(first: date, at: datetime) -> None:
    """Recount all days from `first` on. All of their events must still exist.

    A run in progress finds that the mark has moved, and writes nothing.
    """
    settled_until = min(_mark(at).settled_until, _midnight(first))
    with transaction.atomic():
        OpDaily.objects.filter(day__gte=first).delete()
        Rollup.objects.filter(name=NAME).update(settled_until=settled_until, counted_at=at)
    catch_up(at)


def _mark(at: datetime) -> Rollup:
    """Return the mark, created at the time of the first event if there is none."""
    if mark := Rollup.objects.filter(name=NAME).first():
        return mark
    since = _first_event(Q()) or at - LATE
    Rollup.objects.bulk_create([Rollup(name=NAME, settled_until=since, counted_at=at)], ignore_conflicts=True)
    return Rollup.objects.get(name=NAME)


def _to_settle(since: datetime, at: datetime, step: timedelta) -> tuple[datetime, datetime]:
    """Return the start and end of the next events to settle, both on the same UTC day."""
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
