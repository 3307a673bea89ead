"""Charts as SVG: a line over time, a bar for a share, an interval around zero. The stylesheet sets the colours.

Each chart has one series, with a title and a label at its end, so that nothing depends on distinguishing colours.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import floor, log10

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

WIDTH, HEIGHT = 300, 120  # in SVG units; the drawing scales to its container
LEFT, RIGHT, TOP, BOTTOM = 4, 48, 14, 20  # margins; labels are to the right of the line and below it
BAR = 200

Point = tuple[str, float | None]  # label and value; None breaks the line
FormatValue = Callable[[float], str]


def draw_line(
    title: str, points: Sequence[Point], format_value: FormatValue, markers: Mapping[int, str] | None = None
) -> SafeString:
    """Return a line chart from zero up, with equally spaced points. `format_value` formats a value.

    `markers` are vertical lines at some points, each with a label: {index of the point: label}.
    """
    top = _round_up(max((value for _, value in points if value is not None), default=0))
    positions = list(zip(_iter_x(len(points)), points, strict=True))
    drawn = [
        (x, _scale_y(value, top), label, format_value(value)) for x, (label, value) in positions if value is not None
    ]
    return format_html(
        '<svg class="line-chart" viewBox="0 0 {} {}" role="img" aria-label="{}">{}{}{}{}{}{}</svg>',
        *(WIDTH, HEIGHT, _describe(title, points, format_value) + _describe_markers(points, markers or {})),
        _draw_axis(top, format_value),
        _draw_markers(positions, markers or {}),
        format_html_join("", '<path class="chart-line" d="{}"/>', ((path,) for path in _iter_paths(positions, top))),
        format_html_join(
            "",
            '<circle class="chart-point" cx="{}" cy="{}" r="2.5"><title>{}: {}</title></circle>',
            drawn,
        ),
        format_html_join(
            "",
            '<text class="chart-last" x="{}" y="{}">{}</text>',
            ((round(x + 7, 1), round(y + 4, 1), value) for x, y, _, value in drawn[-1:]),
        ),
        _draw_end_labels(points),
    )


def draw_bar(share: float) -> SafeString:
    """Return a bar filled to a share of 0 to 1. Hidden from screen readers: the share is also shown as text."""
    return format_html(
        '<svg class="chart-bar" viewBox="0 0 {} 12" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="chart-track" width="{}" height="12"/><rect class="chart-fill" width="{}" height="12"/></svg>',
        *(BAR, BAR, round(BAR * share, 1)),
    )


def draw_interval(low: float, high: float, limit: float) -> SafeString:
    """Return an interval as a bar on an axis from -`limit` to `limit`, with a line at zero in the middle."""
    scale = BAR / 2 / limit
    left, right = (BAR / 2 + max(-limit, min(limit, value)) * scale for value in (low, high))
    return format_html(
        '<svg class="chart-bar" viewBox="0 0 {} 12" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="chart-fill" x="{}" y="3" width="{}" height="6"/>'
        '<rect class="chart-zero" x="{}" width="1.5" height="12"/></svg>',
        *(BAR, round(left, 1), round(max(1.5, right - left), 1), BAR / 2 - 0.75),
    )


def _iter_x(number: int) -> Iterator[float]:
    room = WIDTH - LEFT - RIGHT
    yield from (round(LEFT + room * place / max(1, number - 1), 1) for place in range(number))


def _scale_y(value: float, top: float) -> float:
    return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / top, 1)


def _iter_paths(positions: Sequence[tuple[float, Point]], top: float) -> Iterator[str]:
    """Yield an SVG path for each unbroken part of the line."""
    stretch = ""
    for x, (_, value) in positions:
        if value is not None:
            stretch += f"{'L' if stretch else 'M'}{x} {_scale_y(value, top)}"
        elif stretch:
            yield stretch
            stretch = ""
    if stretch:
        yield stretch


def _draw_axis(top: float, format_value: FormatValue) -> SafeString:
    """Return the grid lines at zero and at the top, the top one with its value."""
    ends = [(_scale_y(value, top), value) for value in (0, top)]
    lines = format_html_join(
        "",
        '<line class="chart-grid" x1="{}" x2="{}" y1="{}" y2="{}"/>',
        ((LEFT, WIDTH - RIGHT, y, y) for y, _ in ends),
    )
    return format_html('{}<text class="chart-label" x="{}" y="{}">{}</text>', lines, LEFT, TOP - 2, format_value(top))


def _draw_markers(positions: Sequence[tuple[float, Point]], markers: Mapping[int, str]) -> SafeString:
    """Return the markers. Their labels alternate between two heights, so that neighbours do not cover each other."""
    marked = [(x, label, markers[index]) for index, (x, (label, _)) in enumerate(positions) if index in markers]
    return format_html_join(
        "",
        '<line class="chart-marker" x1="{0}" x2="{0}" y1="{1}" y2="{2}"><title>{4}: {5}</title></line>'
        '<text class="chart-marker-label" x="{6}" y="{3}">{5}</text>',
        (
            (x, TOP, HEIGHT - BOTTOM, TOP + 8 + 10 * (number % 2), label, text, x + 3)
            for number, (x, label, text) in enumerate(marked)
        ),
    )


def _describe_markers(points: Sequence[Point], markers: Mapping[int, str]) -> str:
    return "".join(f"; {text} went live on {points[index][0]}" for index, text in sorted(markers.items()))


def _draw_end_labels(points: Sequence[Point]) -> SafeString:
    if not points:
        return SafeString("")
    return format_html(
        '<text class="chart-label" x="{}" y="{}">{}</text>'
        '<text class="chart-label" x="{}" y="{}" text-anchor="end">{}</text>',
        *(LEFT, HEIGHT - 5, points[0][0]),
        *(WIDTH - RIGHT, HEIGHT - 5, points[-1][0]),
    )


def _describe(title: str, points: Sequence[Point], format_value: FormatValue) -> str:
    values = [value for _, value in points if value is not None]
    if not values:
        return f"{title}: no data from {points[0][0]} to {points[-1][0]}" if points else title
    return f"{title} from {points[0][0]} to {points[-1][0]}: {format_value(min(values))} to {format_value(max(values))}"


def _round_up(value: float) -> float:
    """Return the next higher 1, 2 or 5 times a power of ten; 1 for zero."""
    if value < sys.float_info.min:  # subnormal floats included, which are too small to divide by
        return 1
    power = 10.0 ** floor(log10(value))
    return power * next((step for step in (1, 2, 5) if value <= power * step), 10)
