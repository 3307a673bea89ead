"""Daily figures: each event counts once, in its day, whoever counts and however often."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import Sum
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analytics.events import event_filters
from analytics.models import OpDaily, OperationEvent, Rollup
from analytics.rollups import op_daily, rollup_job
from gateway.contracts.errors import ErrorCode
from gateway.management.commands.docs import _build_errors_page
from tests.support.cpu_budget import examples
from tests.unit.analytics.conftest import Happen
from tools.databases import ROOT

pytestmark = pytest.mark.both_databases

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
TODAY = NOON.date()
MINUTE = timedelta(minutes=1)
FAILED = {"code": "VALIDATION_ERROR", "reason": "invalid_args"}


def count(at: datetime = NOON) -> None:
    """Run the job until it has no more to do."""
    while rollup_job.run(at):
        pass


def total(name: str = "calls", **which: Any) -> int:
    found: int = OpDaily.objects.filter(**which).aggregate(sum=Sum(name, default=0))["sum"]
    return found


def of(op: str = "onto.task.update") -> dict[str, Any]:
    """What one op's rows of today say together, zeros left out."""
    rows = OpDaily.objects.filter(day=TODAY, op=op)
    sums = rows.aggregate(**{name: Sum(name) for name in op_daily.SUM_FIELDS})
    return {name: value for name, value in sums.items() if value}


# --- what is counted --------------------------------------------------------------------------------------------------


def test_calls_are_counted_by_how_they_ended(happen: Happen) -> None:
    happen(NOON - MINUTE, times=4)
    for times, code in enumerate(ErrorCode.values, start=1):
        happen(NOON - MINUTE, times=times, code=code)

    count()

    by_code = {"invalid": 1, "denied": 2, "not_found": 3, "conflict": 4, "internal": 5}
    assert of() == {"calls": 4 + 15, "latency_ms": 2.0 * 19, **by_code}


def test_every_code_has_a_figure() -> None:
    conditions = {name: str(condition) for name, condition in op_daily.COUNT_CONDITIONS.items()}
    counted = {code: [name for name, text in conditions.items() if f"'{code}'" in text] for code in ErrorCode.values}

    assert all(len(names) == 1 for names in counted.values()), counted


def test_every_figure_has_a_column() -> None:
    known = {field.name for field in OpDaily._meta.fields}

    assert set(op_daily.SUM_FIELDS) == known - {"id", *op_daily.KEY_FIELDS, "is_settled", "field_errors"}
    assert set(op_daily.COUNT_CONDITIONS) == set(op_daily.SUM_FIELDS) - {"latency_ms", "mended"}


def test_calls_that_tell_nothing_of_their_op_are_not_counted(happen: Happen) -> None:
    happen(NOON - MINUTE, replayed=True)
    happen(NOON - MINUTE, dry_run=True, **FAILED)
    for reason in event_filters.DEFERRED_REASONS:
        happen(NOON - MINUTE, code="CONFLICT", reason=reason)

    count()

    assert not OpDaily.objects.exists()


def test_reasons_that_are_left_out_are_reasons_that_calls_are_answered_with() -> None:
    reference = _build_errors_page(ROOT)

    assert all(f"| `{reason}` |" in reference for reason in event_filters.DEFERRED_REASONS)


def test_help_is_counted_by_what_was_read(happen: Happen) -> None:
    for times, format in enumerate(OperationEvent.Format.values, start=1):
        happen(NOON - MINUTE, type="help", format=format, times=times)
    happen(NOON - MINUTE, type="help", op="onto.task", tool_name="", times=4)
    happen(NOON - MINUTE, type="help", op="onto.taks", tool_name="", code="NOT_FOUND")

    count()

    assert of() == {"short_reads": 1, "full_reads": 2, "arg_reads": 3}
    assert of("onto.task") == {"list_reads": 4}
    assert OpDaily.objects.count() == 2


