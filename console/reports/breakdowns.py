"""Reports: totals by family of models and by client, and the table of totals that other reports also use."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from django.http import HttpRequest
from django.urls import reverse

from analytics.events.event_filters import CountedAs
from analytics.reports import totals
from analytics.reports.report_filter import ReportFilter
from analytics.reports.totals import Totals
from analytics.rollout.models import Cohort
from analytics.turns.models import Feedback, TurnWith
from console.reports.parts import report_query, tables
from console.reports.parts.report_content import ReportContent
from console.reports.parts.report_query import ReportQuery, label_values
from console.reports.parts.tables import ReportCell, ReportColumn, ReportTable
from gateway.models import Client
from registry.models import Release

THUMBS_UP = {"thumb__exact": Feedback.Thumb.UP.value}
MODELS_LEAD = (
    "Families of models, as clients name them in Gateway-Model. Families also differ in users and tasks, so this is "
    "not a controlled comparison."
)
CLIENTS_LEAD = "The services that call the gateway. A client that calls less than usual may have a problem of its own."

FIGURE_COLUMNS = [
    ReportColumn("Calls", tables.format_count),
    ReportColumn("Failure rate", tables.format_rate),
    ReportColumn("Repair rate", tables.format_rate),
    ReportColumn("Turns", tables.format_count),
    ReportColumn("Successful, of turns with a call", tables.format_rate),
    ReportColumn("Unknown names per 1,000 calls", tables.format_mean),
    ReportColumn("Turns with a loop", tables.format_rate),
    ReportColumn("Ratings", tables.format_count),
    ReportColumn("Thumbs up", tables.format_rate),
    ReportColumn("Average latency", tables.format_milliseconds),
]


def build_models_report(request: HttpRequest) -> ReportContent:
    """Show the totals of each family of models."""
    return _build_report(request, "model", "Models", MODELS_LEAD)


def build_clients_report(request: HttpRequest) -> ReportContent:
    """Show the totals of each client."""
    return _build_report(request, "client", "Clients", CLIENTS_LEAD)


def _build_report(request: HttpRequest, by: str, title: str, lead: str) -> ReportContent:
    query = ReportQuery(request, left_out=[by])
    totals_by_value = totals.sum_by_value(query.scope, by)
    table = build_breakdown_table(f"{by}s", title, by, query.scope, totals_by_value)
    return ReportContent(query=query, lead=lead, tables=[table], is_empty=not totals_by_value)


def build_breakdown_table(
    name: str, title: str, by: str, scope: ReportFilter, totals_by_value: dict[str, Totals]
) -> ReportTable:
    """Return a table of totals, one row per surface, cohort, release, model or client, most calls first."""
    columns = [ReportColumn(by.capitalize()), *FIGURE_COLUMNS]
    ranked = sorted(totals_by_value.items(), key=lambda each: -each[1].calls)
    urls, labels = _map_page_urls(by, totals_by_value), label_values(by, totals_by_value)
    rows = [
        _build_row(scope.narrow(by, value), by, value, each, ReportCell(labels[value], urls.get(value, "")))
        for value, each in ranked
    ]
    return ReportTable(name, title, columns, rows)


def _map_page_urls(by: str, names: Iterable[str]) -> dict[str, str]:
    """Return the URLs of existing cohorts', releases' or clients' pages, by name."""
    if by == "cohort":
        cohorts = Cohort.objects.filter(name__in=list(names)).values_list("name", "pk")
        return {name: reverse("admin:analytics_cohort_change", args=[pk]) for name, pk in cohorts}
    if by == "release":
        releases = Release.objects.filter(pk__in=list(names)).values_list("pk", flat=True)
        return {version: reverse("admin:registry_release_change", args=[version]) for version in releases}
    if by == "client":
        clients = Client.objects.filter(name__in=list(names)).values_list("name", "pk")
        return {name: reverse("admin:gateway_client_change", args=[pk]) for name, pk in clients}
    return {}


def _build_row(scope: ReportFilter, by: str, value: str, each: Totals, head: ReportCell) -> list[ReportCell]:
    if by == "client" and not value:  # calls of days before clients were counted, whose events name a client
        return _unlink([head, *_build_figure_cells(scope, each, {})])
    return [head, *_build_figure_cells(scope, each, {} if value else {f"{by}__exact": ""})]


def _unlink(cells: list[ReportCell]) -> list[ReportCell]:
    return [replace(cell, link="") for cell in cells]


def _build_figure_cells(scope: ReportFilter, each: Totals, empty_filter: Mapping[str, str]) -> list[ReportCell]:
    return [
        ReportCell(each.calls, report_query.to_events(scope, CountedAs.CALLS, empty_filter)),
        ReportCell(each.failure_rate, report_query.to_events(scope, CountedAs.FAILED, empty_filter)),
        ReportCell(each.repair_rate, report_query.to_events(scope, CountedAs.REPAIRED, empty_filter)),
        ReportCell(each.turns, report_query.to_turns(scope, query=empty_filter)),
        ReportCell(each.success_rate),
        ReportCell(each.unknown_per_thousand, report_query.to_events(scope, CountedAs.UNKNOWN_NAMES, empty_filter)),
        ReportCell(each.loop_rate, report_query.to_turns(scope, TurnWith.LOOP, empty_filter)),
        ReportCell(each.rated, report_query.to_feedback(scope, empty_filter)),
        ReportCell(each.thumbs_up_rate, report_query.to_feedback(scope, {**THUMBS_UP, **empty_filter})),
        ReportCell(each.mean_latency_ms),
    ]
