"""Charts as SVG: a line over time, a bar for a share, an interval around zero. The stylesheet sets the colours.

Each chart has one series, with a title and a label at its end, so that nothing depends on distinguishing colours.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from math import floor, log10

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

WIDTH, HEIGHT = 300, 120  # in SVG units; the drawing scales to its container
LEFT, RIGHT, TOP, BOTTOM = 4, 48, 14, 20  # margins; labels are to the right of the line and below it
BAR = 200

Point = tuple[str, float | None]  # label and value; None breaks the line
Told = Callable[[float], str]


def line(title: str, points: Sequence[Point], told: Told) -> SafeString:
    """Return a line chart from zero up, with equally spaced points. `format_value` formats a value."""
    top = _ceiling(max((value for _, value in points if value is not None), default=0))
    places = list(zip(_xs(len(points)), points, strict=True))
    there = [(x, _y(value, top), label, told(value)) for x, (label, value) in places if value is not None]
    return format_html(
        '<svg class="line-chart" viewBox="0 0 {} {}" role="img" aria-label="{}">{}{}{}{}{}</svg>',
        *(WIDTH, HEIGHT, _summary(title, points, told)),
        _axis(top, told),
        format_html_join("", '<path class="chart-line" d="{}"/>', ((path,) for path in _paths(places, top))),
        format_html_join(
            "",
            '<circle class="chart-point" cx="{}" cy="{}" r="2.5"><title>{}: {}</title></circle>',
            there,
        ),
        format_html_join(
            "",
            '<text class="chart-last" x="{}" y="{}">{}</text>',
            ((round(x + 7, 1), round(y + 4, 1), value) for x, y, _, value in there[-1:]),
        ),
        _ends(points),
    )


def bar(share: float) -> SafeString:
    """Return a bar filled to a share of 0 to 1. Hidden from screen readers: the share is also shown as text."""
    return format_html(
        '<svg class="chart-bar" viewBox="0 0 {} 12" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="chart-rest" width="{}" height="12"/><rect class="chart-part" width="{}" height="12"/></svg>',
        *(BAR, BAR, round(BAR * share, 1)),
    )


def interval(low: float, high: float, most: float) -> SafeString:
    """Return an interval as a bar on an axis from -`limit` to `limit`, with a line at zero in the middle."""
    scale = BAR / 2 / most
    left, right = (BAR / 2 + max(-most, min(most, value)) * scale for value in (low, high))
    return format_html(
        '<svg class="chart-bar" viewBox="0 0 {} 12" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="chart-part" x="{}" y="3" width="{}" height="6"/>'
        '<rect class="chart-nought" x="{}" width="1.5" height="12"/></svg>',
        *(BAR, round(left, 1), round(max(1.5, right - left), 1), BAR / 2 - 0.75),
    )


def _xs(number: int) -> Iterator[float]:
    room = WIDTH - LEFT - RIGHT
    yield from (round(LEFT + room * place / max(1, number - 1), 1) for place in range(number))


def _y(value: float, top: float) -> float:
    return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / top, 1)


def _paths(places: Sequence[tuple[float, Point]], top: float) -> Iterator[str]:
    """Yield an SVG path for each unbroken part of the line."""
    stretch = ""
    for x, (_, value) in places:
        if value is not None:
            stretch += f"{'L' if stretch else 'M'}{x} {_y(value, top)}"
        elif stretch:
            yield stretch
            stretch = ""
    if stretch:
        yield stretch


def _axis(top: float, told: Told) -> SafeString:
    """Return the grid lines at zero and at the top, the top one with its value."""
    ends = [(_y(value, top), value) for value in (0, top)]
    lines = format_html_join(
        "",
        '<line class="chart-grid" x1="{}" x2="{}" y1="{}" y2="{}"/>',
        ((LEFT, WIDTH - RIGHT, y, y) for y, _ in ends),
    )
    return format_html('{}<text class="chart-label" x="{}" y="{}">{}</text>', lines, LEFT, TOP - 2, told(top))


def _ends(points: Sequence[Point]) -> SafeString:
    if not points:
        return SafeString("")
    return format_html(
        '<text class="chart-label" x="{}" y="{}">{}</text>'
        '<text class="chart-label" x="{}" y="{}" text-anchor="end">{}</text>',
        *(LEFT, HEIGHT - 5, points[0][0]),
        *(WIDTH - RIGHT, HEIGHT - 5, points[-1][0]),
    )


def _summary(title: str, points: Sequence[Point], told: Told) -> str:
    values = [value for _, value in points if value is not None]
    if not values:
        return f"{title}: no data from {points[0][0]} to {points[-1][0]}" if points else title
    return f"{title} from {points[0][0]} to {points[-1][0]}: {told(min(values))} to {told(max(values))}"


def _ceiling(value: float) -> float:
    """Return the next higher 1, 2 or 5 times a power of ten; 1 for zero."""
    if value < sys.float_info.min:  # subnormal floats included, which are too small to divide by
        return 1
    power = 10.0 ** floor(log10(value))
    return power * next((step for step in (1, 2, 5) if value <= power * step), 10)
