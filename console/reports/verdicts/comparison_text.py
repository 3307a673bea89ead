"""Comparisons in words: rates, differences in percentage points, and their intervals."""

from analytics.reports.comparison import MIN_SAMPLE, ComparisonVerdict, MetricComparison, Proportion
from analytics.reports.confidence_intervals import ConfidenceInterval
from console.reports import tables


def format_share(share: Proportion) -> str:
    return "–" if share.rate is None else f"{tables.format_rate(share.rate)} of {tables.format_count(share.total)}"


def describe_comparison(each: MetricComparison) -> str:
    """Return the difference between the sides in words, or how much data is missing."""
    if each.interval is None:
        smaller_sample = min(each.first.total, each.second.total)
        wait_text = f"; about {each.days_to_wait} more days" if each.days_to_wait else ""
        return f"Not enough data: {smaller_sample} of {MIN_SAMPLE} {each.metric.denominator}{wait_text}."
    if each.verdict == ComparisonVerdict.NONE:
        low, high = (format_signed(end, each.interval) for end in each.interval)
        return f"No significant difference: between {low} and {high} points."
    return f"{'Better' if each.verdict == ComparisonVerdict.BETTER else 'Worse'}: {describe_range(each.interval)}"


def describe_range(interval: ConfidenceInterval) -> str:
    """Describe the distance from zero of an interval that does not contain zero."""
    return f"{format_distances(interval)} points {'lower' if interval.high < 0 else 'higher'}."


def format_distances(interval: ConfidenceInterval) -> str:
    """Return the distances from zero of both ends of an interval that does not contain zero, the nearer one first."""
    near, far = sorted(abs(end) for end in interval)
    nearer = format_magnitude(near, interval)
    return f"{nearer if float(nearer) else 'less than 0.1'} to {format_magnitude(far, interval)}"


def format_points(difference: float, interval: ConfidenceInterval) -> str:
    return f"{format_signed(difference, interval)} points"


def format_signed(value: float, interval: ConfidenceInterval) -> str:
    magnitude = format_magnitude(abs(value), interval)
    return magnitude if not float(magnitude) else f"{'−' if value < 0 else '+'}{magnitude}"


def format_magnitude(value: float, interval: ConfidenceInterval) -> str:
    """Return percentage points, with a decimal if the interval is narrower than 10 points or ends close to zero."""
    is_narrow = interval.high - interval.low < 0.1 or min(abs(end) for end in interval) < 0.01
    return f"{value * 100:.{1 if is_narrow else 0}f}"
