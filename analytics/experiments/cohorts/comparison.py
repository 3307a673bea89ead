"""Compare two cohorts or releases over a period, by their subjects: for *Side by side*, and verdicts on cohorts.

Who reads what was not always drawn by lot here, so a difference may have other causes. Experiments have no such doubt.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import ceil

from django.db.models import Q

from analytics.experiments import statistics, sums
from analytics.experiments.metrics import FAILURE_RATE, METRICS, Metric
from analytics.experiments.proportions import ConfidenceInterval
from analytics.experiments.statistics import MIN_SUBJECTS, ArmMoments, ArmResult, ArmVerdict, MetricKind, MetricTest
from analytics.experiments.sums import RowsOf, Sides, Span
from analytics.reports import totals
from analytics.reports.op_figures import OpFigures
from analytics.reports.report_filter import NO_COHORT, ReportFilter
from analytics.reports.totals import Totals
from analytics.rollups.models import SubjectFigures
from analytics.turns.models import Feedback, Turn

SIDE_KINDS = ("cohort", "release")  # what can be compared
SUBJECTS = 500  # for which the interval is tuned: fixed, because the sides are not planned
CALL_LIMIT = 50  # calls of one subject that count in full
ALPHA = 0.05
SIDES, BOTH = ("first", "second"), "both"
NOBODY = ArmMoments.of_sums(0, ())
SideSums = Mapping[str, Mapping[str, ArmMoments]]
MAX_OPS = 20  # that are looked at for the worst one, those with most failed calls

# What is compared, the most important first, and how the totals of a report count it.
COUNTS: Mapping[str, Callable[[Totals], tuple[int, int]]] = {
    "failure_rate": lambda each: (each.failed, each.calls),
    "repair_rate": lambda each: (each.repaired, each.failed),
    "turn_success": lambda each: (each.succeeding, each.calling),
    "thumbs_up": lambda each: (each.thumbs_up, each.rated),
    "unknown_turns": lambda each: (each.lost, each.turns),
    "loop_rate": lambda each: (each.looping, each.turns),
    "miss_rate": lambda each: (each.misses, each.searches),
}
COMPARED = tuple(METRICS[name] for name in COUNTS)
SUCCESS_RATE = METRICS["turn_success"]


class ComparisonVerdict(StrEnum):
    """The result of comparing two rates."""

    BETTER = "better"
    WORSE = "worse"
    NONE = "none"  # may be chance
    TOO_FEW = "too_few"  # users on a side


@dataclass(frozen=True, slots=True)
class Proportion:
    """A number of hits out of a total."""

    hits: int
    total: int

    @property
    def rate(self) -> float | None:
        return self.hits / self.total if self.total else None


@dataclass(frozen=True, slots=True)
class MetricComparison:
    """A metric on both sides, and the difference (second minus first) with its interval, which holds at every look.

    The difference is that of subjects, of whom each counts up to `CALL_LIMIT` calls; the proportions count all calls.
    """

    metric: Metric
    first: Proportion
    second: Proportion
    subjects: tuple[int, int]
    difference: float | None
    interval: ConfidenceInterval | None  # None if there are too few subjects
    verdict: ComparisonVerdict
    days_to_wait: int | None  # until there may be enough subjects; None if there are, or if there is no data
    shared_subjects: int = 0  # of both sides, who are on neither


@dataclass(frozen=True, slots=True)
class OpChange:
    """An op whose failure rate differs between the two sides, beyond chance."""

    op: str
    first: Proportion
    second: Proportion
    difference: float
    interval: ConfidenceInterval


@dataclass(frozen=True, slots=True)
class WorstOp:
    """The op that fails more often than all others together, beyond chance, and has the most failed calls of those."""

    op: str
    own: Proportion
    others: Proportion


def choose_sides(
    totals_by_side: Mapping[str, Totals], by: str, *, first: str = "", second: str = "", live: str = ""
) -> tuple[str, str] | None:
    """Return the two requested sides, with data or not, else the baseline and the other side with most calls.

    The baseline is users in no cohort, who share no user with a cohort, or the live release, which is the second side.
    Without calls of the baseline, the two with most calls are the sides. Unknown releases are no side.
    """
    if first and second and first != second:
        return first, second
    baseline = NO_COHORT if by == "cohort" else live
    candidates = sorted(filter(None, totals_by_side), key=lambda name: (name != baseline, -totals_by_side[name].calls))[
        :2
    ]
    if len(candidates) < 2:
        return None
    candidates.sort(key=lambda name: name != NO_COHORT if by == "cohort" else name == live)
    return candidates[0], candidates[1]


def sum_sides(scope: ReportFilter, by: str, pair: tuple[str, str], *, with_ops: bool = True) -> SideSums:
    """Return the moments of every metric on both sides, and of the failure rate also for each op: {"first op": …}."""
    scope = scope.narrow(by, "")
    sides = _find_sides(scope, by, pair)
    rows, op = _select_sides(scope, sides), "op" if with_ops else None
    return sums.sum_metrics_by(COMPARED, rows, _get_span(scope), by=op, sides=sides)


def compare_sides(
    scope: ReportFilter,
    by: str,
    pair: tuple[str, str],
    totals_by_side: Mapping[str, Totals],
    by_side: SideSums | None = None,
) -> list[MetricComparison]:
    """Return the comparison of every metric of two cohorts or releases. New users come as fast as so far on both.

    `by_side` is what `sum_sides` returns, if `find_changed_ops` needs it, too.
    """
    by_side = sum_sides(scope, by, pair, with_ops=False) if by_side is None else by_side
    scope = scope.narrow(by, "")
    days = min(totals.count_active_days(scope.narrow(by, name)) for name in pair)
    first, second, shared = (by_side.get(side, {}) for side in (*SIDES, BOTH))
    pairs = {metric.name: (first.get(metric.name, NOBODY), second.get(metric.name, NOBODY)) for metric in COMPARED}
    results = {metric.name: _compare(metric, *pairs[metric.name]) for metric in COMPARED}
    names = [metric.name for metric in COMPARED if metric is not FAILURE_RATE]  # which decides, and stands alone
    adjusted = dict(zip(names, statistics.adjust_p_values(results[name].p for name in names), strict=True))
    counted = [totals_by_side.get(name, Totals()) for name in pair]
    comparisons = []
    for metric in COMPARED:
        subjects = pairs[metric.name][0].counted, pairs[metric.name][1].counted
        result = results[metric.name]
        verdict = _judge(result, adjusted.get(metric.name, result.p))
        comparisons.append(
            MetricComparison(
                metric,
                Proportion(*COUNTS[metric.name](counted[0])),
                Proportion(*COUNTS[metric.name](counted[1])),
                subjects,
                result.difference,
                _get_interval(result) if verdict != ComparisonVerdict.TOO_FEW else None,
                verdict,
                _estimate_days_to_wait(min(subjects), days) if verdict == ComparisonVerdict.TOO_FEW else None,
                shared.get(metric.name, NOBODY).counted,
            )
        )
    return comparisons


def find_changed_ops(
    scope: ReportFilter, by: str, pair: tuple[str, str], by_side: SideSums, *, limit: int = 10
) -> list[OpChange]:
    """Return the ops whose failure rate differs beyond the chance of so many ops, largest difference first.

    `by_side` is what `sum_sides` returns.
    """
    scope = scope.narrow(by, "")
    moments: dict[str, dict[str, ArmMoments]] = {side: {} for side in (*SIDES, BOTH)}
    for part, own in by_side.items():
        side, _, op = part.partition(" ")
        if op:
            moments[side][op] = own[FAILURE_RATE.name]
    first, second = (moments[side] for side in SIDES)
    results = {op: _compare(FAILURE_RATE, own, second[op]) for op, own in first.items() if op in second}
    judged = zip(results.items(), statistics.adjust_p_values(each.p for each in results.values()), strict=True)
    differing = [
        (op, result, interval)
        for (op, result), adjusted in judged
        if _judge(result, adjusted) in (ComparisonVerdict.BETTER, ComparisonVerdict.WORSE)
        and (interval := _get_interval(result))
    ]
    if not differing:
        return []
    shares = [
        {op: Proportion(each.failed, each.calls) for op, each in totals.sum_by_op(scope.narrow(by, name)).items()}
        for name in pair
    ]
    none = Proportion(0, 0)
    changes = [
        OpChange(op, shares[0].get(op, none), shares[1].get(op, none), result.difference or 0.0, interval)
        for op, result, interval in differing
    ]
    return sorted(changes, key=lambda each: -abs(each.difference))[:limit]


def find_worst_op(scope: ReportFilter, figures_by_op: Mapping[str, OpFigures]) -> WorstOp | None:
    """Return the op to start with; None if no op clearly fails more often than the others. "" is not an op."""
    calls, failed = (sum(getattr(each, name) for each in figures_by_op.values()) for name in ("calls", "failed"))
    worst = sorted((op for op in figures_by_op if op), key=lambda op: (-figures_by_op[op].failed, op))[:MAX_OPS]
    moments = _sum_by_op(scope, worst)
    for op in worst:
        own = Proportion(figures_by_op[op].failed, figures_by_op[op].calls)
        others = Proportion(failed - own.hits, calls - own.total)
        estimate = moments[op].estimate(MetricKind.RATIO) if op in moments else None
        if estimate is None or others.rate is None or moments[op].counted < MIN_SUBJECTS:
            continue
        width = statistics.compute_one_sided_width(
            estimate.variance, estimate.subjects, alpha=ALPHA / MAX_OPS, tuning=statistics.choose_tuning(SUBJECTS)
        )
        if estimate.value - width > others.rate:
            return WorstOp(op, own, others)
    return None


def _find_sides(scope: ReportFilter, by: str, pair: tuple[str, str]) -> Sides:
    """Return which side rows are of. Rows store up to three cohorts: look up their texts once.

    What two cohorts decided together, each for its flag, is of neither.
    """
    if by != "cohort":
        return Sides(by, dict(zip(pair, SIDES, strict=True)))
    texts = set(scope.select_daily_figures().values_list("cohort", flat=True).distinct())
    sides: dict[str, str] = {}
    for side, name in zip(SIDES, pair, strict=True):
        for text in sorted(texts):
            if name in text.split() if name != NO_COHORT else not text:
                sides[text] = BOTH if text in sides else side
    return Sides(by, sides)


def _select_sides(scope: ReportFilter, sides: Sides) -> RowsOf:
    """Return the rows of both sides together, so that they are read once."""
    either = Q(**{f"{sides.field}__in": list(sides.by_value)})
    return {
        SubjectFigures: scope.select_subject_figures().filter(either),
        Turn: scope.select_turns().filter(either),
        Feedback: scope.select_feedback().filter(either),
    }


def _get_span(scope: ReportFilter) -> Span:
    return Span(*scope.get_times(), CALL_LIMIT)


def _sum_by_op(scope: ReportFilter, ops: Sequence[str]) -> dict[str, ArmMoments]:
    rows: RowsOf = {SubjectFigures: scope.select_subject_figures().filter(op__in=ops)}
    by_op = sums.sum_metrics_by([FAILURE_RATE], rows, _get_span(scope), by="op")
    return {op: moments[FAILURE_RATE.name] for op, moments in by_op.items()}


def _compare(metric: Metric, first: ArmMoments, second: ArmMoments) -> ArmResult:
    tuning = choose_side_tuning(first, second)
    return statistics.compare_arms(first, second, MetricTest(MetricKind.RATIO, metric.lower_is_better, ALPHA, tuning))


def choose_side_tuning(first: ArmMoments, second: ArmMoments) -> int:
    """Return the tuning for sides of these sizes: the smaller one knows its variance less well."""
    smaller, whole = min(first.subjects, second.subjects), first.subjects + second.subjects
    return statistics.choose_tuning(SUBJECTS, smaller_share=smaller / whole if smaller else 0.5)


def _judge(result: ArmResult, p: float) -> ComparisonVerdict:
    if result.verdict == ArmVerdict.WAIT:
        return ComparisonVerdict.TOO_FEW
    return ComparisonVerdict(result.verdict.value) if p <= ALPHA else ComparisonVerdict.NONE


def _get_interval(result: ArmResult) -> ConfidenceInterval | None:
    """Return the interval of the difference of two shares, which is never more than one."""
    if result.low is None or result.high is None:
        return None
    return ConfidenceInterval(max(-1.0, result.low), min(1.0, result.high))


def _estimate_days_to_wait(subjects: int, days: int) -> int | None:
    return ceil((MIN_SUBJECTS - subjects) * days / subjects) if 0 < subjects < MIN_SUBJECTS else None
