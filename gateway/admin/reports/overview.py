"""Report: calls, failures, repairs, unknown names and loops, day by day."""

from collections.abc import Callable, Mapping
from datetime import date

from django.http import HttpRequest
from django.utils.formats import date_format
from django.utils.safestring import SafeString

from analytics.events.event_filters import CountedAs
from analytics.reports import row_links, totals
from analytics.reports.report_filter import ReportFilter
from analytics.reports.totals import Totals
from analytics.turns.turn_filters import TurnWith
from core import charts
from gateway.admin.reports import tables
from gateway.admin.reports.release_markers import list_markers
from gateway.admin.reports.report_content import ReportContent, ReportFigure
from gateway.admin.reports.report_query import ReportQuery
from gateway.admin.reports.tables import ReportCell, ReportColumn, ReportTable

LEAD = "Calls and turns in the period, day by day. Days in UTC; today is incomplete."


def build_report(request: HttpRequest) -> ReportContent:
    """Show totals and charts of the period, and a table by day."""
    query = ReportQuery(request)
    days = totals.sum_by_day(query.scope)
    total = sum(days.values(), start=Totals())
    return ReportContent(
        query=query,
        lead=LEAD,
        figures=_build_figures(query.scope, days, total),
        tables=[_build_table(query.scope, days)],
        is_empty=not (total.calls or total.turns),
    )


def _build_figures(scope: ReportFilter, days: Mapping[date, Totals], total: Totals) -> list[ReportFigure]:
    markers = list_markers(list(days))

    def build_figure(
        title: str,
        value: Callable[[Totals], float | None],
        formatter: tables.Formatter,
        of: str,
        link: str,
        chart: str = "",
    ) -> ReportFigure:
        whole = value(total)
        drawn = _draw_chart(chart or title, days, value, formatter, markers)
        return ReportFigure(title, "–" if whole is None else formatter(whole), of, link, drawn)

    count = tables.format_count
    return [
        build_figure("Calls", lambda each: each.calls, count, "", row_links.to_events(scope, CountedAs.CALLS)),
        build_figure(
            *("Failure rate", lambda each: each.failure_rate, tables.format_rate),
            *(f"{count(total.failed)} of {count(total.calls)} calls", row_links.to_events(scope, CountedAs.FAILED)),
        ),
        build_figure(
            *("Repair rate", lambda each: each.repair_rate, tables.format_rate),
            *(
                f"{count(total.repaired)} of {count(total.failed)} failed calls",
                row_links.to_events(scope, CountedAs.REPAIRED),
            ),
        ),
        build_figure("Turns", lambda each: each.turns, count, "", row_links.to_turns(scope)),
        build_figure(
            *("Unknown names", lambda each: each.unknown_per_thousand, tables.format_mean),
            *(
                f"per 1,000 calls, {count(total.unknown_names)} in all",
                row_links.to_events(scope, CountedAs.UNKNOWN_NAMES),
            ),
            "Unknown names per 1,000 calls",
        ),
        build_figure(
            *("Turns with a loop", lambda each: each.loop_rate, tables.format_rate),
            *(f"{count(total.looping)} of {count(total.turns)} turns", row_links.to_turns(scope, TurnWith.LOOP)),
        ),
    ]


def _draw_chart(
    title: str,
    days: Mapping[date, Totals],
    value: Callable[[Totals], float | None],
    formatter: tables.Formatter,
    markers: Mapping[int, str],
) -> SafeString:
    points = [(date_format(day, "j M"), value(each)) for day, each in days.items()]
    return charts.draw_line(title, points, formatter, markers)


def _build_table(scope: ReportFilter, days: Mapping[date, Totals]) -> ReportTable:
    columns = [
        *(ReportColumn("Day"), ReportColumn("Calls", tables.format_count), ReportColumn("Failed", tables.format_count)),
        *(
            ReportColumn("Failure rate", tables.format_rate),
            ReportColumn("Repaired", tables.format_count),
            ReportColumn("Repair rate", tables.format_rate),
        ),
        *(ReportColumn("Turns", tables.format_count), ReportColumn("Unknown names", tables.format_count)),
        *(ReportColumn("Per 1,000 calls", tables.format_mean), ReportColumn("Turns with a loop", tables.format_count)),
    ]
    rows = [_build_row(scope, day, each) for day, each in reversed(list(days.items()))]
    return ReportTable("days", "Day by day", columns, rows)


def _build_row(scope: ReportFilter, day: date, each: Totals) -> list[ReportCell]:
    return [
        ReportCell(day.isoformat()),
        ReportCell(each.calls, row_links.to_events(scope, CountedAs.CALLS, day=day)),
        ReportCell(each.failed, row_links.to_events(scope, CountedAs.FAILED, day=day)),
        ReportCell(each.failure_rate),
        ReportCell(each.repaired, row_links.to_events(scope, CountedAs.REPAIRED, day=day)),
        ReportCell(each.repair_rate),
        ReportCell(each.turns, row_links.to_turns(scope, day=day)),
        ReportCell(each.unknown_names, row_links.to_events(scope, CountedAs.UNKNOWN_NAMES, day=day)),
        ReportCell(each.unknown_per_thousand),
        ReportCell(each.looping, row_links.to_turns(scope, TurnWith.LOOP, day=day)),
    ]
