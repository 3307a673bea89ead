"""Comparisons of metrics, without rows behind them."""

from hypothesis import strategies as st

from analytics.experiments.cohorts.comparison import COMPARED, ComparisonVerdict, MetricComparison, Proportion
from analytics.experiments.metrics import METRICS
from analytics.experiments.proportions import ConfidenceInterval
from analytics.experiments.statistics import MIN_SUBJECTS

Difference = tuple[float, float]  # of the rates, and half the width of its interval


def build_comparison(
    name: str, difference: Difference | None, *, subjects: tuple[int, int] = (200, 200)
) -> MetricComparison:
    """Return the comparison of a metric; without a difference, there are too few subjects."""
    metric, counts = METRICS[name], (Proportion(5, 50), Proportion(5, 50))
    if difference is None or min(subjects) < MIN_SUBJECTS:
        fewest = min(subjects)
        days = -(-(MIN_SUBJECTS - fewest) * 7 // fewest) if fewest else None
        return MetricComparison(metric, *counts, subjects, None, None, ComparisonVerdict.TOO_FEW, days)
    middle, half = difference
    interval = ConfidenceInterval(middle - half, middle + half)
    verdict = ComparisonVerdict.BETTER if (interval.high < 0) == metric.lower_is_better else ComparisonVerdict.WORSE
    verdict = ComparisonVerdict.NONE if interval.low <= 0 <= interval.high else verdict
    return MetricComparison(metric, *counts, subjects, middle, interval, verdict, None)


def build_comparisons(
    *, subjects: tuple[int, int] = (200, 200), **differences: Difference | None
) -> list[MetricComparison]:
    """Return the comparison of every metric: those that are not named do not differ."""
    return [
        build_comparison(each.name, differences.get(each.name, (0.0, 0.02)), subjects=subjects) for each in COMPARED
    ]


@st.composite
def any_comparisons(draw: st.DrawFn) -> list[MetricComparison]:
    """Return comparisons of every metric, of hardly any users to many, better, worse or neither."""
    subjects = draw(st.integers(0, 60)), draw(st.integers(0, 60))
    ends = st.tuples(st.floats(-0.5, 0.5), st.floats(0.001, 0.4))
    return [build_comparison(each.name, draw(ends), subjects=subjects) for each in COMPARED]