def test_searches_and_unknown_names_are_counted_under_no_op(happen: Happen) -> None:
    happen(NOON - MINUTE, type="search", op="", tool_name="", result_count=3)
    happen(NOON - MINUTE, type="search", op="", tool_name="", result_count=0)
    for name in ("onto.snooze", "delete everything"):
        happen(NOON - MINUTE, op=name, tool_name="", code="NOT_FOUND", reason="unknown_op")

    count()

    assert of("") == {
        "searches": 2,
        "misses": 1,
        "calls": 2,
        "not_found": 2,
        "latency_ms": 4.0,
        "unknown_names": 2,
    }
    assert OpDaily.objects.count() == 1


def test_releases_are_counted_apart(happen: Happen) -> None:
    happen(NOON - MINUTE, release="r1", times=2)
    happen(NOON - MINUTE, release="r2")

    count()

    assert dict(OpDaily.objects.values_list("release", "calls")) == {"r1": 2, "r2": 1}


@pytest.mark.parametrize("name", ["surface", "cohort", "model"])
def test_what_is_served_and_to_whom_is_counted_apart(happen: Happen, name: str) -> None:
    for value in ("a", "b", "b"):
        happen(NOON - MINUTE, **{name: value}, field_errors=[[f"/{value}", "type"]], **FAILED)
        happen(NOON - 2 * rollup_job.SETTLE_AFTER, **{name: value})

    count()

    told = OpDaily.objects.order_by(name, "is_settled").values_list(name, "is_settled", "calls", "field_errors")
    assert list(told) == [
        *(("a", False, 1, [["/a", "type", 1]]), ("a", True, 1, [])),
        *(("b", False, 2, [["/b", "type", 2]]), ("b", True, 2, [])),
    ]


def test_days_are_those_of_utc(happen: Happen) -> None:
    midnight = datetime(2026, 3, 10, tzinfo=UTC)
    happen(midnight - timedelta(microseconds=1))
    happen(midnight, times=2)

    for at in (midnight + MINUTE, midnight + timedelta(hours=2)):  # unsettled, then settled
        count(at)
        assert {day: total(day=day) for day in (date(2026, 3, 9), date(2026, 3, 10))} == {
            date(2026, 3, 9): 1,
            date(2026, 3, 10): 2,
        }


# --- what was mended --------------------------------------------------------------------------------------------------

TURN = {"client": "chat", "session": "s1", "turn": "t1"}


def test_mended_call_counts_on_its_day_under_its_release_whenever_it_was_mended(happen: Happen) -> None:
    midnight = datetime(2026, 3, 10, tzinfo=UTC)
    happen(midnight - MINUTE, release="r1", **TURN, **FAILED)
    happen(midnight + MINUTE, release="r2", **TURN)

    for at in (
        midnight + 2 * MINUTE,
        midnight + rollup_job.SETTLE_AFTER,
        midnight + timedelta(hours=2),
    ):  # not, half, all settled
        count(at)
        mended = OpDaily.objects.filter(mended__gt=0)
        assert list(mended.values_list("day", "release", "mended")) == [(date(2026, 3, 9), "r1", 1)]
        assert total("invalid", day=date(2026, 3, 9)) == 1
    assert OpDaily.objects.get(mended=1).is_settled


def test_call_that_is_mended_after_it_was_settled_counts_once(happen: Happen) -> None:
    happen(NOON - timedelta(hours=1), **TURN, **FAILED)
    count()
    assert of()["invalid"] == 1
    happen(NOON, **TURN)

    for minutes in range(40):
        count(NOON + minutes * MINUTE)
        assert (total("invalid"), total("mended"), total()) == (1, 1, 2)


def test_name_that_nothing_has_is_mended_under_no_op(happen: Happen) -> None:
    happen(NOON - 2 * MINUTE, op="onto.new", tool_name="", code="NOT_FOUND", reason="unknown_op", **TURN)
    happen(NOON - MINUTE, op="onto.new", **TURN)  # published meanwhile

    count()

    assert of("")["mended"] == 1
    assert of("onto.new") == {"calls": 1, "latency_ms": 2.0}


# --- which arguments failed -------------------------------------------------------------------------------------------


def test_field_errors_are_counted_commonest_first_with_indexes_as_one(happen: Happen) -> None:
    for index in range(3):
        happen(NOON - MINUTE, field_errors=[[f"/items/{index}/name", "required"], ["/a", "type"]], **FAILED)
    happen(NOON - MINUTE, field_errors=[["/a", "type"], ["/items/0", "type"], ["/items/1", "type"]], **FAILED)

    count()

    (row,) = OpDaily.objects.all()
    assert row.field_errors == [["/a", "type", 4], ["/items/*/name", "required", 3], ["/items/*", "type", 1]]


