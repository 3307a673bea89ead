"""What all reports share: permissions, navigation, and the answer as an HTML page or a CSV file."""

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

# Report titles by URL name, in the order of the navigation.
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
    """A headline figure: title, formatted value, what it is a share of, and a link to its rows."""

    title: str
    value: str
    of: str = ""
    link: str = ""
    chart: SafeString | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """The content of a report page. `empty` replaces the usual text if there is nothing to show."""

    lead: str
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    notes: Sequence[str] = ()
    is_empty: bool = False
    empty: str = ""


def answer(request: HttpRequest, name: str, asked: Asked, report: Report, **more: Any) -> HttpResponse:
    """Return the report as a page, or the table named by the parameter `csv` as a CSV file."""
    for table in report.tables:
        if request.GET.get("csv") == table.name:
            return table.csv()
    tables = [replace(each, download=asked.address(**_kept(request), csv=each.name)) for each in report.tables]
    context = {
        "title": TITLES[name],
        "query": asked,
        "report": replace(report, tables=tables),
        "pages": [_page(each, name, asked) for each in TITLES],
        "period": f"{asked.scope.first:%-d %b} to {asked.scope.last:%-d %b %Y} (UTC)",
        **more,
    }
    return TemplateResponse(request, "gateway/report.html", admin.site.each_context(request) | context)


def check(request: HttpRequest) -> None:
    """Raise PermissionDenied if the user may not view the rows behind the reports."""
    if not request.user.has_perms(PERMISSIONS):
        raise PermissionDenied


def _page(name: str, here: str, asked: Asked) -> dict[str, Any]:
    return {"title": TITLES[name], "link": reverse(f"admin:{name}") + asked.address(), "is_here": name == here}


def _kept(request: HttpRequest) -> dict[str, str]:
    """Return the parameters besides the filters that a CSV link must repeat."""
    return {name: request.GET[name] for name in ("by", "first", "second", "sort") if name in request.GET}
