"""Report: calls, failures, repairs, unknown names and loops, day by day."""

from collections.abc import Callable, Mapping
from datetime import date

from django.http import HttpRequest, HttpResponse
from django.utils.formats import date_format
from django.utils.safestring import SafeString

from analytics import links
from analytics.reports import totals
from analytics.reports.scope import Scope
from analytics.reports.totals import Totals
from core import charts
from gateway.admin.reports import showing, tables
from gateway.admin.reports.asked import Asked
from gateway.admin.reports.showing import Figure, Report
from gateway.admin.reports.tables import Cell, Column, Table

LEAD = "Calls and turns in the period, day by day. Days in UTC; today is incomplete."


def page(request: HttpRequest) -> HttpResponse:
    """Show totals and charts of the period, and a table by day."""
    showing.check(request)
    asked = Asked(request)
    days = totals.a_day(asked.scope)
    total = sum(days.values(), start=Totals())
    report = Report(
        lead=LEAD,
        figures=_figures(asked.scope, days, total),
        tables=[_table(asked.scope, days)],
        is_empty=not (total.calls or total.turns),
    )
    return showing.answer(request, "report_overview", asked, report)


def _figures(scope: Scope, days: Mapping[date, Totals], total: Totals) -> list[Figure]:
    def figure(
        title: str, value: Callable[[Totals], float | None], formatter: tables.Told, of: str, link: str, chart: str = ""
    ) -> Figure:
        whole = value(total)
        drawn = _chart(chart or title, days, value, formatter)
        return Figure(title, "–" if whole is None else formatter(whole), of, link, drawn)

    count = tables.count
    return [
        figure("Calls", lambda each: each.calls, count, "", links.events(scope, links.CALLS)),
        figure(
            *("Failure rate", lambda each: each.failure_rate, tables.rate),
            *(f"{count(total.failed)} of {count(total.calls)} calls", links.events(scope, links.FAILED)),
        ),
        figure(
            *("Repair rate", lambda each: each.repair_rate, tables.rate),
            *(f"{count(total.mended)} of {count(total.failed)} failed calls", links.events(scope, links.MENDING)),
        ),
        figure("Turns", lambda each: each.turns, count, "", links.turns(scope)),
        figure(
            *("Unknown names", lambda each: each.unknown_per_thousand, tables.mean),
            *(f"per 1,000 calls, {count(total.unknown_names)} in all", links.events(scope, links.UNKNOWN)),
            "Unknown names per 1,000 calls",
        ),
        figure(
            *("Turns with a loop", lambda each: each.loop_rate, tables.rate),
            *(f"{count(total.looping)} of {count(total.turns)} turns", links.turns(scope, links.LOOPING)),
        ),
    ]


def _chart(
    title: str, days: Mapping[date, Totals], value: Callable[[Totals], float | None], told: tables.Told
) -> SafeString:
    return charts.line(title, [(date_format(day, "j M"), value(each)) for day, each in days.items()], told)


def _table(scope: Scope, days: Mapping[date, Totals]) -> Table:
    columns = [
        *(Column("Day"), Column("Calls", tables.count), Column("Failed", tables.count)),
        *(Column("Failure rate", tables.rate), Column("Repaired", tables.count), Column("Repair rate", tables.rate)),
        *(Column("Turns", tables.count), Column("Unknown names", tables.count)),
        *(Column("Per 1,000 calls", tables.mean), Column("Turns with a loop", tables.count)),
    ]
    rows = [_row(scope, day, each) for day, each in reversed(list(days.items()))]
    return Table("days", "Day by day", columns, rows)


def _row(scope: Scope, day: date, each: Totals) -> list[Cell]:
    return [
        Cell(day.isoformat()),
        Cell(each.calls, links.events(scope, links.CALLS, day=day)),
        Cell(each.failed, links.events(scope, links.FAILED, day=day)),
        Cell(each.failure_rate),
        Cell(each.mended),  # no link: the repairing calls may be of a later day
        Cell(each.repair_rate),
        Cell(each.turns, links.turns(scope, day=day)),
        Cell(each.unknown_names, links.events(scope, links.UNKNOWN, day=day)),
        Cell(each.unknown_per_thousand),
        Cell(each.looping, links.turns(scope, links.LOOPING, day=day)),
    ]
