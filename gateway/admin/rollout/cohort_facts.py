"""What is known about a cohort, above its form: how it does, who was exposed, and how it changed."""

from collections import Counter
from datetime import UTC, datetime, time, timedelta
from typing import Any, NamedTuple

from django.db.models import Min
from django.http import HttpRequest
from django.utils.formats import date_format
from django.utils.safestring import SafeString

from analytics import audit_text
from analytics.models import Assignment, AuditEntry, Cohort
from analytics.reports import comparison, totals
from analytics.reports.report_filter import NO_COHORT, ReportFilter
from analytics.reports.totals import Totals
from core import charts
from core.templatetags.admin_format import percent
from gateway.admin.reports import tables
from gateway.admin.reports.comparison import describe_comparison
from gateway.admin.reports.release_markers import list_markers
from gateway.admin.reports.report_list import REPORT_PERMISSIONS

DAYS = 28
SHOWN_METRICS = ("Failure rate", "Turns with a successful call")
MAX_CHANGES = 6


class MetricResult(NamedTuple):
    """A metric of the cohort and of everyone else, and the difference in words."""

    name: str
    cohort: str
    rest: str
    verdict: str


class CohortChange(NamedTuple):
    """An entry of the cohort's history."""

    time: datetime
    by: str
    text: str


def build_facts(request: HttpRequest, cohort: Cohort, at: datetime) -> dict[str, Any]:
    """Return the template context: `results`, `exposures` and `changes`, each only for users who may view its rows."""
    facts: dict[str, Any] = {"days": DAYS}
    if request.user.has_perms(REPORT_PERMISSIONS):
        facts["results"] = _compare_with_rest(cohort, at)
    if request.user.has_perm("analytics.view_assignment"):
        facts["exposures"] = _draw_exposures(cohort, at)
    if request.user.has_perm("analytics.view_auditentry"):
        facts["changes"] = _list_changes(cohort)
    return facts


def _compare_with_rest(cohort: Cohort, at: datetime) -> list[MetricResult]:
    sums = totals.sum_by_value(ReportFilter(at, days=DAYS), "cohort")
    rest, own = (sums.get(name, Totals()) for name in (NO_COHORT, cohort.name))
    return [
        MetricResult(each.metric.name, _format(each.second), _format(each.first), describe_comparison(each))
        for each in comparison.compare_metrics(rest, own, days=DAYS)
        if each.metric.name in SHOWN_METRICS
    ]


def _format(share: comparison.Proportion) -> str:
    return "–" if share.rate is None else f"{percent(share.rate)} of {tables.format_count(share.total)}"


def _draw_exposures(cohort: Cohort, at: datetime) -> SafeString:
    """Return a chart of how many users had been exposed to the cohort by each day."""
    firsts = Assignment.objects.filter(cohort=cohort.name).order_by().values("subject").annotate(first=Min("time"))
    days = [at.date() - timedelta(days=number) for number in reversed(range(DAYS))]
    begin = datetime.combine(days[0], time(), UTC)
    count = firsts.filter(first__lt=begin).count()
    recent = firsts.filter(first__gte=begin).values_list("first", flat=True)
    by_day = Counter(first.date() for first in recent.iterator())
    points: list[charts.Point] = []
    for day in days:
        count += by_day[day]
        points.append((date_format(day, "j M"), count))
    return charts.draw_line("Exposed users", points, tables.format_count, list_markers(days))


def _list_changes(cohort: Cohort) -> list[CohortChange]:
    entries = AuditEntry.objects.filter(kind=AuditEntry.Kind.COHORT, name=cohort.name).order_by("-id")[:MAX_CHANGES]
    return [
        CohortChange(entry.time, entry.by, audit_text.describe_changes(entry) or entry.get_action_display())
        for entry in entries
    ]
