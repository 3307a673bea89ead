"""Report: how many turns search, read help, call an op, and succeed."""

from django.http import HttpRequest, HttpResponse

from analytics.reports import funnel, row_links
from analytics.reports.funnel import FunnelStep
from analytics.reports.report_filter import ReportFilter
from core import charts
from gateway.admin.reports import report_page, tables
from gateway.admin.reports.report_page import ReportContent
from gateway.admin.reports.report_query import ReportQuery
from gateway.admin.reports.tables import ReportCell, ReportColumn, ReportTable

LEAD = (
    "How far turns get. A model that knows the op can skip search and help, so the first columns count every turn that "
    "took a step, and the last columns only turns that took all earlier steps too."
)
COLUMNS = [
    *(
        ReportColumn("Step"),
        ReportColumn("Turns", tables.format_count),
        ReportColumn("Of all", tables.format_rate),
        ReportColumn("Share"),
    ),
    *(ReportColumn("With all earlier steps", tables.format_count), ReportColumn("Of all turns", tables.format_rate)),
]
# Filters of the turn list behind each step. Turns have no column for success, so the last step lists all calling turns.
STEP_FILTERS = [{}, {"searches__gt": 0}, {"helps__gt": 0}, {"calls__gt": 0}, {"calls__gt": 0}]


def page(request: HttpRequest) -> HttpResponse:
    """Show how many turns took each step."""
    report_page.check_permission(request)
    query = ReportQuery(request)
    steps = funnel.count_steps(query.scope)
    rows = [
        _build_row(query.scope, step, steps[0].turns, which) for step, which in zip(steps, STEP_FILTERS, strict=True)
    ]
    report = ReportContent(
        lead=LEAD, tables=[ReportTable("funnel", "Turns", COLUMNS, rows)], is_empty=not steps[0].turns
    )
    return report_page.render_report(request, "report_funnel", query, report)


def _build_row(scope: ReportFilter, step: FunnelStep, turns: int, step_filter: dict[str, int]) -> list[ReportCell]:
    share, all_share = (each / turns if turns else None for each in (step.turns, step.cumulative_turns))
    return [
        ReportCell(step.name.capitalize()),
        ReportCell(step.turns, row_links.to_turns(scope, step_filter)),
        ReportCell(share),
        ReportCell("", html=charts.draw_bar(share or 0)),
        ReportCell(step.cumulative_turns),
        ReportCell(all_share),
    ]
