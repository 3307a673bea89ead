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
from django.db.models import F, Max, Min

from analytics.events import counted_events
from analytics.events.counted_events import ALL, REPAIRED, CountedRows
from analytics.rollups import event_batches, op_daily, subject_figures
from analytics.rollups.event_batches import Events
from analytics.rollups.models import Rollup
from analytics.rollups.sums import DAY, iter_periods
from analytics.turns import aggregation

NAME = "op_daily"
# Events counted in one transaction. On SQLite, other writes wait for its end.
BATCH_SIZES = {"sqlite": 50_000, "postgresql": 200_000}
FIGURES = (op_daily.SUMS, subject_figures.SUMS)


def run_rollup(at: datetime, *, size: int | None = None) -> bool:
    """Count `size` new events at most, and as many late ones at most. Return whether there may be more.

    If several processes count at the same time, one of them does it, and the others do nothing.
    """
    Rollup.objects.bulk_create([Rollup(name=NAME, counted_at=at)], ignore_conflicts=True)
    with transaction.atomic():
        mark = Rollup.objects.select_for_update(skip_locked=True).filter(name=NAME).first()
        if mark is None:
            return False
        _set_plans()
        size = size or BATCH_SIZES[connection.vendor]
        new = event_batches.select_new(mark, size)
        has_more_late = False
        if mark.gaps or not new.is_empty:
            with counted_events.open_table(new.events):
                has_more_late = event_batches.add_late(mark, size)
                if event_batches.move_mark(mark, at):
                    aggregation.aggregate_turns()
                    _add_figures(ALL)
        if not has_more_late:
            event_batches.forget_old_gaps(mark, at)
        mark.counted_at = at
        mark.save()
    return new.has_more or has_more_late


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
            for batch in _iter_batches(mark, midnight):
                with counted_events.open_table(batch):
                    aggregation.aggregate_turns(are_all_known=True)
                    _add_figures(REPAIRED)
            for figures in FIGURES:
                figures.delete_day(midnight)
            for batch in _iter_batches(mark, midnight):
                with counted_events.open_table(batch):
                    counted_events.add_repaired(batch)
                    _add_figures(ALL)
        midnight += DAY


def _iter_batches(mark: Rollup, midnight: datetime) -> Iterator[Events]:
    """Yield parts of the counted events of a day, since all of them may not fit on the disk once more."""
    for counted in event_batches.iter_counted(mark):
        events = counted.filter(time__gte=midnight, time__lt=midnight + DAY)
        # With an expression, databases do not walk the index of ids up to the first event of the day.
        span = events.aggregate(first=Min(F("pk") + 0), last=Max(F("pk") + 0))
        if span["first"] is None:
            continue
        events, last = events.filter(pk__lte=span["last"]), span["first"] - 1
        while True:
            ids = events.filter(pk__gt=last).order_by("pk").values("pk")[: BATCH_SIZES[connection.vendor]]
            end = ids.aggregate(end=Max("pk"))["end"]
            if end is None:
                break
            yield events.filter(pk__gt=last, pk__lte=end)
            last = end


def _set_plans() -> None:
    """Say how PostgreSQL runs the statements of this transaction.

    Sorting takes half as long in memory. The rows that a run looks up are of the last minutes, so they are in memory:
    an index is cheaper than PostgreSQL expects.
    """
    if connection.vendor == "postgresql":
        plans = {"enable_mergejoin": "off", "work_mem": "'64MB'", "random_page_cost": "1.1"}
        with connection.cursor() as cursor:
            cursor.execute("; ".join(f"SET LOCAL {name} = {value}" for name, value in plans.items()))


def _add_figures(rows: CountedRows) -> None:
    for begin, of_period in iter_periods(rows):
        for figures in FIGURES:
            figures.add(begin, of_period)
        op_daily.add_field_errors(begin.date(), of_period)
