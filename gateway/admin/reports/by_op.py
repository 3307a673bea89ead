"""Report: calls, failures, repairs and latency by op."""

from collections.abc import Iterable

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from analytics import links, reports
from analytics.reports import Figures
from analytics.reports.scope import Scope
from gateway.admin.reports import showing, tables
from gateway.admin.reports.asked import Asked
from gateway.admin.reports.showing import Report
from gateway.admin.reports.tables import Cell, Column, Table
from registry.models import Op

LEAD = (
    "Every op that was called in the period. A failed call is repaired when a later call of the op in the same turn "
    "succeeds."
)
COLUMNS = [
    *(Column("Op"), Column("Calls", tables.count), Column("Failed", tables.count), Column("Failure rate", tables.rate)),
    *(Column("Most common error"), Column("Repaired", tables.count), Column("Repair rate", tables.rate)),
    Column("Average latency", tables.milliseconds),
]
# Labels of failures that no argument caused.
KINDS = {
    "invalid": "invalid call",
    "denied": "not permitted",
    "not_found": "not found",
    "conflict": "conflict",
    "internal": "internal or upstream error",
}
NO_OP = "unknown names"
MOST_CALLED = (1, False)


def page(request: HttpRequest) -> HttpResponse:
    """Show every op that was called, sorted by one column."""
    showing.check(request)
    asked = Asked(request)
    found = {op: each for op, each in reports.of_each(asked.scope.daily()).items() if each.calls}
    errors = reports.commonest_errors(asked.scope.daily())
    pages = op_pages(found)
    rows = [_row(asked.scope, op, each, errors.get(op), pages.get(op, "")) for op, each in found.items()]
    number, rising = _sorting(request.GET.get("sort", ""))
    table = Table(
        *("ops", "Ops", COLUMNS, tables.ordered(rows, number, rising)),
        sorts=lambda place, up: asked.address(sort=f"{'' if up else '-'}{place}"),
        sorted_by=(number, rising),
    )
    return showing.answer(request, "report_ops", asked, Report(lead=LEAD, tables=[table], is_empty=not rows))


def op_pages(names: Iterable[str]) -> dict[str, str]:
    """Return the URLs of existing ops' pages, by name."""
    rows = Op.objects.filter(op__in=list(names)).values_list("op", "pk")
    return {op: reverse("admin:registry_op_change", args=[pk]) for op, pk in rows}


def _row(scope: Scope, op: str, each: Figures, error: tuple[str, str] | None, link: str) -> list[Cell]:
    which = {"op__exact": op} if op else links.UNKNOWN
    return [
        Cell(op or NO_OP, link),
        Cell(each.calls, links.events(scope, links.CALLS, which)),
        Cell(each.failed, links.events(scope, links.FAILED, which)),
        Cell(each.failure_rate),
        Cell(f"{error[0] or 'the args'} {error[1]}" if error else KINDS.get(each.commonest_failure or "")),
        Cell(each.mended, links.events(scope, links.MENDING, which)),
        Cell(each.repair_rate),
        Cell(each.mean_latency_ms),
    ]


def _sorting(asked: str) -> tuple[int, bool]:
    """Return (column number, is ascending) from the parameter `sort`, such as "3" or "-3"."""
    number = asked.removeprefix("-")
    if number in map(str, range(len(COLUMNS))):
        return int(number), not asked.startswith("-")
    return MOST_CALLED
