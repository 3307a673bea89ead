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

from gateway.admin.reports.report_query import ReportQuery
from gateway.admin.reports.tables import ReportTable

REPORT_PERMISSIONS = ["analytics.view_opdaily", "analytics.view_turn", "analytics.view_toolselection"]

# Report titles by URL name, in the order of the navigation.
REPORT_TITLES = {
    "report_overview": "Overview",
    "report_funnel": "Funnel",
    "report_ops": "By op",
    "report_models": "By model",
    "report_comparison": "Side by side",
    "report_selection": "Tool selection",
    "report_lost": "Unknown names and loops",
}


@dataclass(frozen=True, slots=True)
class ReportFigure:
    """A headline figure: title, formatted value, what it is a share of, and a link to its rows."""

    title: str
    value: str
    of: str = ""
    link: str = ""
    chart: SafeString | None = None


@dataclass(frozen=True, slots=True)
class ReportContent:
    """The content of a report page. `empty` replaces the usual text if there is nothing to show."""

    lead: str
    figures: Sequence[ReportFigure] = ()
    tables: Sequence[ReportTable] = ()
    notes: Sequence[str] = ()
    is_empty: bool = False
    empty: str = ""


def render_report(
    request: HttpRequest, name: str, query: ReportQuery, report: ReportContent, **more: Any
) -> HttpResponse:
    """Return the report as a page, or the table named by the parameter `csv` as a CSV file."""
    for table in report.tables:
        if request.GET.get("csv") == table.name:
            return table.to_csv_response()
    tables = [
        replace(each, download=query.build_query_string(**_get_other_params(request), csv=each.name))
        for each in report.tables
    ]
    context = {
        "title": REPORT_TITLES[name],
        "query": query,
        "report": replace(report, tables=tables),
        "pages": [_build_nav_item(each, name, query) for each in REPORT_TITLES],
        "period": f"{query.scope.first_day:%-d %b} to {query.scope.last_day:%-d %b %Y} (UTC)",
        **more,
    }
    return TemplateResponse(request, "gateway/report.html", admin.site.each_context(request) | context)


def check_permission(request: HttpRequest) -> None:
    """Raise PermissionDenied if the user may not view the rows behind the reports."""
    if not request.user.has_perms(REPORT_PERMISSIONS):
        raise PermissionDenied


def _build_nav_item(name: str, current_name: str, query: ReportQuery) -> dict[str, Any]:
    return {
        "title": REPORT_TITLES[name],
        "link": reverse(f"admin:{name}") + query.build_query_string(),
        "is_here": name == current_name,
    }


def _get_other_params(request: HttpRequest) -> dict[str, str]:
    """Return the parameters besides the filters that a CSV link must repeat."""
    return {name: request.GET[name] for name in ("by", "first", "second", "sort") if name in request.GET}
