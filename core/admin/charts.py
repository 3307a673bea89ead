"""Charts of the console: bars as SVG, and lines over days for Chart.js with a table of the same values.

The page also writes each value as text, so that nothing depends on seeing a bar.

`static/console/line_chart.js` draws them and the template `console/line_chart.html` shows both.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Any
from zlib import crc32

from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString

BAND = 100  # height of a band, in SVG units
BAR = 200  # width in SVG units; the drawing scales to its container
MIN_INTERVAL = 3  # of an interval, so that it can be seen
TABLE_HINT = "The table below has all values."
FormatValue = Callable[[float], str]


def draw_bar(share: float) -> SafeString:
    """Return a bar filled to a share of 0 to 1. Hidden from screen readers: the share is also shown as text."""
    return format_html(
        '<svg class="chart-bar" viewBox="0 0 {} 12" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="chart-track" width="{}" height="12"/><rect class="chart-fill" width="{}" height="12"/></svg>',
        BAR,
        BAR,
        round(BAR * share, 1),
    )


def draw_interval(low: float, high: float, limit: float, *, kind: str = "none") -> SafeString:
    """Return an interval as a bar on an axis from -`limit` to `limit`, with a line at zero in the middle.

    `kind` is the end of its class in report.css: better, worse or none.
    """
    scale = BAR / 2 / limit
    left, right = (BAR / 2 + max(-limit, min(limit, value)) * scale for value in (low, high))
    width = max(MIN_INTERVAL, right - left)
    return format_html(
        '<svg class="chart-bar" viewBox="0 0 {} 12" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="chart-interval--{}" x="{}" y="3" width="{}" height="6"/>'
        '<rect class="chart-zero" x="{}" width="1.5" height="12"/></svg>',
        BAR,
        kind,
        round(min(left, BAR - width), 1),  # one beyond the axis is a mark at its edge
        round(width, 1),
        BAR / 2 - 0.75,
    )


def draw_band(points: Sequence[tuple[float, float, float]], limit: float) -> SafeString:
    """Return a line within its band over time, beside a line at zero; evenly spaced from left to right.

    `points` are (low, value, high), on an axis from -`limit` to `limit`. What is beyond it is cut off.
    """
    step = BAR / max(1, len(points) - 1)

    def place(number: int, value: float) -> str:
        height = BAND / 2 - max(-limit, min(limit, value)) * BAND / 2 / limit
        return f"{number * step:.1f},{height:.1f}"

    lows = [place(number, low) for number, (low, _, _) in enumerate(points)]
    values = [place(number, value) for number, (_, value, _) in enumerate(points)]
    highs = [place(number, high) for number, (_, _, high) in enumerate(points)]
    return format_html(
        '<svg class="chart-band" viewBox="0 0 {} {}" preserveAspectRatio="none" aria-hidden="true">'
        '<polygon class="chart-band-area" points="{}"/>'
        '<line class="chart-band-zero" x1="0" x2="{}" y1="{}" y2="{}"/>'
        '<polyline class="chart-band-line" points="{}"/></svg>',
        BAR,
        BAND,
        " ".join([*highs, *reversed(lows)]),
        BAR,
        BAND / 2,
        BAND / 2,
        " ".join(values),
    )


def draw_span(start: float, length: float, *, is_failed: bool = False) -> SafeString:
    """Return a bar for a part of a whole, such as of a turn: where it starts and how long it is, as shares of 0 to 1.

    A short one is wide enough to be seen.
    """
    width = max(3.0, BAR * min(length, 1 - start))
    return format_html(
        '<svg class="chart-bar" viewBox="0 0 {} 12" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="chart-track" y="5" width="{}" height="2"/>'
        '<rect class="{}" x="{}" width="{}" height="12"/></svg>',
        BAR,
        BAR,
        "chart-failed" if is_failed else "chart-fill",
        round(min(BAR * start, BAR - width), 1),
        round(width, 1),
    )


class LineColor(StrEnum):
    """A colour, by its name in report.css, which has one for each theme. They also differ for colour-blind people."""

    MAIN = "main"
    FAINT = "faint"  # what the line is compared with: the period before, or everyone else
    BLUE = "blue"
    ORANGE = "orange"
    GREEN = "green"
    PURPLE = "purple"


NAMED_COLORS = (LineColor.BLUE, LineColor.ORANGE, LineColor.GREEN, LineColor.PURPLE)


class AxisUnit(StrEnum):
    """How the numbers of the vertical axis are written."""

    NUMBER = "number"
    PERCENT = "percent"


@dataclass(frozen=True, slots=True)
class ChartLine:
    """A line with a value for each day; None where there is none. `links` lead to the rows behind each value."""

    name: str
    values: Sequence[float | None]
    color: LineColor = LineColor.MAIN
    links: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ChartMarker:
    """Something that happened on a day: a few characters for the chart, and a sentence for the table."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class LineChart:
    """A chart of some consecutive days. Unless it `is_over`, the last day is today in UTC, so its part is dashed."""

    name: str  # unique on the page
    title: str  # with its unit: "Failed calls, % of calls"
    axis: str  # title of the vertical axis
    days: Sequence[date]
    lines: Sequence[ChartLine]  # the first one is in front
    format_value: FormatValue
    unit: AxisUnit = AxisUnit.NUMBER
    markers: Mapping[int, Sequence[ChartMarker]] | None = None  # {index of the day: markers}
    is_over: bool = False
    is_bare: bool = False  # the page has its title, its days, its legend and its table

    @property
    def element_id(self) -> str:
        """The id of the element with the data."""
        return f"chart-{self.name}"

    @property
    def period(self) -> str:
        """The first and the last day."""
        return f"{_format_day(self.days[0])} to {_format_day(self.days[-1])} {self.days[-1].year}"

    @property
    def has_values(self) -> bool:
        """Whether any line has a value."""
        return any(value is not None for line in self.lines for value in line.values)

    @property
    def description(self) -> str:
        """What the chart shows, for people who cannot see it."""
        spans = "; ".join(f"{line.name}, {self._describe_span(line)}" for line in self.lines)
        return f"Line chart: {self.title}, {self.period}. {spans}. {TABLE_HINT}"

    def build_data(self) -> dict[str, Any]:
        """Return what the script needs to draw the chart."""
        return {
            "days": [_format_day(day) for day in self.days],
            "dayAxis": "" if self.is_bare else "Day (UTC)",
            "axis": "" if self.is_bare else self.axis,
            "isOver": self.is_over,
            "unit": self.unit,
            "lines": [
                {
                    "name": line.name,
                    "color": line.color,
                    "values": line.values,
                    "texts": [self._format(value) for value in line.values],
                    "links": line.links,
                }
                for line in self.lines
            ],
            "markers": [
                {"index": index, "labels": [each.label for each in each_day], "texts": [each.text for each in each_day]}
                for index, each_day in sorted((self.markers or {}).items())
            ],
        }

    def build_rows(self) -> list[dict[str, Any]]:
        """Return the rows of the table, the newest day first."""
        rows = [
            {
                "day": _format_day(day),
                "cells": [
                    {"text": self._format(line.values[index]), "link": line.links[index] if line.links else ""}
                    for line in self.lines
                ],
                "events": "; ".join(each.text for each in (self.markers or {}).get(index, ())),
            }
            for index, day in enumerate(self.days)
        ]
        if not self.is_over:
            rows[-1]["day"] = f"{rows[-1]['day']} (not over)"
        return rows[::-1]

    def _format(self, value: float | None) -> str:
        return "–" if value is None else self.format_value(value)

    def _describe_span(self, line: ChartLine) -> str:
        values = [value for value in line.values if value is not None]
        return f"{self.format_value(min(values))} to {self.format_value(max(values))}" if values else "no data"


def choose_color(name: str, *, not_color: LineColor | None = None) -> LineColor:
    """Return the colour of a named thing: the same one wherever it is shown, unless its neighbour has that one."""
    place = crc32(name.encode()) % len(NAMED_COLORS)
    if NAMED_COLORS[place] == not_color:
        place = (place + 1) % len(NAMED_COLORS)
    return NAMED_COLORS[place]


def _format_day(day: date) -> str:
    return date_format(day, "j M")
