"""Bars as SVG: a share, and an interval around zero. The stylesheet sets the colours.

The page also writes each value as text, so that nothing depends on seeing a bar.
"""

from django.utils.html import format_html
from django.utils.safestring import SafeString

BAR = 200  # width in SVG units; the drawing scales to its container


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


def draw_span(start: float, length: float, *, is_failed: bool = False) -> SafeString:
    """Return a bar for a part of a whole, such as of a turn: where it starts and how long it is, as shares of 0 to 1.

    A short one is wide enough to be seen.
    """
    width = max(3.0, BAR * min(length, 1 - start))
    return format_html(
        '<svg class="chart-bar" viewBox="0 0 {} 12" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="chart-track" y="5" width="{}" height="2"/>'
        '<rect class="{}" x="{}" width="{}" height="12"/></svg>',
        *(BAR, BAR, "chart-failed" if is_failed else "chart-fill", round(min(BAR * start, BAR - width), 1)),
        round(width, 1),
    )
