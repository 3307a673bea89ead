"""Report: how many turns search, read help, call an op, and succeed."""

from django.http import HttpRequest, HttpResponse

from analytics import links
from analytics.reports import funnel
from analytics.reports.funnel import Step
from analytics.reports.scope import Scope
from core import charts
from gateway.admin.reports import showing, tables
from gateway.admin.reports.asked import Asked
from gateway.admin.reports.showing import Report
from gateway.admin.reports.tables import Cell, Column, Table

LEAD = (
    "How far turns get. A model that knows the op can skip search and help, so the first columns count every turn that "
    "took a step, and the last columns only turns that took all earlier steps too."
)
COLUMNS = [
    *(Column("Step"), Column("Turns", tables.count), Column("Of all", tables.rate), Column("Share")),
    *(Column("With all earlier steps", tables.count), Column("Of all turns", tables.rate)),
]
# Filters of the turn list behind each step. Turns have no column for success, so the last step lists all calling turns.
LISTS = [{}, {"searches__gt": 0}, {"helps__gt": 0}, {"calls__gt": 0}, {"calls__gt": 0}]


def page(request: HttpRequest) -> HttpResponse:
    """Show how many turns took each step."""
    showing.check(request)
    asked = Asked(request)
    steps = funnel.steps(asked.scope)
    rows = [_row(asked.scope, step, steps[0].turns, which) for step, which in zip(steps, LISTS, strict=True)]
    report = Report(lead=LEAD, tables=[Table("funnel", "Turns", COLUMNS, rows)], is_empty=not steps[0].turns)
    return showing.answer(request, "report_funnel", asked, report)


def _row(scope: Scope, step: Step, turns: int, which: dict[str, int]) -> list[Cell]:
    share, all_share = (each / turns if turns else None for each in (step.turns, step.after_all_before))
    return [
        Cell(step.name.capitalize()),
        Cell(step.turns, links.turns(scope, which)),
        Cell(share),
        Cell("", drawn=charts.bar(share or 0)),
        Cell(step.after_all_before),
        Cell(all_share),
    ]
