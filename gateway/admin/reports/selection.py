"""Report: which tools models were given, used and missed."""

from django.http import HttpRequest, HttpResponse

from analytics import links
from analytics.models import ToolSelection
from analytics.reports import selection
from analytics.reports.scope import Scope
from analytics.reports.selection import Selections
from gateway.admin.reports import showing, tables
from gateway.admin.reports.asked import Asked
from gateway.admin.reports.by_op import op_pages
from gateway.admin.reports.showing import Figure, Report
from gateway.admin.reports.tables import Cell, Column, Table

LEAD = (
    "What chat services report about their turns with POST telemetry. A tool miss is a call to a tool that was not in "
    "the toolset; an escalation adds the tool in the same turn."
)
EMPTY = "No turns reported. A chat service reports each turn when it ends, with POST telemetry and the toolset id."
MISSED = [Column("Tool"), Column("Turns", tables.count), Column("Of all turns", tables.rate)]
OUTCOMES = [Column("How the turn ended"), Column("Turns", tables.count), Column("Of all turns", tables.rate)]


def page(request: HttpRequest) -> HttpResponse:
    """Show what was loaded, used, missed and escalated."""
    showing.check(request)
    asked = Asked(request)
    found = selection.of(asked.scope)
    report = Report(
        lead=LEAD,
        figures=_figures(asked.scope, found),
        tables=[_missed(asked.scope, found), _outcomes(asked.scope, found)],
        is_empty=not found.turns,
        empty=EMPTY,
    )
    return showing.answer(request, "report_selection", asked, report)


def _figures(scope: Scope, found: Selections) -> list[Figure]:
    turns, every = found.turns or 1, tables.count(found.turns)
    all_rows = links.selections(scope)
    tokens = "–" if found.tokens is None else tables.count(found.tokens)
    return [
        Figure("Reported turns", every, "", all_rows),
        Figure("Tools loaded", tables.mean(found.loaded / turns), "per turn, on average", all_rows),
        Figure(
            *("Tools used", tables.rate(found.used_rate or 0)),
            *(f"{tables.mean(found.used / turns)} per turn, on average", all_rows),
        ),
        Figure(
            *("Turns with a tool miss", tables.rate(found.miss_rate or 0)),
            *(f"{tables.count(found.missing)} of {every} turns", links.selections(scope, {"missing": "yes"})),
        ),
        Figure(
            *("Turns with an escalation", tables.rate(found.escalation_rate or 0)),
            *(f"{tables.count(found.escalating)} of {every} turns", links.selections(scope, {"escalating": "yes"})),
        ),
        Figure("Tokens", tokens, "per turn, on average of those that report it", all_rows),
    ]


def _missed(scope: Scope, found: Selections) -> Table:
    names = selection.most_missed(scope)
    pages = op_pages(each.name for each in names)
    rows = [
        [
            Cell(each.name, pages.get(each.name, "")),
            Cell(each.turns, links.selections(scope, {"missing": "yes", "q": each.name})),
            Cell(each.turns / found.turns),
        ]
        for each in names
    ]
    return Table("missed", "Most missed tools", MISSED, rows)


def _outcomes(scope: Scope, found: Selections) -> Table:
    rows = [
        [
            Cell(ToolSelection.Outcome(name).label),
            Cell(turns, links.selections(scope, {"outcome__exact": name})),
            Cell(turns / found.turns if found.turns else None),
        ]
        for name, turns in found.outcomes.items()
    ]
    return Table("outcomes", "How turns ended for the user", OUTCOMES, rows)
