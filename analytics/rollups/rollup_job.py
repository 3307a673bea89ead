"""Periodic job that aggregates operation events into figures (OpDaily, SubjectFigures) and turns (Turn).

Events older than 10 minutes are settled: they are added once, and the same transaction moves the mark (Rollup) up to
which events are settled. Later events are recounted in each run. So the cost of a run does not grow with the day, and
console pages never need to read events.

A repair is counted together with the call that repairs, but on the day and under the op, release and cohort of the
failed call. So settled rows never change, and a settled repair stays one.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta

from django.db import transaction
from django.db.models import Q

from analytics.events.models import OperationEvent
from analytics.rollups import op_daily, subject_figures
from analytics.rollups.models import OpDaily, Rollup, SubjectFigures
from analytics.turns import aggregation

NAME = "op_daily"
# An event has the time of its call's arrival, and is written when the call ends, after two minutes at most, or when the
# database is back. An event that arrives later than this, because of a wrong clock, is in the log but not in the
# figures. All events up to this age are recounted every minute, so it is as short as possible.
SETTLE_AFTER = timedelta(minutes=10)
STEP = timedelta(minutes=15)  # settled per run; takes some tenths of a second at a million events a day
DAY = subject_figures.DAY


def run_rollup(at: datetime, *, step: timedelta = STEP) -> bool:
    """Count the events since the last run. Return whether more can be settled.

    If several processes count at the same time, only one of them writes. Each run settles at most one `step`, which
    must divide a day evenly.
    """
    mark = _get_or_create_mark(at)
    limit = _find_settling_limit(mark, at)
    since, until = _find_next_period(mark.settled_until, limit, step)
    more = until < limit
    settled = op_daily.count_day(since.date(), since, until, is_settled=True)
    unsettled = [] if more else list(_count_unsettled(until, at))
    end = until if more else _get_midnight(at.date()) + DAY
    turns = aggregation.aggregate_turns(mark.settled_until, end)
    with transaction.atomic():
        unchanged_mark = Rollup.objects.filter(pk=mark.pk, settled_until=mark.settled_until, counted_at=mark.counted_at)
        if not unchanged_mark.update(settled_until=until, counted_at=at):
            return False
        aggregation.write_turns(turns)
        settled_repairs = [each for each in turns.repairs if each.repaired_by.time < until]
        op_daily.add_settled(op_daily.add_repairs(settled, settled_repairs, is_settled=True))
        unsettled_repairs = [each for each in turns.repairs if each.repaired_by.time >= until]
        op_daily.replace_unsettled(op_daily.add_repairs(unsettled, unsettled_repairs, is_settled=False))
        subject_figures.add_settled(since, until)
        subject_figures.add_repairs(settled_repairs, is_settled=True)
        subject_figures.replace_unsettled(until, until if more else end)
        subject_figures.add_repairs(unsettled_repairs, is_settled=False)
    return more


def catch_up(at: datetime) -> None:
    """Count all events, one day at a time. For commands, which may run for long."""
    while run_rollup(at, step=DAY):
        pass


def recount_from(first: date, at: datetime) -> None:
    """Recount all days from `first` on. All of their events must still exist.

    A run in progress finds that the mark has moved, and writes nothing.
    """
    settled_until = min(_get_or_create_mark(at).settled_until, _get_midnight(first))
    with transaction.atomic():
        OpDaily.objects.filter(day__gte=first).delete()
        SubjectFigures.objects.filter(begin__gte=_get_midnight(first)).delete()
        Rollup.objects.filter(name=NAME).update(settled_until=settled_until, counted_at=at)
    catch_up(at)


def _get_or_create_mark(at: datetime) -> Rollup:
    """Return the mark, created at the time of the first event if there is none."""
    if mark := Rollup.objects.filter(name=NAME).first():
        return mark
    since = _find_first_event_time(Q()) or at - SETTLE_AFTER
    Rollup.objects.bulk_create([Rollup(name=NAME, settled_until=since, counted_at=at)], ignore_conflicts=True)
    return Rollup.objects.get(name=NAME)


def _find_settling_limit(mark: Rollup, at: datetime) -> datetime:
    """Return the time before which events can be settled.

    It goes by the last run: the first one after an outage of the database may come before the events that waited for
    its end.
    """
    return max(mark.settled_until, min(mark.counted_at, at) - SETTLE_AFTER)


def _find_next_period(since: datetime, limit: datetime, step: timedelta) -> tuple[datetime, datetime]:
    """Return the start and end of the next events to settle, both on the same UTC day."""
    first = _find_first_event_time(Q(time__gte=since, time__lt=limit))
    if first is None:
        return limit, limit
    midnight = _get_midnight(first.date())
    return first, min(midnight + step * ((first - midnight) // step + 1), limit)


def _find_first_event_time(condition: Q) -> datetime | None:
    return OperationEvent.objects.filter(condition).order_by("time", "id").values_list("time", flat=True).first()


def _count_unsettled(since: datetime, at: datetime) -> Iterator[OpDaily]:
    day = since.date()
    while day <= at.date():
        yield from op_daily.count_day(day, max(since, _get_midnight(day)), _get_midnight(day) + DAY, is_settled=False)
        day += DAY


def _get_midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
