"""The endpoints of the reports."""

import json
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

import orjson
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from drf_spectacular.utils import OpenApiResponse

from analytics.reports import report_filter, totals
from analytics.reports.report_filter import EXACT_FIELDS, NO_COHORT, InvalidPeriod, ReportFilter
from analytics.rollout.models import Cohort
from core.text import lists
from gateway.access.request_context import Caller
from gateway.api import requests
from gateway.api.base import JSON_CONTENT_TYPE, GatewayView
from gateway.api.endpoint_docs import build_query_parameters, build_ref, describe_endpoint
from gateway.api.reports import figures
from gateway.contracts import request_schemas
from gateway.contracts.errors import FieldError, PermissionDeniedError
from gateway.models import Scope
from registry.jsonschema.dialect import Schema
from registry.releases import stored_releases

MAX_NAMED = 50  # cohorts in an error
UNKNOWN_RELEASE = "No release has this version or number. Choose one as the page of a release shows it."


def read_scope(query: Mapping[str, Any], caller: Caller) -> ReportFilter:
    """Return the filter of a report: the period and values that were sent, of the client's own calls.

    Raises InvalidRequestError for a period that no report covers or an unknown release, PermissionDeniedError for a key
    of one user.
    """
    refuse_bound_key(caller)
    at = timezone.now()
    values = {name: query[name] for name in (*EXACT_FIELDS, "cohort") if name in query}
    scope = ReportFilter(at, query.get("days", report_filter.DEFAULT_DAYS))
    if "from" in query or "to" in query:
        try:
            scope = report_filter.choose_days(at, _read_day(query, "from"), _read_day(query, "to"))
        except InvalidPeriod as error:
            raise requests.build_query_error([FieldError("/from", "invalid", str(error))]) from None
    if "release" in values:
        values["release"] = _find_version("release", values["release"])
    for name, value in {**values, "client": caller.key.client}.items():
        scope = scope.narrow(name, value)
    return scope


def refuse_bound_key(caller: Caller) -> None:
    """Raise PermissionDeniedError for a key of one user."""
    if caller.key.bound_subject:
        raise PermissionDeniedError(
            "This API key acts for one user, and reports cover all users of its client. Use a key without a subject.",
            reason="subject_not_allowed",
        )


def _find_version(name: str, release: str) -> str:
    """Return the version of a release such as "r12", or of its first characters. Raises InvalidRequestError."""
    try:
        return str(stored_releases.find_release(release).version)
    except stored_releases.UnknownRelease:
        raise requests.build_query_error([FieldError(f"/{name}", "invalid", UNKNOWN_RELEASE)]) from None


def _check_cohorts(scope: ReportFilter, sides: Mapping[str, str]) -> None:
    """Raise InvalidRequestError for a cohort that does not exist and had no calls: it would be compared as zeros."""
    called = totals.sum_by_value(scope.narrow("cohort", ""), "cohort")
    known = {NO_COHORT, *called, *Cohort.objects.values_list("name", flat=True)}
    names = ", ".join(sorted(name for name in known - {NO_COHORT} if name)[:MAX_NAMED])
    problem = f"No cohort has this name. Use one of {names}, or {NO_COHORT} for users in no cohort."
    if errors := [FieldError(f"/{side}", "invalid", problem) for side, name in sides.items() if name not in known]:
        raise requests.build_query_error(errors)


def _read_day(query: Mapping[str, Any], name: str) -> date | None:
    return date.fromisoformat(query[name]) if name in query else None


def _read_cursor(cursor: str) -> str:
    """Return the op that a cursor stands for. Raises InvalidRequestError."""
    try:
        after = json.loads(lists.decode_cursor(cursor))
    except (lists.InvalidCursor, ValueError, RecursionError):
        after = None
    if not isinstance(after, str):
        raise requests.build_query_error([requests.INVALID_CURSOR])
    return after


def _describe(name: str, summary: str, component: str, schema: Schema) -> Callable[[Any], Any]:
    return describe_endpoint(
        id=name,
        summary=summary,
        body=None,
        answers={200: OpenApiResponse(build_ref(component), description="The report.")},
        parameters=build_query_parameters(schema),
    )


class ReportView(GatewayView):
    """Base view of the reports on the client's own calls."""

    scope = Scope.REPORTS
    query_schema: Schema = request_schemas.REPORT_QUERY

    def read(self, request: HttpRequest) -> tuple[dict[str, Any], ReportFilter]:
        """Return the parameters of the URL, and the filter that they make."""
        parameters = requests.parse_query_string(request.META["QUERY_STRING"])
        query = requests.parse_query(parameters, self.query_schema)
        return query, read_scope(query, self.require_caller())

    def render(self, report: Mapping[str, Any]) -> HttpResponse:
        return HttpResponse(orjson.dumps(report), content_type=JSON_CONTENT_TYPE)


class OverviewReportView(ReportView):
    """reports/overview: calls and turns, day by day."""

    @_describe(
        "get_overview", "Get your client's calls and turns, day by day", "OverviewReport", request_schemas.REPORT_QUERY
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        _, scope = self.read(request)
        return self.render(figures.build_overview(scope))


class OpsReportView(ReportView):
    """reports/ops: calls, failures and repairs by op."""

    query_schema = request_schemas.OPS_REPORT_QUERY

    @_describe(
        "list_op_figures",
        "List your client's calls, failures and repairs by op",
        "OpsReport",
        request_schemas.OPS_REPORT_QUERY,
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        query, scope = self.read(request)
        after = _read_cursor(query["cursor"]) if "cursor" in query else None
        return self.render(figures.build_ops_page(scope, query.get("limit", requests.DEFAULT_LIMIT), after))


class MissesReportView(ReportView):
    """reports/misses: what models looked for and did not find, and what they got wrong."""

    @_describe(
        "get_misses", "Get what your client's models missed or got wrong", "MissesReport", request_schemas.REPORT_QUERY
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        _, scope = self.read(request)
        return self.render(figures.build_misses(scope, with_words=Scope.EVENTS in self.require_caller().key.scopes))


class ComparisonReportView(ReportView):
    """reports/compare: two cohorts or releases side by side."""

    query_schema = request_schemas.COMPARISON_QUERY

    @_describe(
        "compare_sides",
        "Compare two cohorts or releases by your client's calls",
        "ComparisonReport",
        request_schemas.COMPARISON_QUERY,
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        query, scope = self.read(request)
        by = query.get("by", "cohort")
        sides = {name: query[name] for name in ("first", "second") if query.get(name)}
        if by == "release":
            sides = {name: _find_version(name, value) for name, value in sides.items()}
        else:
            _check_cohorts(scope, sides)
        return self.render(figures.build_comparison(scope, by, sides.get("first", ""), sides.get("second", "")))
