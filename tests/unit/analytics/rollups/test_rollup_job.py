"""Daily figures: each event counts once, on its day, however often the job runs."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import Sum

from analytics.events import event_filters
from analytics.events.models import OperationEvent
from analytics.rollups import op_daily, rollup_job
from analytics.rollups.models import OpDaily, Rollup
from config.management.commands.docs import _build_errors_page
from gateway.contracts.errors import ErrorCode
from tests.support.concurrency import run_at_once
from tests.support.loops import for_each
from tests.support.rows.analytics_rows import NOON, WriteEvent, run_until_done
from tools.databases import ROOT

pytestmark = pytest.mark.both_databases

TODAY = NOON.date()
MINUTE = timedelta(minutes=1)
FAILED = {"code": "VALIDATION_ERROR", "reason": "invalid_args"}


def sum_column(name: str = "calls", **which: Any) -> int:
    result: int = OpDaily.objects.filter(**which).aggregate(sum=Sum(name, default=0))["sum"]
    return result


def sum_op(op: str = "onto.task.update") -> dict[str, Any]:
    """Return the sums of an op's rows of today, without zeros."""
    rows = OpDaily.objects.filter(day=TODAY, op=op)
    sums = rows.aggregate(**{name: Sum(name) for name in op_daily.SUMS.sum_fields})
    return {name: value for name, value in sums.items() if value}


# --- what counts --------------------------------------------------------------------------------------------------


def test_calls_are_counted_by_error_code(write_event: WriteEvent) -> None:
    write_event(NOON - MINUTE, times=4)
    for times, code in enumerate(ErrorCode.values, start=1):
        write_event(NOON - MINUTE, times=times, code=code)

    run_until_done()

    by_code = {"invalid": 1, "denied": 2, "not_found": 3, "conflict": 4, "internal": 5}
    assert sum_op() == {"calls": 4 + 15, "latency_ms": 2.0 * 19, **by_code}


def test_every_figure_has_a_column() -> None:
    known = {field.name for field in OpDaily._meta.fields}

    assert set(op_daily.SUMS.sum_fields) == known - {"id", *op_daily.SUMS.key_fields, "is_settled", "field_errors"}


def test_replays_dry_runs_and_deferred_calls_are_not_counted(write_event: WriteEvent) -> None:
    write_event(NOON - MINUTE, replayed=True)
    write_event(NOON - MINUTE, dry_run=True, **FAILED)
    for reason in event_filters.DEFERRED_REASONS:
        write_event(NOON - MINUTE, code="CONFLICT", reason=reason)

    run_until_done()

    assert not OpDaily.objects.exists()


def test_deferred_reasons_are_documented_errors() -> None:
    reference = _build_errors_page(ROOT)

    assert all(f"| `{reason}` |" in reference for reason in event_filters.DEFERRED_REASONS)


def test_help_is_counted_by_format(write_event: WriteEvent) -> None:
    for times, format in enumerate(("short", "full", "arg"), start=1):
        write_event(NOON - MINUTE, type="help", format=format, times=times)
    write_event(NOON - MINUTE, type="discover", format="short", times=5)
    write_event(NOON - MINUTE, type="help", op="onto.task", tool_name="", times=3)
    write_event(NOON - MINUTE, type="discover", op="onto.task", tool_name="", format="list")
    write_event(NOON - MINUTE, type="help", op="onto.taks", tool_name="", code="NOT_FOUND")

    run_until_done()

    assert sum_op() == {"short_reads": 6, "full_reads": 2, "arg_reads": 3}
    assert sum_op("onto.task") == {"list_reads": 4}
    assert OpDaily.objects.count() == 2


def test_searches_and_unknown_names_count_without_an_op(write_event: WriteEvent) -> None:
    write_event(NOON - MINUTE, type="search", op="", tool_name="", result_count=3)
    write_event(NOON - MINUTE, type="search", op="", tool_name="", result_count=0)
    for name in ("onto.snooze", "delete everything"):
        write_event(NOON - MINUTE, op=name, tool_name="", code="NOT_FOUND", reason="unknown_op")

    run_until_done()

    assert sum_op("") == {"searches": 2, "misses": 1, "calls": 2, "not_found": 2, "latency_ms": 4.0, "unknown_names": 2}
    assert OpDaily.objects.count() == 1


