"""Periodic job that counts operation events into figures (OpDaily, SubjectFigures) and turns (Turn).

Each event is added once, and the same transaction moves the mark (Rollup) that says which ones were. So the cost of a
run depends on the events since the last one, and console pages never need to read events. An event counts on its day
and under its op, release and cohort, however late it was written.

A repair counts on the day and under the op, release and cohort of the failed call. It is added when a call repairs, and
subtracted if a late event shows that the call repaired another one.
"""

from datetime import UTC, date, datetime, time

from django.db import connection, transaction

from analytics.events.event_filters import REPAIRED_CALL
from analytics.rollups import event_batches, op_daily, subject_figures
from analytics.rollups.models import Rollup
from analytics.rollups.sums import DAY, Events, iter_periods
from analytics.turns import aggregation

NAME = "op_daily"
BATCH_SIZE = 50_000  # events counted in one transaction; on SQLite, other writes wait for its end
FIGURES = (op_daily.SUMS, subject_figures.SUMS)


def run_rollup(at: datetime, *, size: int = BATCH_SIZE) -> bool:
    """Count the events since the last run, `size` at most. Return whether there may be more.

    If several processes count at the same time, one of them does it, and the others do nothing.
    """
    Rollup.objects.bulk_create([Rollup(name=NAME, counted_at=at)], ignore_conflicts=True)
    with transaction.atomic():
        mark = Rollup.objects.select_for_update(skip_locked=True).filter(name=NAME).first()
        if mark is None:
            return False
        _set_plans()
        events, has_more = event_batches.take_batch(mark, at, size)
        if events is not None:
            _count_turns(events)
            _add_events(events)
        mark.counted_at = at
        mark.save()
    return has_more


def catch_up(at: datetime) -> None:
    """Count all events. For commands, which may run for long."""
    while run_rollup(at):
        pass


def recount_from(first: date, at: datetime) -> None:
    """Recount all days from `first` on. All of their events must still exist."""
    catch_up(at)
    midnight = datetime.combine(first, time(), UTC)
    while midnight.date() <= at.date():
        with transaction.atomic():
            mark = Rollup.objects.select_for_update().get(name=NAME)
            _set_plans()
            events = event_batches.select_counted(mark).filter(time__gte=midnight, time__lt=midnight + DAY)
            _count_turns(events)
            for figures in FIGURES:
                figures.delete_day(midnight)
            _add_events(events)
            for begin, repaired in iter_periods(events.filter(REPAIRED_CALL)):
                for figures in FIGURES:
                    figures.add_repairs(begin, repaired)
        midnight += DAY


def _set_plans() -> None:
    """Say how PostgreSQL runs the statements of this transaction.

    The few events of a turn are found by an index: it expects more of them, and would read all events. Sorting takes
    half as long in memory, and to compile the statements takes longer than to run them.
    """
    if connection.vendor == "postgresql":
        plans = {"enable_hashjoin": "off", "enable_mergejoin": "off", "jit": "off", "work_mem": "'64MB'"}
        with connection.cursor() as cursor:
            cursor.execute("; ".join(f"SET LOCAL {name} = {value}" for name, value in plans.items()))


def _add_events(events: Events) -> None:
    for begin, of_period in iter_periods(events):
        for figures in FIGURES:
            figures.add_events(begin, of_period)
        op_daily.add_field_errors(begin.date(), of_period)


def _count_turns(events: Events) -> None:
    """Write the turns of the events, and the repairs that changed."""
    with aggregation.aggregate_turns(events) as changed:
        for begin, repaired in iter_periods(changed.added):
            for figures in FIGURES:
                figures.add_repairs(begin, repaired)
        for begin, unrepaired in iter_periods(changed.removed):
            for figures in FIGURES:
                figures.subtract_repairs(begin, unrepaired)
