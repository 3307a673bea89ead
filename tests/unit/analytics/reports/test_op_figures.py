"""What pages tell of ops, out of the daily figures."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db.models import OuterRef

from analytics import reports
from analytics.models import OpDaily
from analytics.reports import DailyReads, OpFigures
from registry.models import Switch

pytestmark = pytest.mark.both_databases

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
UPDATE, GET = "onto.task.update", "onto.task.get"


def counted(op: str = UPDATE, *, days_ago: int = 0, release: str = "r1", settled: bool = True, **fields: Any) -> None:
    day = (NOON - timedelta(days=days_ago)).date()
    OpDaily.objects.create(op=op, day=day, release=release, is_settled=settled, **fields)


def test_figures_are_of_today_and_the_six_days_before(db: None) -> None:
    for days_ago in range(10):
        counted(days_ago=days_ago, calls=1)

    assert reports.get_op_figures(UPDATE, at=NOON).calls == 7


def test_figures_add_up_releases_and_what_is_not_settled(db: None) -> None:
    counted(calls=3, invalid=1, latency_ms=30.0)
    counted(calls=4, release="r2", internal=2, short_reads=5)
    counted(calls=1, settled=False, latency_ms=2.0)
    counted(GET, calls=9)

    figures = reports.get_op_figures(UPDATE, at=NOON)

    assert figures == OpFigures(calls=8, invalid=1, internal=2, latency_ms=32.0, short_reads=5)
    assert figures.failed == 3
    assert figures.failure_rate == 3 / 8


def test_op_that_was_never_called_has_no_rate(db: None) -> None:
    figures = reports.get_op_figures(UPDATE, at=NOON)

    assert figures == OpFigures()
    assert figures.failure_rate is None


# --- failing ----------------------------------------------------------------------------------------------------------


def test_failing_ops_come_with_their_commonest_error(db: None) -> None:
    counted(calls=100, invalid=14, field_errors=[["/state_key", "enum", 5], ["/due_at", "format", 4]])
    counted(days_ago=1, calls=20, invalid=6, field_errors=[["/due_at", "format", 6]])

    (told,) = reports.list_failing_ops(at=NOON)

    assert (told.op, told.figures.calls, told.figures.failed) == (UPDATE, 120, 20)
    assert told.error == ("/due_at", "format")


def test_failing_ops_are_told_those_with_most_failures_first(db: None) -> None:
    for number, failed in enumerate((5, 50, 20)):
        counted(f"crm.deal.op{number}", calls=100, not_found=failed)

    assert [told.op[-3:] for told in reports.list_failing_ops(at=NOON)] == ["op1", "op2", "op0"]
    assert [told.op[-3:] for told in reports.list_failing_ops(at=NOON, limit=1)] == ["op1"]
    assert reports.list_failing_ops(at=NOON)[0].error is None


@pytest.mark.parametrize(
    ("op", "fields"),
    [
        (UPDATE, {"calls": reports.MIN_FAILING_CALLS - 1, "invalid": 3}),  # too few calls to tell
        (UPDATE, {"calls": 1_000, "invalid": 49}),  # few fail
        ("", {"calls": 100, "not_found": 100}),  # names that nothing has are no op
    ],
)
def test_failing_leaves_out(db: None, op: str, fields: dict[str, int]) -> None:
    counted(op, **fields)

    assert reports.list_failing_ops(at=NOON) == []


def test_failing_costs_two_queries_however_many_ops_there_are(db: None, django_assert_num_queries: Any) -> None:
    for number in range(40):
        counted(f"crm.deal.op{number}", calls=100, invalid=50)

    with django_assert_num_queries(2):
        assert len(reports.list_failing_ops(at=NOON)) == 5


# --- reads and what they cost -----------------------------------------------------------------------------------------


def test_reads_a_day_are_of_the_time_since_the_first_that_was_counted(db: None) -> None:
    counted(GET, days_ago=1, calls=1)
    counted(short_reads=30, full_reads=15, arg_reads=3, list_reads=6)

    assert reports.average_daily_reads(UPDATE, at=NOON) == DailyReads(
        short=20, full=10, arg=2, listed=4
    )  # in a day and a half
    assert reports.average_daily_reads_by_op(at=NOON) == {
        GET: DailyReads(0, 0, 0, 0),
        UPDATE: reports.average_daily_reads(UPDATE, at=NOON),
    }


def test_reads_of_the_first_hours_are_not_blown_up_to_a_day(db: None) -> None:
    counted(short_reads=30)

    assert reports.average_daily_reads(UPDATE, at=NOON).short == 30


def test_reads_a_day_are_none_where_nothing_was_counted(db: None) -> None:
    assert reports.average_daily_reads(UPDATE, at=NOON) == DailyReads(0, 0, 0, 0)


def test_tokens_cost_what_the_setting_says(settings: Any) -> None:
    settings.GATEWAY_DOLLARS_PER_MILLION_TOKENS = Decimal("2.50")

    assert reports.price_in_dollars(400_000) == Decimal("1.00")
    assert reports.price_in_dollars(-40) == Decimal("-0.0001")


# --- in queries -------------------------------------------------------------------------------------------------------


def test_figures_of_rows_that_name_an_op(db: None) -> None:
    for op in (UPDATE, GET):
        Switch.objects.create(kind="op", name=op, is_off=False, changed_by="tests", changed_at=NOON)
    counted(calls=30, invalid=2, internal=1)
    counted(days_ago=6, release="r2", calls=10, not_found=1)
    counted(days_ago=7, calls=500)
    name = OuterRef("name")

    rows = Switch.objects.annotate(
        calls=reports.build_calls_subquery(name, at=NOON), rate=reports.build_failure_rate_subquery(name, at=NOON)
    ).values_list("name", "calls", "rate")

    assert set(rows) == {(UPDATE, 40, 0.1), (GET, 0, None)}
