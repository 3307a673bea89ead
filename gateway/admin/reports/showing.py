"""What all reports have in common: who may see them, the way from one to the next, a page or a file as the answer."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.safestring import SafeString

from gateway.admin.reports.asked import Asked
from gateway.admin.reports.tables import Table

PERMISSIONS = ["analytics.view_opdaily", "analytics.view_turn", "analytics.view_toolselection"]

# The reports by the names of their pages.
TITLES = {
    "report_overview": "Overview",
    "report_funnel": "Funnel",
    "report_ops": "By op",
    "report_models": "By model",
    "report_comparison": "Side by side",
    "report_selection": "Tool selection",
    "report_lost": "Unknown names and loops",
}


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure on top of a report: what it is, its value as it is told, of what, and the list of its rows."""

    title: str
    value: str
    of: str = ""
    link: str = ""
    chart: SafeString | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """What a report tells: a sentence, figures, tables, and what to do where there is nothing."""

    lead: str
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    notes: Sequence[str] = ()
    is_empty: bool = False
    empty: str = ""  # a sentence of its own for that


def answer(request: HttpRequest, name: str, asked: Asked, report: Report, **more: Any) -> HttpResponse:
    """Answer a report as its page, or the one of its tables that the address asks for as a file."""
    for table in report.tables:
        if request.GET.get("csv") == table.name:
            return table.csv()
    tables = [replace(each, download=asked.address(**_kept(request), csv=each.name)) for each in report.tables]
    context = {
        "title": TITLES[name],
        "asked": asked,
        "report": replace(report, tables=tables),
        "pages": [_page(each, name, asked) for each in TITLES],
        "period": f"{asked.scope.first:%-d %b} to {asked.scope.last:%-d %b %Y}, in UTC",
        **more,
    }
    return TemplateResponse(request, "gateway/report.html", admin.site.each_context(request) | context)


def check(request: HttpRequest) -> None:
    """Raise PermissionDenied for whoever may not see the rows that reports are made of."""
    if not request.user.has_perms(PERMISSIONS):
        raise PermissionDenied


def _page(name: str, here: str, asked: Asked) -> dict[str, Any]:
    return {"title": TITLES[name], "link": reverse(f"admin:{name}") + asked.address(), "is_here": name == here}


def _kept(request: HttpRequest) -> dict[str, str]:
    """Return what else an address asks for, which a file of the same table asks for too."""
    return {name: request.GET[name] for name in ("by", "first", "second", "sort") if name in request.GET}
