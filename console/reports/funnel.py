"""Report: how many turns search, read help, call an op, and succeed."""

from django.http import HttpRequest

from analytics.reports import turn_figures
from analytics.reports.report_filter import ReportFilter
from analytics.reports.turn_figures import FunnelStep
from console.reports.parts import report_query, tables
from console.reports.parts.report_content import ReportContent
from console.reports.parts.report_query import ReportQuery
from console.reports.parts.tables import ReportCell, ReportColumn, ReportTable
from core.admin import charts

LEAD = (
    "How far turns get. Models may skip steps: the first columns count all turns that took a step, the last columns "
    "only those that also took every earlier step."
)
COLUMNS = [
    ReportColumn("Step"),
    ReportColumn("Turns", tables.format_count),
    ReportColumn("Of all turns", tables.format_rate),
    ReportColumn("Share"),
    ReportColumn("With every earlier step", tables.format_count),
    ReportColumn("Of all turns (every step)", tables.format_rate),
]


def build_report(request: HttpRequest) -> ReportContent:
    """Show how many turns took each step."""
    query = ReportQuery(request)
    steps = turn_figures.count_steps(query.scope)
    rows = [_build_row(query.scope, step, steps[0].turns) for step in steps]
    return ReportContent(
        query=query, lead=LEAD, tables=[ReportTable("funnel", "Turns", COLUMNS, rows)], is_empty=not steps[0].turns
    )


def _build_row(scope: ReportFilter, step: FunnelStep, turns: int) -> list[ReportCell]:
    share, all_share = (each / turns if turns else None for each in (step.turns, step.cumulative_turns))
    return [
        ReportCell(step.name.capitalize()),
        ReportCell(step.turns, report_query.to_turns(scope, step.contains)),
        ReportCell(share),
        ReportCell("", html=charts.draw_bar(share or 0)),
        ReportCell(step.cumulative_turns),
        ReportCell(all_share),
    ]
