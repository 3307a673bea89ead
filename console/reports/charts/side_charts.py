"""Charts of two cohorts or two releases, day by day. Each keeps its colour on every page."""

from collections.abc import Callable, Sequence

from django.http import HttpRequest

from analytics.reports import totals
from analytics.reports.report_filter import NO_COHORT, ReportFilter
from analytics.reports.totals import Totals
from console.reports import tables
from console.reports.charts.chart_markers import list_markers
from console.reports.report_query import label_values
from core.admin.charts import AxisUnit, ChartLine, LineChart, LineColor, choose_color

CHARTED_RATES: tuple[tuple[str, str, str, Callable[[Totals], float | None]], ...] = (
    ("failure", "Failure rate, % of calls", "% of calls", lambda each: each.failure_rate),
    (
        *("success", "Turns with a successful call, % of turns with a call", "% of turns with a call"),
        lambda each: each.success_rate,
    ),
)


def build_side_charts(request: HttpRequest, scope: ReportFilter, by: str, pair: Sequence[str]) -> list[LineChart]:
    """Return a line chart of each rate with a line for each side."""
    days_by_side = [totals.sum_by_day(scope.narrow(by, name)) for name in pair]
    days = list(days_by_side[0])
    markers, labels = list_markers(request, days), label_values(by, pair)
    return [
        LineChart(
            name=name,
            title=title,
            axis=axis,
            days=days,
            lines=[
                ChartLine(labels[side], [rate(each) for each in totals_by_day.values()], color)
                for side, totals_by_day, color in zip(pair, days_by_side, choose_side_colors(pair), strict=True)
            ],
            format_value=tables.format_rate,
            unit=AxisUnit.PERCENT,
            markers=markers,
        )
        for name, title, axis, rate in CHARTED_RATES
    ]


def choose_side_colors(pair: Sequence[str]) -> list[LineColor]:
    """Return a colour for each side; users in no cohort are what a cohort is compared with."""
    colors: list[LineColor] = []
    for name in pair:
        colors.append(LineColor.FAINT if name == NO_COHORT else choose_color(name, not_color=next(iter(colors), None)))
    return colors
