"""Report: calls, failures, repairs, unknown names and loops, day by day."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import NamedTuple

from django.http import HttpRequest
from django.utils.text import slugify

from analytics.events.event_filters import CountedAs
from analytics.experiments.cohorts import comparison
from analytics.reports import totals
from analytics.reports.report_filter import NO_COHORT, ReportFilter
from analytics.reports.totals import Totals
from analytics.turns.models import Feedback, TurnWith
from console.reports.parts import report_query, tables
from console.reports.parts.charts import list_markers
from console.reports.parts.report_content import ReportContent, ReportFigure
from console.reports.parts.report_query import ReportQuery
from console.reports.parts.tables import ReportCell, ReportColumn, ReportTable
from console.reports.parts.verdicts import VerdictBox, build_period_summary, build_sides_verdict
from core.admin.charts import AxisUnit, ChartLine, ChartMarker, LineChart, LineColor

LEAD = "Calls and turns, day by day, in UTC. Click a point to open the rows behind it."


def build_report(request: HttpRequest) -> ReportContent:
    """Show totals and charts of the period, and a table by day."""
    query = ReportQuery(request)
    days = totals.sum_by_day(query.scope)
    total = sum(days.values(), start=Totals())
    markers = list_markers(request, list(days), cohort=query.scope.cohort.removeprefix(NO_COHORT))
    period = _Period(days, totals.sum_by_day(query.scope.move_back()), markers)
    before = sum(period.before.values(), start=Totals())
    return ReportContent(
        query=query,
        lead=LEAD,
        verdict=_build_verdict(query.scope, total, before) if total.calls else None,
        figures=_build_figures(query.scope, period, total),
        tables=[_build_table(query.scope, period)],
        is_empty=not (total.calls or total.turns),
    )


def _build_verdict(scope: ReportFilter, total: Totals, before: Totals) -> VerdictBox:
    """Return the verdict on a cohort against everyone else, or else the rates of the period and of that before."""
    if scope.cohort in ("", NO_COHORT):
        return build_period_summary(scope, total, before)
    everyone = scope.narrow("cohort", "")
    pair = NO_COHORT, scope.cohort
    comparisons = comparison.compare_sides(everyone, "cohort", pair, totals.sum_by_value(everyone, "cohort"))
    return build_sides_verdict("cohort", pair, comparisons)


class _Period(NamedTuple):
    """The totals of each day and of the same number of days before, and what happened."""

    days: Mapping[date, Totals]
    before: Mapping[date, Totals]
    markers: Mapping[int, Sequence[ChartMarker]]


class _Turns(NamedTuple):
    """The turns that a figure counts: those that contain something, or all."""

    contains: TurnWith | None


_Counted = CountedAs | _Turns | Feedback.Thumb


def _build_figures(scope: ReportFilter, period: _Period, total: Totals) -> list[ReportFigure]:
    def build_figure(
        title: str,
        value: Callable[[Totals], float | None],
        formatter: tables.Formatter,
        of: str,
        counted: _Counted,
    ) -> ReportFigure:
        whole = value(total)
        chart = _build_chart(title, scope, period, value, formatter, counted)
        link = _link_rows(scope, counted)
        return ReportFigure(title, "–" if whole is None else formatter(whole), of, link, chart)

    count = tables.format_count
    ratings = [
        build_figure(
            "Thumbs up",
            value=lambda each: each.thumbs_up_rate,
            formatter=tables.format_rate,
            of=f"{count(total.thumbs_up)} of {count(total.rated)} ratings",
            counted=Feedback.Thumb.UP,
        )
    ]
    return [
        build_figure("Calls", lambda each: each.calls, count, "in the period", CountedAs.CALLS),
        build_figure(
            "Failure rate",
            value=lambda each: each.failure_rate,
            formatter=tables.format_rate,
            of=f"{count(total.failed)} of {count(total.calls)} calls",
            counted=CountedAs.FAILED,
        ),
        build_figure(
            "Repair rate",
            value=lambda each: each.repair_rate,
            formatter=tables.format_rate,
            of=f"{count(total.repaired)} of {count(total.failed)} failed calls",
            counted=CountedAs.REPAIRED,
        ),
        build_figure("Turns", lambda each: each.turns, count, "in which the model used the gateway", _Turns(None)),
        build_figure(
            "Unknown names",
            value=lambda each: each.unknown_per_thousand,
            formatter=tables.format_mean,
            of=f"per 1,000 calls, {count(total.unknown_names)} in all",
            counted=CountedAs.UNKNOWN_NAMES,
        ),
        build_figure(
            "Turns with a loop",
            value=lambda each: each.loop_rate,
            formatter=tables.format_rate,
            of=f"{count(total.looping)} of {count(total.turns)} turns",
            counted=_Turns(TurnWith.LOOP),
        ),
        *(ratings if total.rated else []),
    ]


def _link_rows(scope: ReportFilter, counted: _Counted, day: date | None = None) -> str:
    if isinstance(counted, _Turns):
        return report_query.to_turns(scope, counted.contains, day=day)
    if isinstance(counted, Feedback.Thumb):
        return report_query.to_feedback(scope, {"thumb__exact": counted.value}, day=day)
    return report_query.to_events(scope, counted, day=day)


def _build_chart(
    title: str,
    scope: ReportFilter,
    period: _Period,
    value: Callable[[Totals], float | None],
    formatter: tables.Formatter,
    counted: _Counted,
) -> LineChart:
    def build_line(name: str, days: Mapping[date, Totals], color: LineColor) -> ChartLine:
        return ChartLine(
            name, [value(each) for each in days.values()], color, [_link_rows(scope, counted, day) for day in days]
        )

    lines = [build_line("This period", period.days, LineColor.MAIN)]
    if any(each.calls or each.turns for each in period.before.values()):
        lines.append(build_line(f"{len(period.days)} days before", period.before, LineColor.FAINT))
    return LineChart(
        name=slugify(title),
        title=title,
        axis=title,
        days=list(period.days),
        lines=lines,
        format_value=formatter,
        unit=AxisUnit.PERCENT if formatter is tables.format_rate else AxisUnit.NUMBER,
        markers=period.markers,
        is_over=scope.is_over,
        is_bare=True,
    )


def _build_table(scope: ReportFilter, period: _Period) -> ReportTable:
    columns = [
        ReportColumn("Day"),
        ReportColumn("Calls", tables.format_count),
        ReportColumn("Failed", tables.format_count),
        ReportColumn("Failure rate", tables.format_rate),
        ReportColumn("Repaired", tables.format_count),
        ReportColumn("Repair rate", tables.format_rate),
        ReportColumn("Turns", tables.format_count),
        ReportColumn("Unknown names", tables.format_count),
        ReportColumn("Per 1,000 calls", tables.format_mean),
        ReportColumn("Turns with a loop", tables.format_count),
        ReportColumn("What happened"),
    ]
    rows = [
        [
            *_build_cells(scope, day, each),
            ReportCell("; ".join(marker.text for marker in period.markers.get(index, ()))),
        ]
        for index, (day, each) in enumerate(period.days.items())
    ]
    return ReportTable("days", "Day by day", columns, rows[::-1], is_folded=True)


def _build_cells(scope: ReportFilter, day: date, each: Totals) -> list[ReportCell]:
    return [
        ReportCell(day.isoformat()),
        ReportCell(each.calls, report_query.to_events(scope, CountedAs.CALLS, day=day)),
        ReportCell(each.failed, report_query.to_events(scope, CountedAs.FAILED, day=day)),
        ReportCell(each.failure_rate),
        ReportCell(each.repaired, report_query.to_events(scope, CountedAs.REPAIRED, day=day)),
        ReportCell(each.repair_rate),
        ReportCell(each.turns, report_query.to_turns(scope, day=day)),
        ReportCell(each.unknown_names, report_query.to_events(scope, CountedAs.UNKNOWN_NAMES, day=day)),
        ReportCell(each.unknown_per_thousand),
        ReportCell(each.looping, report_query.to_turns(scope, TurnWith.LOOP, day=day)),
    ]