@pytest.mark.parametrize("name", ["release", "surface", "cohort", "model", "client"])
def test_release_surface_cohort_model_and_client_are_counted_separately(write_event: WriteEvent, name: str) -> None:
    for value in ("a", "b", "b"):
        write_event(NOON - MINUTE, **{name: value}, field_errors=[[f"/{value}", "type"]], **FAILED)
        write_event(NOON - timedelta(hours=1), **{name: value})

    run_until_done()

    rows = OpDaily.objects.order_by(name).values_list(name, "calls", "field_errors")
    assert list(rows) == [("a", 2, [["/a", "type", 1]]), ("b", 4, [["/b", "type", 2]])]


def test_days_are_utc_days(write_event: WriteEvent) -> None:
    midnight = datetime(2026, 3, 10, tzinfo=UTC)
    write_event(midnight - timedelta(microseconds=1))
    write_event(midnight, times=2)

    run_until_done(midnight + MINUTE)

    assert {day: sum_column(day=day) for day in (date(2026, 3, 9), date(2026, 3, 10))} == {
        date(2026, 3, 9): 1,
        date(2026, 3, 10): 2,
    }


# --- repaired calls ------------------------------------------------------------------------------------------------

TURN = {"client": "chat", "session": "s1", "turn": "t1"}


def test_repaired_call_counts_on_the_day_and_release_of_the_failed_call(write_event: WriteEvent) -> None:
    midnight = datetime(2026, 3, 10, tzinfo=UTC)
    write_event(midnight - MINUTE, release="r1", **TURN, **FAILED)
    write_event(midnight + MINUTE, release="r2", **TURN)

    for minutes in (2, 3):
        run_until_done(midnight + minutes * MINUTE)
        repaired = OpDaily.objects.filter(repaired__gt=0)
        assert list(repaired.values_list("day", "release", "repaired")) == [(date(2026, 3, 9), "r1", 1)]
        assert sum_column("invalid", day=date(2026, 3, 9)) == 1


def test_repaired_unknown_name_counts_without_an_op(write_event: WriteEvent) -> None:
    write_event(NOON - 2 * MINUTE, op="onto.new", tool_name="", code="NOT_FOUND", reason="unknown_op", **TURN)
    write_event(NOON - MINUTE, op="onto.new", **TURN)  # published in the meantime

    run_until_done()

    assert sum_op("")["repaired"] == 1
    assert sum_op("onto.new") == {"calls": 1, "latency_ms": 2.0}


# --- field errors -------------------------------------------------------------------------------------------


def test_field_errors_are_sorted_by_count_with_list_indexes_merged(write_event: WriteEvent) -> None:
    for index in range(3):
        write_event(NOON - MINUTE, field_errors=[[f"/items/{index}/name", "required"], ["/a", "type"]], **FAILED)
    write_event(NOON - MINUTE, field_errors=[["/a", "type"], ["/items/0", "type"], ["/items/1", "type"]], **FAILED)

    run_until_done()

    (row,) = OpDaily.objects.all()
    assert row.field_errors == [["/a", "type", 4], ["/items/*/name", "required", 3], ["/items/*", "type", 1]]


def test_field_errors_are_summed_when_hours_settle(write_event: WriteEvent) -> None:
    for hour in (9, 10, 11):
        write_event(NOON.replace(hour=hour), field_errors=[["/a", "type"], [f"/other-{hour}", "enum"]], **FAILED)

    run_until_done()

    (row,) = OpDaily.objects.all()
    assert row.field_errors == [["/a", "type", 3], *([f"/other-{hour}", "enum", 1] for hour in (10, 11, 9))]


def test_field_errors_of_a_row_are_limited_to_the_commonest(write_event: WriteEvent) -> None:
    write_event(NOON - MINUTE, field_errors=[["/often", "type"]], times=2, **FAILED)
    for number in range(op_daily.MAX_FIELD_ERRORS + 5):
        write_event(NOON - MINUTE, field_errors=[[f"/made-up-{number}", "unknown"]], **FAILED)

    run_until_done()

    errors = OpDaily.objects.get().field_errors
    assert len(errors) == op_daily.MAX_FIELD_ERRORS
    assert errors[0] == ["/often", "type", 2]


# --- each event once --------------------------------------------------------------------------------------------------


def test_rows_keep_their_ids_when_events_are_added(write_event: WriteEvent) -> None:
    write_event(NOON - MINUTE)
    run_until_done(NOON)
    before = OpDaily.objects.get().pk

    write_event(NOON)
    run_until_done(NOON + MINUTE)

    assert list(OpDaily.objects.values_list("pk", "calls")) == [(before, 2)]


