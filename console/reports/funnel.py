"""Report: how many turns call an op and succeed, and how many search or read help before."""

from django.http import HttpRequest
from django.utils.html import format_html

from analytics.reports import turn_figures
from analytics.reports.report_filter import ReportFilter
from analytics.reports.turn_figures import TurnCount
from console.reports.parts import report_query, tables
from console.reports.parts.report_content import ReportContent
from console.reports.parts.report_query import ReportQuery
from console.reports.parts.tables import ReportCell, ReportColumn, ReportTable
from core.admin import charts

LEAD = "How far turns get, and what models do before a call. A turn that needs neither a search nor help is good."


def build_report(request: HttpRequest) -> ReportContent:
    """Show how many turns took each step."""
    query = ReportQuery(request)
    steps, ways = turn_figures.count_turns(query.scope)
    all_turns = steps[0].turns
    return ReportContent(
        query=query,
        lead=LEAD,
        tables=[
            ReportTable("funnel", "Funnel", _build_columns("Step"), _build_rows(query.scope, steps, all_turns)),
            ReportTable(
                "ways", "Before the first call", _build_columns("Way"), _build_rows(query.scope, ways, all_turns)
            ),
        ],
        is_empty=not all_turns,
    )


def _build_columns(first: str) -> list[ReportColumn]:
    return [
        ReportColumn(first),
        ReportColumn("Turns", tables.format_count),
        ReportColumn("Of all turns", tables.format_rate),
    ]


def _build_rows(scope: ReportFilter, counts: list[TurnCount], all_turns: int) -> list[list[ReportCell]]:
    shares = [each.turns / all_turns if all_turns else None for each in counts]
    return [
        [
            ReportCell(each.name.capitalize()),
            ReportCell(
                each.turns,
                report_query.to_turns(scope, each.contains),
                format_html("{} {}", tables.format_count(each.turns), charts.draw_bar(share or 0)),
            ),
            ReportCell(share),
        ]
        for each, share in zip(counts, shares, strict=True)
    ]
