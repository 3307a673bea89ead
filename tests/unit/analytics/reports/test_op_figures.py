"""Figures of ops, computed from the daily figures."""

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import OuterRef

from analytics import reports
from analytics.reports import DailyReads, OpFigures
from analytics.rollups.models import OpDaily
from registry.models import Switch
from tests.support.rows.analytics_rows import NOON

pytestmark = pytest.mark.both_databases

UPDATE, GET = "onto.task.update", "onto.task.get"


def create_daily(
    op: str = UPDATE, *, days_ago: int = 0, release: str = "r1", settled: bool = True, **fields: Any
) -> None:
    day = (NOON - timedelta(days=days_ago)).date()
    OpDaily.objects.create(op=op, day=day, release=release, is_settled=settled, **fields)


def test_figures_cover_today_and_the_six_days_before(db: None) -> None:
    for days_ago in range(10):
        create_daily(days_ago=days_ago, calls=1)

    assert reports.get_op_figures(UPDATE, at=NOON).calls == 7


def test_figures_sum_releases_and_unsettled_rows(db: None) -> None:
    create_daily(calls=3, invalid=1, latency_ms=30.0)
    create_daily(calls=4, release="r2", internal=2, short_reads=5)
    create_daily(calls=1, settled=False, latency_ms=2.0)
    create_daily(GET, calls=9)

    figures = reports.get_op_figures(UPDATE, at=NOON)

    assert figures == OpFigures(calls=8, invalid=1, internal=2, latency_ms=32.0, short_reads=5)
    assert figures.failed == 3
    assert figures.failure_rate == 3 / 8
    assert reports.get_op_figures("onto.task.none", at=NOON) == OpFigures()
    assert OpFigures().failure_rate is None


# --- failing ----------------------------------------------------------------------------------------------------------


def test_failing_ops_have_their_commonest_field_error(db: None) -> None:
    create_daily(calls=100, invalid=14, field_errors=[["/state_key", "enum", 5], ["/due_at", "format", 4]])
    create_daily(days_ago=1, calls=20, invalid=6, field_errors=[["/due_at", "format", 6]])

    (failing,) = reports.list_failing_ops(at=NOON)

    assert (failing.op, failing.figures.calls, failing.figures.failed) == (UPDATE, 120, 20)
    assert failing.error == ("/due_at", "format")


def test_most_common_errors_count_rows_that_are_alike_and_equals_go_by_name(db: None) -> None:
    for days_ago in range(2):
        create_daily(days_ago=days_ago, field_errors=[["/state_key", "enum", 3]])
        create_daily(GET, days_ago=days_ago, field_errors=[["/task_id", "required", 1]])
    create_daily(release="r2", field_errors=[["/due_at", "format", 5]])
    create_daily(GET, release="r2", field_errors=[["/fields", "enum", 2]])

    errors = reports.find_most_common_errors(OpDaily.objects.all())

    assert errors == {UPDATE: ("/state_key", "enum"), GET: ("/fields", "enum")}


def test_failing_ops_are_sorted_by_failures_in_two_queries(db: None, django_assert_num_queries: Any) -> None:
    for number, failed in enumerate((5, 50, 20)):
        create_daily(f"crm.deal.op{number}", calls=100, not_found=failed)

    with django_assert_num_queries(2):
        reports.list_failing_ops(at=NOON)
    assert [each.op[-3:] for each in reports.list_failing_ops(at=NOON)] == ["op1", "op2", "op0"]
    assert [each.op[-3:] for each in reports.list_failing_ops(at=NOON, limit=1)] == ["op1"]
    assert reports.list_failing_ops(at=NOON)[0].error is None


def test_failing_ops_need_enough_calls_and_failures(db: None) -> None:
    create_daily(calls=reports.MIN_FAILING_CALLS - 1, invalid=3)  # too few calls
    create_daily(GET, calls=1_000, invalid=49)  # low failure rate
    create_daily("", calls=100, not_found=100)  # unknown names belong to no op

    assert reports.list_failing_ops(at=NOON) == []


# --- reads and their price -----------------------------------------------------------------------------------------


def test_daily_reads_are_averaged_since_the_first_count(db: None) -> None:
    assert reports.average_daily_reads(UPDATE, at=NOON) == DailyReads(0, 0, 0, 0)
    create_daily(short_reads=30, full_reads=15, arg_reads=3, list_reads=6)
    assert reports.average_daily_reads(UPDATE, at=NOON).short == 30  # the first day is not extrapolated
    create_daily(GET, days_ago=1, calls=1)

    in_a_day_and_a_half = DailyReads(short=20, full=10, arg=2, listed=4)
    assert reports.average_daily_reads(UPDATE, at=NOON) == in_a_day_and_a_half
    assert reports.average_daily_reads_by_op(at=NOON) == {
        GET: DailyReads(0, 0, 0, 0),
        UPDATE: reports.average_daily_reads(UPDATE, at=NOON),
    }


# --- in queries -------------------------------------------------------------------------------------------------------


def test_subqueries_return_figures_of_the_named_op(db: None) -> None:
    for op in (UPDATE, GET):
        Switch.objects.create(kind="op", name=op, is_off=False, changed_by="tests", changed_at=NOON)
    create_daily(calls=30, invalid=2, internal=1)
    create_daily(days_ago=6, release="r2", calls=10, not_found=1)
    create_daily(days_ago=7, calls=500)
    name = OuterRef("name")

    rows = Switch.objects.annotate(
        calls=reports.build_calls_subquery(name, at=NOON), failed=reports.build_failed_calls_subquery(name, at=NOON)
    ).values_list("name", "calls", "failed")

    assert set(rows) == {(UPDATE, 40, 4), (GET, 0, 0)}
