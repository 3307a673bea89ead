"""Figures of metrics in words."""

from analytics.experiments.metrics import Metric, MetricUnit

MINUS = "−"
_SUFFIXES = {MetricUnit.SHARE: " points", MetricUnit.MILLISECONDS: " ms", MetricUnit.TOKENS: " tokens"}


def format_value(metric: Metric, value: float | None) -> str:
    """Return a figure with its unit: "12.3%", "0.21", "38 ms", "1,204 tokens", "$0.0021"; "–" if there is none."""
    return "–" if value is None else _format(metric.unit, value, places=_find_places(metric, value))


def format_with_unit(metric: Metric, value: float | None) -> str:
    """Return a share and what it is of: "12.3% of calls"; any other figure as it is, since its title says of what."""
    share_of = f" of {metric.of}" if metric.unit == MetricUnit.SHARE else ""
    return f"{format_value(metric, value)}{share_of}"


def format_difference(metric: Metric, value: float, *, signed: bool = True) -> str:
    """Return a difference: "−3.1 points", "+0.04", "−12 ms". Shares differ by percentage points."""
    places = _find_places(metric, value)
    text = _format_amount(metric.unit, abs(value), places)
    return f"{MINUS if value < 0 else '+'}{text}" if signed and value else text


def format_range(metric: Metric, low: float, high: float, *, signed: bool = True, with_unit: bool = False) -> str:
    """Return an interval: "−5.0 to +1.2", without signs "1.2 to 5.0", with its unit "1.2 to 5.0 points"."""
    ends = [format_difference(metric, end, signed=signed) for end in (low, high)]
    suffix = _SUFFIXES.get(metric.unit, "")
    return f"{ends[0].removesuffix(suffix)} to {ends[1] if with_unit else ends[1].removesuffix(suffix)}"


def _find_places(metric: Metric, value: float) -> int:
    match metric.unit:
        case MetricUnit.SHARE:
            return 1 if abs(value) < 0.995 else 0
        case MetricUnit.RATE:
            return 2
        case MetricUnit.DOLLARS:
            return 4
        case _:
            return 0 if abs(value) >= 10 else 1


def _format(unit: MetricUnit, value: float, *, places: int) -> str:
    if unit == MetricUnit.SHARE:
        return f"{value:.{places}%}"
    return _format_amount(unit, value, places)


def _format_amount(unit: MetricUnit, value: float, places: int) -> str:
    if unit == MetricUnit.DOLLARS:
        return f"${value:,.{places}f}"
    text = f"{value * (100 if unit == MetricUnit.SHARE else 1):,.{places}f}"
    return text + _SUFFIXES.get(unit, "")