def test_field_errors_add_up_as_minutes_settle(happen: Happen) -> None:
    for hour in (9, 10, 11):
        happen(NOON.replace(hour=hour), field_errors=[["/a", "type"], [f"/other-{hour}", "enum"]], **FAILED)

    count()

    (row,) = OpDaily.objects.all()
    assert row.field_errors == [["/a", "type", 3], *([f"/other-{hour}", "enum", 1] for hour in (10, 11, 9))]


def test_field_errors_of_a_row_are_the_commonest_few(happen: Happen) -> None:
    happen(NOON - MINUTE, field_errors=[["/often", "type"]], times=2, **FAILED)
    for number in range(op_daily.MAX_FIELD_ERRORS + 5):
        happen(NOON - MINUTE, field_errors=[[f"/made-up-{number}", "unknown"]], **FAILED)

    count()

    errors = OpDaily.objects.get().field_errors
    assert len(errors) == op_daily.MAX_FIELD_ERRORS
    assert errors[0] == ["/often", "type", 2]


# --- each event once --------------------------------------------------------------------------------------------------


def test_counting_again_counts_nothing_twice(happen: Happen) -> None:
    happen(NOON - timedelta(hours=2), times=3)
    happen(NOON - MINUTE, times=2)

    for minutes in range(40):
        count(NOON + minutes * MINUTE)
        assert total() == 5

    assert total(is_settled=True) == 5


def test_what_is_new_shows_at_the_next_run(happen: Happen) -> None:
    happen(NOON - 2 * MINUTE)
    count(NOON)
    happen(NOON - MINUTE)  # a call that began before the run and ended after it

    count(NOON + MINUTE)

    assert total() == 2


def test_figures_of_the_last_minutes_keep_their_addresses(happen: Happen) -> None:
    happen(NOON - MINUTE)
    happen(NOON - rollup_job.SETTLE_AFTER, op="onto.task.get")  # settled with the second run
    count(NOON)
    before = dict(OpDaily.objects.values_list("op", "pk"))

    happen(NOON)
    count(NOON + MINUTE)

    assert dict(OpDaily.objects.filter(is_settled=False).values_list("op", "pk")) == {
        "onto.task.update": before["onto.task.update"]
    }
    assert total() == 3


def test_event_that_is_written_late_is_counted_until_its_time_is_settled(happen: Happen) -> None:
    happen(NOON - timedelta(hours=1))
    count(NOON)
    happen(NOON - rollup_job.SETTLE_AFTER)
    happen(NOON - rollup_job.SETTLE_AFTER - MINUTE)

    count(NOON + MINUTE)

    assert total() == 2


def test_run_without_an_event_has_nothing_to_show(db: None) -> None:
    assert rollup_job.run(NOON) is False

    assert not OpDaily.objects.exists()
    assert Rollup.objects.get().settled_until == NOON - rollup_job.SETTLE_AFTER


def test_backlog_is_settled_in_steps_past_hours_without_events(happen: Happen) -> None:
    for day in (1, 5, 9):
        happen(NOON - timedelta(days=day))
        happen(NOON - timedelta(days=day, hours=1))

    runs = 1
    while rollup_job.run(NOON):
        runs += 1

    assert runs == 7
    assert OpDaily.objects.filter(calls=2, is_settled=True).count() == 3


def test_run_looks_only_at_what_is_not_settled(happen: Happen, django_assert_max_num_queries: Any) -> None:
    happen(NOON - timedelta(hours=3), times=5)
    count()
    OperationEvent.objects.all().delete()
    happen(NOON)

    with django_assert_max_num_queries(12):
        count(NOON + MINUTE)

    assert total() == 6