def test_event_that_is_written_hours_late_counts_on_its_day(write_event: WriteEvent) -> None:
    write_event(NOON)
    run_until_done(NOON + timedelta(hours=1))
    write_event(NOON - timedelta(days=1))

    run_until_done(NOON + timedelta(hours=2))

    assert [sum_column(day=TODAY - timedelta(days=days)) for days in (0, 1)] == [1, 1]


def test_event_with_the_time_of_a_wrong_clock_costs_no_query_for_each_day(
    write_event: WriteEvent, django_assert_max_num_queries: Any
) -> None:
    write_event(datetime(1970, 1, 2, tzinfo=UTC))
    write_event(NOON)

    with django_assert_max_num_queries(60):
        run_until_done()

    assert OpDaily.objects.count() == 2


def test_run_without_events_writes_no_figures(db: None) -> None:
    assert rollup_job.run_rollup(NOON) is False

    assert not OpDaily.objects.exists()
    assert Rollup.objects.get().counted_at == NOON


def test_backlog_is_counted_in_batches(write_event: WriteEvent) -> None:
    write_event(NOON - timedelta(days=3), times=5)

    assert [rollup_job.run_rollup(NOON, size=2) for _ in range(3)] == [True, True, False]

    assert sum_column() == 5


def test_run_reads_only_new_events(write_event: WriteEvent, django_assert_max_num_queries: Any) -> None:
    write_event(NOON - timedelta(hours=3), times=5)
    run_until_done()
    OperationEvent.objects.all().delete()
    write_event(NOON)

    with django_assert_max_num_queries(45):
        run_until_done(NOON + MINUTE)

    assert sum_column() == 6


@pytest.fixture
def separate_connections(transactional_db: None) -> Iterator[None]:
    yield
    connection.close()


@pytest.mark.parametrize("_attempt", range(3))
def test_events_count_once_when_processes_run_concurrently(
    separate_connections: None, write_event: WriteEvent, _attempt: int
) -> None:
    write_event(NOON - timedelta(hours=1), times=3)
    write_event(NOON - MINUTE, times=2)

    def run() -> None:
        for second in range(6):
            rollup_job.run_rollup(NOON + timedelta(seconds=second))

    run_at_once([run] * 3, connected=True)
    run_until_done(NOON + MINUTE)

    assert sum_column() == 5


def test_recount_replaces_figures_of_days_that_have_events(write_event: WriteEvent) -> None:
    for day in range(5):
        write_event(NOON - timedelta(days=day), **TURN | {"turn": f"t{day}"}, **FAILED)
        write_event(NOON - timedelta(days=day) + MINUTE, **TURN | {"turn": f"t{day}"})
    run_until_done(NOON + timedelta(hours=1))
    OperationEvent.objects.filter(time__lt=NOON - timedelta(days=3)).delete()  # expired events; their figures stay
    write_event(NOON - timedelta(days=2), times=3)  # written after that day was settled

    rollup_job.recount_from(TODAY - timedelta(days=2), NOON + timedelta(hours=1))

    assert {day: sum_column(day=TODAY - timedelta(days=day)) for day in range(5)} == {0: 2, 1: 2, 2: 5, 3: 2, 4: 2}
    assert sum_column("repaired") == 5


def test_catch_up_counts_all_events(write_event: WriteEvent) -> None:
    for hour in range(60):
        write_event(NOON - timedelta(hours=hour), times=hour % 3)

    rollup_job.catch_up(NOON)

    assert sum_column() == sum(hour % 3 for hour in range(60))
    assert Rollup.objects.get().last_id == OperationEvent.objects.latest("id").pk


# --- constraints ------------------------------------------------------------------------------------------------------


@for_each(
    "constraint, rows",
    [
        ("op_daily_once", [{}, {}]),
        ("op_daily_failures_within_calls", [{"calls": 1, "invalid": 1, "internal": 1}]),
        ("op_daily_failures_within_calls", [{"searches": 1, "misses": 2}]),
    ],
)
def test_invalid_figures_violate_a_constraint(db: None, constraint: str, rows: list[dict[str, Any]]) -> None:
    figures = [OpDaily(day=TODAY, op="onto.task.get", release="r1", **row) for row in rows]

    with pytest.raises(IntegrityError) as error, transaction.atomic():
        OpDaily.objects.bulk_create(figures)
    unique = "analytics_opdaily.day, analytics_opdaily.op"  # SQLite names the columns
    assert constraint in str(error.value) or (constraint == "op_daily_once" and unique in str(error.value))
