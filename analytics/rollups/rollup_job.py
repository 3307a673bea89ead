"""Periodic job that counts operation events into figures (OpDaily, SubjectFigures) and turns (Turn).

Each event is added once, and the same transaction moves the mark (Rollup) that says which ones were. So the cost of a
run depends on the events since the last one, and console pages never need to read events. An event counts on its day
and under its op, release and cohort, however late it was written.

A repair counts on the day and under the op, release and cohort of the failed call. It is added when a call repairs, and
subtracted if a late event shows that the call repaired another one.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time

from django.db import connection, transaction
from django.db.models import Max

from analytics.events import counted_events
from analytics.events.counted_events import NEW, CountedRows
from analytics.events.models import OperationEvent
from analytics.rollups import event_batches, op_daily, subject_figures
from analytics.rollups.event_batches import Events
from analytics.rollups.models import Rollup
from analytics.rollups.sums import DAY, iter_periods
from analytics.turns import aggregation

NAME = "op_daily"
# Events counted in one transaction. On SQLite, other writes wait for its end.
BATCH_SIZES = {"sqlite": 50_000, "postgresql": 200_000}
FIGURES = (op_daily.SUMS, subject_figures.SUMS)
_EVENT = OperationEvent._meta.db_table
_REPAIRED = CountedRows(
    f"is_call AND NOT ok AND EXISTS (SELECT 1 FROM {_EVENT} r WHERE r.repairs = {counted_events.TABLE}.id)"  # noqa: S608 - our names
)


def run_rollup(at: datetime, *, size: int | None = None) -> bool:
    """Count the events since the last run, `size` at most. Return whether there may be more.

    If several processes count at the same time, one of them does it, and the others do nothing.
    """
    Rollup.objects.bulk_create([Rollup(name=NAME, counted_at=at)], ignore_conflicts=True)
    with transaction.atomic():
        mark = Rollup.objects.select_for_update(skip_locked=True).filter(name=NAME).first()
        if mark is None:
            return False
        _set_plans()
        events, has_more = event_batches.take_batch(mark, at, size or BATCH_SIZES[connection.vendor])
        if events is not None:
            with counted_events.open_table(events):
                _count_turns()
                _add_events()
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
            for batch in _iter_batches(events):
                with counted_events.open_table(batch):
                    _count_turns(are_all_known=True)
            for figures in FIGURES:
                figures.delete_day(midnight)
            for batch in _iter_batches(events):
                with counted_events.open_table(batch):
                    _add_events()
                    for begin, repaired in iter_periods(_REPAIRED):
                        for figures in FIGURES:
                            figures.add_repairs(begin, repaired)
        midnight += DAY


def _iter_batches(events: Events) -> Iterator[Events]:
    """Yield parts of some events, since all events of a day may not fit on the disk once more."""
    last = 0
    while True:
        ids = events.filter(pk__gt=last).order_by("pk").values("pk")[: BATCH_SIZES[connection.vendor]]
        end = ids.aggregate(end=Max("pk"))["end"]
        if end is None:
            return
        yield events.filter(pk__gt=last, pk__lte=end)
        last = end


def _set_plans() -> None:
    """Say how PostgreSQL runs the statements of this transaction.

    Sorting takes half as long in memory, and to compile the statements takes longer than to run them.
    """
    if connection.vendor == "postgresql":
        plans = {"enable_mergejoin": "off", "jit": "off", "work_mem": "'64MB'"}
        with connection.cursor() as cursor:
            cursor.execute("; ".join(f"SET LOCAL {name} = {value}" for name, value in plans.items()))


def _add_events() -> None:
    for begin, of_period in iter_periods(NEW):
        for figures in FIGURES:
            figures.add_events(begin, of_period)
        op_daily.add_field_errors(begin.date(), of_period)


def _count_turns(*, are_all_known: bool = False) -> None:
    """Write the turns of the counted events, and the repairs that changed."""
    with aggregation.aggregate_turns(are_all_known=are_all_known) as changed:
        for begin, repaired in iter_periods(changed.added):
            for figures in FIGURES:
                figures.add_repairs(begin, repaired)
        for begin, unrepaired in iter_periods(changed.removed):
            for figures in FIGURES:
                figures.subtract_repairs(begin, unrepaired)