@settings(max_examples=examples(10), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    minutes=st.lists(st.integers(0, 3 * 24 * 60), min_size=1, max_size=30),
    runs=st.lists(st.integers(0, 3 * 24 * 60), max_size=8),
)
def test_figures_are_those_of_the_events_however_often_they_are_counted(
    happen: Happen, minutes: list[int], runs: list[int]
) -> None:
    start = NOON - timedelta(days=3)
    for model in (OperationEvent, OpDaily, Rollup):
        model.objects.all().delete()
    times = sorted(start + minute * MINUTE for minute in minutes)

    for at in [*sorted(start + run * MINUTE for run in runs), NOON]:
        while times and times[0] <= at:
            happen(times.pop(0))
        count(at)

    wanted: dict[date, int] = {}
    for minute in minutes:
        day = (start + minute * MINUTE).date()
        wanted[day] = wanted.get(day, 0) + 1
    assert {day: total(day=day) for day in wanted} == wanted
    assert total() == len(minutes)


@pytest.fixture
def apart(transactional_db: None) -> Iterator[None]:
    yield
    connection.close()


@pytest.mark.parametrize("_attempt", range(3))
def test_events_count_once_when_processes_count_at_the_same_time(apart: None, happen: Happen, _attempt: int) -> None:
    happen(NOON - timedelta(hours=1), times=3)
    happen(NOON - MINUTE, times=2)
    barrier = threading.Barrier(3)

    def run() -> None:
        try:
            connection.ensure_connection()
            barrier.wait(20)
            for second in range(6):
                rollup_job.run(NOON + timedelta(seconds=second))
        finally:
            connection.close()

    with ThreadPoolExecutor(3) as pool:
        for future in [pool.submit(run) for _ in range(3)]:
            future.result()
    count(NOON + MINUTE)

    assert total() == 5


def test_days_are_counted_anew_from_their_events(happen: Happen) -> None:
    for day in range(5):
        happen(NOON - timedelta(days=day), **TURN | {"turn": f"t{day}"}, **FAILED)
        happen(NOON - timedelta(days=day) + MINUTE, **TURN | {"turn": f"t{day}"})
    count(NOON + timedelta(hours=1))
    OperationEvent.objects.filter(time__lt=NOON - timedelta(days=3)).delete()  # past their time: their figures stay
    happen(NOON - timedelta(days=2), times=3)  # written when that day was settled

    rollup_job.recount_from(TODAY - timedelta(days=2), NOON + timedelta(hours=1))

    assert {day: total(day=TODAY - timedelta(days=day)) for day in range(5)} == {0: 2, 1: 2, 2: 5, 3: 2, 4: 2}
    assert total("mended") == 5


def test_catching_up_counts_the_same_as_many_runs(happen: Happen) -> None:
    for hour in range(60):
        happen(NOON - timedelta(hours=hour), times=hour % 3)

    rollup_job.catch_up(NOON)

    assert total() == sum(hour % 3 for hour in range(60))
    assert Rollup.objects.get().settled_until == NOON - rollup_job.SETTLE_AFTER


def test_run_that_was_overtaken_writes_nothing(happen: Happen, monkeypatch: pytest.MonkeyPatch) -> None:
    happen(NOON - timedelta(hours=1))
    looked = rollup_job._find_next_period

    def overtaken(*args: Any) -> Any:
        found = looked(*args)
        monkeypatch.undo()
        count(NOON)  # another process, meanwhile
        return found

    monkeypatch.setattr(rollup_job, "_find_next_period", overtaken)

    assert rollup_job.run(NOON - MINUTE) is False
    assert total() == 1


# --- constraints ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("constraint", "rows"),
    [
        ("op_daily_once", [{"is_settled": True}, {"is_settled": True}]),
        ("op_daily_failures_within_calls", [{"is_settled": True, "calls": 1, "invalid": 1, "internal": 1}]),
        ("op_daily_failures_within_calls", [{"is_settled": True, "searches": 1, "misses": 2}]),
    ],
)
def test_figures_that_cannot_be_are_refused(db: None, constraint: str, rows: list[dict[str, Any]]) -> None:
    def write() -> None:
        for row in rows:
            OpDaily.objects.create(day=TODAY, op="onto.task.get", release="r1", **row)

    with pytest.raises(IntegrityError) as refused, transaction.atomic():
        write()
    unique = "analytics_opdaily.day, analytics_opdaily.op"  # SQLite names the columns
    assert constraint in str(refused.value) or (constraint == "op_daily_once" and unique in str(refused.value))
