"""Report: totals by family of models, and the table of totals that other reports use too."""

from collections.abc import Iterable

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from analytics import links
from analytics.models import Cohort
from analytics.reports import totals
from analytics.reports.scope import Scope
from analytics.reports.totals import Totals
from gateway.admin.reports import showing, tables
from gateway.admin.reports.asked import Asked, called
from gateway.admin.reports.showing import Report
from gateway.admin.reports.tables import Cell, Column, Table
from registry.models import Release

LEAD = (
    "Families of models, as clients name them in Gateway-Model. Families also differ in users and tasks, so this is "
    "not a controlled comparison."
)
FIGURES = [
    *(Column("Calls", tables.count), Column("Failure rate", tables.rate), Column("Repair rate", tables.rate)),
    *(Column("Turns", tables.count), Column("With a successful call", tables.rate)),
    *(Column("Unknown names per 1,000 calls", tables.mean), Column("Turns with a loop", tables.rate)),
    Column("Average latency", tables.milliseconds),
]


def page(request: HttpRequest) -> HttpResponse:
    """Show the totals of each family of models."""
    showing.check(request)
    asked = Asked(request, left_out=["model"])
    found = totals.each(asked.scope, "model")
    table = of_each("models", "Models", "model", asked.scope, found)
    return showing.answer(request, "report_models", asked, Report(lead=LEAD, tables=[table], is_empty=not found))


def of_each(name: str, title: str, by: str, scope: Scope, found: dict[str, Totals]) -> Table:
    """Return a table of totals, one row per surface, cohort, release or model, most calls first."""
    columns = [Column(by.capitalize()), *FIGURES]
    most = sorted(found.items(), key=lambda each: -each[1].calls)
    pages = _pages(by, found)
    rows = [_row(scope.under(by, value), by, value, each, pages.get(value, "")) for value, each in most]
    return Table(name, title, columns, rows)


def _pages(by: str, names: Iterable[str]) -> dict[str, str]:
    """Return the URLs of existing cohorts' or releases' pages, by name."""
    if by == "cohort":
        cohorts = Cohort.objects.filter(name__in=list(names)).values_list("name", "pk")
        return {name: reverse("admin:analytics_cohort_change", args=[pk]) for name, pk in cohorts}
    if by == "release":
        releases = Release.objects.filter(pk__in=list(names)).values_list("pk", flat=True)
        return {version: reverse("admin:registry_release_change", args=[version]) for version in releases}
    return {}


def _row(scope: Scope, by: str, value: str, each: Totals, page: str) -> list[Cell]:
    none = {} if value else {f"{by}__exact": ""}
    return [
        Cell(called(by, value), page),
        Cell(each.calls, links.events(scope, links.CALLS, none)),
        Cell(each.failure_rate, links.events(scope, links.FAILED, none)),
        Cell(each.repair_rate, links.events(scope, links.MENDING, none)),
        Cell(each.turns, links.turns(scope, none)),
        Cell(each.success_rate),
        Cell(each.unknown_per_thousand, links.events(scope, links.UNKNOWN, none)),
        Cell(each.loop_rate, links.turns(scope, links.LOOPING, none)),
        Cell(each.mean_latency_ms),
    ]
