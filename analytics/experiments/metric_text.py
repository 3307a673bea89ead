"""Figures of metrics in words."""

from analytics.experiments.metrics import Metric, Unit

MINUS = "−"


def format_value(metric: Metric, value: float | None) -> str:
    """Return a figure with its unit: "12.3%", "0.21", "38 ms", "1,204 tokens", "$0.0021"; "–" if there is none."""
    return "–" if value is None else _format(metric.unit, value, places=_find_places(metric, value))


def format_difference(metric: Metric, value: float, *, signed: bool = True) -> str:
    """Return a difference: "−3.1 points", "+0.04", "−12 ms". Shares differ by percentage points."""
    places = _find_places(metric, value)
    text = _format_amount(metric.unit, abs(value), places)
    return f"{MINUS if value < 0 else '+'}{text}" if signed else text


def _find_places(metric: Metric, value: float) -> int:
    match metric.unit:
        case Unit.SHARE:
            return 1 if abs(value) < 0.995 else 0
        case Unit.RATE:
            return 2
        case Unit.DOLLARS:
            return 4
        case _:
            return 0 if abs(value) >= 10 else 1


def _format(unit: Unit, value: float, *, places: int) -> str:
    if unit == Unit.SHARE:
        return f"{value:.{places}%}"
    return _format_amount(unit, value, places)


def _format_amount(unit: Unit, value: float, places: int) -> str:
    if unit == Unit.DOLLARS:
        return f"${value:,.{places}f}"
    text = f"{value * (100 if unit == Unit.SHARE else 1):,.{places}f}"
    suffix = {Unit.SHARE: " points", Unit.MILLISECONDS: " ms", Unit.TOKENS: " tokens"}.get(unit, "")
    return text + suffix
