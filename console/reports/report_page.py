"""The page of a report: checks permissions, and returns the report as an HTML page or a table of it as a CSV file."""

from dataclasses import replace
from urllib.parse import urlencode

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.text import slugify

from audit import audit_log
from console.reports import saved_views
from console.reports.parts.report_query import format_days
from console.reports.report_list import REPORT_PERMISSIONS, Report


def show_report(request: HttpRequest, *, report: Report) -> HttpResponse:
    """Show a report, or download the table named by the parameter `csv`. Requires permission to view the rows."""
    if not request.user.has_perms(REPORT_PERMISSIONS):
        raise PermissionDenied
    content = report.build(request)
    for table in content.tables:
        if request.GET.get("csv") == table.name:
            name = f"{report.title}, {table.title}"
            audit_log.record_export("report", name, by=str(request.user), at=timezone.now())
            days = f"{content.query.scope.first_day:%Y-%m-%d}-to-{content.query.scope.last_day:%Y-%m-%d}"
            return table.to_csv_response(f"{slugify(report.title)}-{table.name.replace('_', '-')}-{days}")
    query = content.query
    tables = [
        replace(each, download=query.build_query_string(**_get_other_params(request), csv=each.name))
        for each in content.tables
    ]
    context = {
        "title": report.title,
        "query": query,
        "report": replace(content, tables=tables),
        "tab_query": query.build_query_string(),  # the tabs keep the filters
        "views": saved_views.build_panel(request, report.url_name),
        "chips": query.list_chips(_get_other_params(request)),
        "clear_url": "?" + urlencode(_get_other_params(request)),
        "period": f"{format_days(query.scope)} (UTC)",
        **content.context,
    }
    return TemplateResponse(request, "console/reports/report.html", admin.site.each_context(request) | context)


def _get_other_params(request: HttpRequest) -> dict[str, str]:
    """Return the parameters besides the filters that a CSV link must repeat."""
    return {name: request.GET[name] for name in ("by", "first", "second", "sort") if name in request.GET}
