"""Comparing two cohorts or releases by their users: verdicts need enough of them, and a difference beyond chance."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from analytics.experiments.cohorts import comparison
from analytics.experiments.cohorts.comparison import COMPARED, ComparisonVerdict, MetricComparison, Proportion
from analytics.reports import sum_figures_by_op, totals
from analytics.reports.report_filter import ReportFilter
from analytics.reports.totals import Totals
from analytics.rollups.models import OpDaily, SubjectFigures
from analytics.turns.models import Turn
from tests.support.rows.analytics_rows import NOON

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db]

BETTER, WORSE = ComparisonVerdict.BETTER, ComparisonVerdict.WORSE
NONE, TOO_FEW = ComparisonVerdict.NONE, ComparisonVerdict.TOO_FEW


def add_users(
    release: str, failures: Sequence[int], *, calls: int = 10, op: str = "onto.task.get", **fields: Any
) -> None:
    """Add figures of a day: of users who failed so often out of `calls`, and of the op."""
    values = {"release": release, "op": op, "is_settled": True} | fields
    SubjectFigures.objects.bulk_create(
        SubjectFigures(subject=f"{release}-{number}", begin=NOON, calls=calls, failed=failed, **values)
        for number, failed in enumerate(failures)
    )
    OpDaily.objects.create(day=NOON.date(), calls=calls * len(failures), invalid=sum(failures), **values)


def compare(first: Sequence[int], second: Sequence[int], **fields: Any) -> MetricComparison:
    add_users("r1", first, **fields)
    add_users("r2", second, **fields)
    scope = ReportFilter(NOON, days=7)
    [rate] = (
        each
        for each in comparison.compare_sides(scope, "release", ("r1", "r2"), totals.sum_by_value(scope, "release"))
        if each.metric.name == "failure_rate"
    )
    return rate


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        ([1, 2, 3] * 20, [0, 1] * 30, BETTER),
        ([0, 1] * 30, [1, 2, 3] * 20, WORSE),
        ([0, 1] * 30, [1, 0] * 30, NONE),
        ([0] * 30, [0] * 30, NONE),
        ([9] * 19, [0, 1] * 30, TOO_FEW),
        ([], [0, 1] * 30, TOO_FEW),
    ],
)
def test_verdict_follows_from_the_users(first: list[int], second: list[int], verdict: ComparisonVerdict) -> None:
    assert compare(first, second).verdict == verdict


def test_few_heavy_users_do_not_make_a_verdict() -> None:
    """Two of 25 users call all the time, and fail: as calls it would be clear, as users it may be chance."""
    compared = compare([100] * 25, [100] * 23 + [900] * 2, calls=1_000)

    assert (compared.first, compared.second) == (Proportion(2_500, 25_000), Proportion(4_100, 25_000))
    assert compared.verdict == NONE


def test_user_counts_up_to_the_limit_of_calls() -> None:
    add_users("r1", [0] * 30)
    add_users("r2", [0] * 30)
    add_users("r2", [5_000], calls=5_000, op="onto.task.list")

    scope = ReportFilter(NOON, days=7)
    rate = comparison.compare_sides(scope, "release", ("r1", "r2"), totals.sum_by_value(scope, "release"))[0]

    assert rate.difference == pytest.approx(50 * 5_000 / 5_010 / 340)


def test_every_metric_is_compared() -> None:
    comparisons = comparison.compare_sides(ReportFilter(NOON), "release", ("r1", "r2"), {})

    assert [each.metric for each in comparisons] == list(COMPARED)
    assert {each.verdict for each in comparisons} == {TOO_FEW}
    assert {each.difference for each in comparisons} == {None}


def test_cohorts_are_found_beside_those_of_other_flags_and_both_together_count_on_no_side() -> None:
    for cohorts, failures in (("copy-a", [1, 2]), ("pilot copy-a", [1, 2]), ("copy-b", [1, 2]), ("copy-a copy-b", [9])):
        values: dict[str, Any] = {"cohort": cohorts, "op": "onto.task.get", "is_settled": True}
        OpDaily.objects.create(day=NOON.date(), calls=10, **values)
        SubjectFigures.objects.bulk_create(
            SubjectFigures(
                subject=f"{cohorts}-{user}", begin=NOON, calls=10, failed=failures[user % len(failures)], **values
            )
            for user in range(20)
        )
    scope = ReportFilter(NOON, days=7)

    for first, second, subjects in (("copy-a", "copy-b", (40, 20)), ("-", "nobody", (0, 0))):
        totals_by_side = totals.sum_by_value(scope, "cohort")
        rate = comparison.compare_sides(scope, "cohort", (first, second), totals_by_side)[0]
        assert rate.subjects == subjects
    pilot = comparison.compare_sides(scope, "cohort", ("copy-a", "pilot"), totals.sum_by_value(scope, "cohort"))[0]
    assert (pilot.subjects, pilot.shared_subjects) == ((40, 0), 20)


@pytest.mark.parametrize(
    ("calls", "by", "pair"),
    [
        ({"pilot": 90, "copy": 80, "-": 5}, "cohort", ("-", "pilot")),  # two cohorts may share all their users
        ({"pilot": 90, "copy": 80}, "cohort", ("pilot", "copy")),
        ({"r1": 90, "r2": 80, "r3": 5}, "release", ("r1", "r3")),  # the live one is the second side
        ({"r1": 90, "": 80}, "release", None),
    ],
)
def test_baseline_is_one_of_the_sides_unless_others_are_requested(
    calls: dict[str, int], by: str, pair: tuple[str, str] | None
) -> None:
    totals_by_side = {name: Totals(calls=count) for name, count in calls.items()}

    assert comparison.choose_sides(totals_by_side, by, live="r3") == pair
    assert comparison.choose_sides(totals_by_side, by, first="copy", second="-", live="r3") == ("copy", "-")


def test_turns_are_compared_by_their_users() -> None:
    for release, succeeding in (("r1", 5), ("r2", 9)):
        Turn.objects.bulk_create(
            Turn(
                client="chat",
                turn=f"{release}-{user}-{number}",
                subject=f"user-{user}",
                time=NOON,
                release=release,
                calls=1,
                failed=int(number >= succeeding - user % 2),
            )
            for user in range(40)
            for number in range(10)
        )
    scope = ReportFilter(NOON, days=7)
    compared = comparison.compare_sides(scope, "release", ("r1", "r2"), totals.sum_by_value(scope, "release"))

    success = next(each for each in compared if each.metric.name == "turn_success")
    assert (success.verdict, round(success.difference or 0, 2)) == (BETTER, 0.4)
    assert success.subjects == (40, 40)


@pytest.mark.parametrize(("users", "days"), [(10, 7), (19, 1), (2, 63), (0, None)])
def test_too_few_users_give_the_days_to_wait(users: int, days: int | None) -> None:
    OpDaily.objects.create(day=(NOON - timedelta(days=6)).date(), release="r1", is_settled=True)
    OpDaily.objects.create(day=(NOON - timedelta(days=6)).date(), release="r2", is_settled=True)

    assert compare([0] * users, [0, 1] * 30).days_to_wait == days


def test_changed_ops_are_those_beyond_the_chance_of_so_many() -> None:
    for release, rates in (
        ("r1", ([4, 5, 6], [1, 1, 1], [0, 0, 1], [6, 6, 6])),
        ("r2", ([0, 1, 2], [1, 1, 2], [4, 4, 5], [5, 6, 6])),
    ):
        for number, failures in enumerate(rates):
            add_users(release, failures * (10 if number != 2 else 5), op=f"op{number}")

    scope, pair = ReportFilter(NOON), ("r1", "r2")
    changes = comparison.find_changed_ops(scope, "release", pair, comparison.sum_sides(scope, "release", pair))

    assert [(each.op, round(each.difference, 2)) for each in changes] == [("op0", -0.4)]
    assert changes[0].interval.high < 0


def test_worst_op_fails_more_often_than_the_others_beyond_chance() -> None:
    add_users("r1", [10] * 30, op="")  # unknown names are no op
    add_users("r1", [1] * 200, op="most_failed")
    add_users("r1", [7, 8] * 20, op="often_failed")
    add_users("r1", [10] * 3, op="rarely_called")
    add_users("r1", [0] * 50, op="fine")
    scope = ReportFilter(NOON)

    worst = comparison.find_worst_op(scope, sum_figures_by_op(scope.select_daily_figures()))

    assert worst is not None
    assert (worst.op, worst.own.rate) == ("often_failed", 0.75)
    assert comparison.find_worst_op(scope, {}) is None
