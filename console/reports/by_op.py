"""Report: calls, failures, repairs and latency by op."""

from collections.abc import Iterable

from django.http import HttpRequest
from django.urls import reverse

from analytics import reports
from analytics.events import problems
from analytics.events.event_filters import CountedAs
from analytics.reports import OpFigures
from analytics.reports.report_filter import ReportFilter
from console.reports.parts import report_query, tables
from console.reports.parts.report_content import ReportContent
from console.reports.parts.report_query import ReportQuery
from console.reports.parts.tables import ReportCell, ReportColumn, ReportTable
from console.reports.parts.verdicts import build_ops_verdict
from registry.models import Op

LEAD = (
    "Every op that was called in the period. A failed call is repaired when a later call of the op in the same turn "
    "succeeds."
)
COLUMNS = [
    ReportColumn("Op"),
    ReportColumn("Calls", tables.format_count),
    ReportColumn("Failed", tables.format_count),
    ReportColumn("Failure rate", tables.format_rate),
    ReportColumn("Most common error"),
    ReportColumn("Repaired", tables.format_count),
    ReportColumn("Repair rate", tables.format_rate),
    ReportColumn("Average latency", tables.format_milliseconds),
]
# Labels of failures that no argument caused.
FAILURE_LABELS = {
    "invalid": "invalid call",
    "denied": "not permitted",
    "not_found": "not found",
    "conflict": "conflict",
    "internal": "internal or upstream error",
}
UNKNOWN_NAMES_LABEL = "unknown names"
DEFAULT_SORT = (1, False)


def build_report(request: HttpRequest) -> ReportContent:
    """Show every op that was called, sorted by one column."""
    query = ReportQuery(request)
    figures_by_op = {
        op: each for op, each in reports.sum_figures_by_op(query.scope.select_daily_figures()).items() if each.calls
    }
    errors = reports.find_most_common_errors(query.scope.select_daily_figures())
    urls = map_op_urls(figures_by_op)
    problem_by_op = {op: _describe_problem(each, errors.get(op)) for op, each in figures_by_op.items()}
    rows = [
        _build_row(query.scope, op, each, problem_by_op[op], urls.get(op, "")) for op, each in figures_by_op.items()
    ]
    number, rising = _parse_sort(request.GET.get("sort", ""))
    table = ReportTable(
        "ops",
        title="Ops",
        columns=COLUMNS,
        rows=tables.sort_rows(rows, number, rising),
        build_sort_url=lambda place, up: query.build_query_string(sort=f"{'' if up else '-'}{place}"),
        sorted_by=(number, rising),
    )
    verdict = build_ops_verdict(query.scope, figures_by_op, problem_by_op, urls) if rows else None
    return ReportContent(query=query, lead=LEAD, verdict=verdict, tables=[table], is_empty=not rows)


def map_op_urls(names: Iterable[str]) -> dict[str, str]:
    """Return the URLs of existing ops' pages, by name."""
    rows = Op.objects.filter(op__in=list(names)).values_list("op", "pk")
    return {op: reverse("admin:registry_op_change", args=[pk]) for op, pk in rows}


def _build_row(scope: ReportFilter, op: str, each: OpFigures, problem: str | None, link: str) -> list[ReportCell]:
    return [
        ReportCell(op or UNKNOWN_NAMES_LABEL, link),
        ReportCell(each.calls, report_query.to_events_of_op(scope, CountedAs.CALLS, op)),
        ReportCell(each.failed, report_query.to_events_of_op(scope, CountedAs.FAILED, op)),
        ReportCell(each.failure_rate),
        ReportCell(problem),
        ReportCell(each.repaired, report_query.to_events_of_op(scope, CountedAs.REPAIRED, op)),
        ReportCell(each.repair_rate),
        ReportCell(each.mean_latency_ms),
    ]


def _describe_problem(each: OpFigures, error: tuple[str, str] | None) -> str | None:
    """Return the most common problem of an op's calls; None if no call failed."""
    return problems.describe_field_error(*error) if error else FAILURE_LABELS.get(each.most_common_failure or "")


def _parse_sort(sort: str) -> tuple[int, bool]:
    """Return (column number, is ascending) from the parameter `sort`, such as "3" or "-3"."""
    number = sort.removeprefix("-")
    if number in map(str, range(len(COLUMNS))):
        return int(number), not sort.startswith("-")
    return DEFAULT_SORT
