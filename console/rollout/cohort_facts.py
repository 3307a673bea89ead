"""What is known about a cohort, above its form: how it does, who was exposed, and how it changed."""

from collections import Counter
from datetime import UTC, datetime, time, timedelta
from itertools import accumulate
from typing import Any, NamedTuple

from django.db.models import Min
from django.http import HttpRequest

from analytics import audit_text, guardrails
from analytics.models import Assignment, AuditEntry, Cohort
from analytics.reports import comparison, totals
from analytics.reports.comparison import MIN_SAMPLE
from analytics.reports.report_filter import NO_COHORT, ReportFilter
from analytics.reports.totals import Totals
from analytics.reports.verdicts import Advice, Verdict
from console.reports import tables
from console.reports.charts.chart_markers import list_markers
from console.reports.report_list import REPORT_PERMISSIONS
from console.reports.verdicts import boxes
from console.reports.verdicts.comparison_text import describe_comparison
from console.reports.verdicts.sentences import VerdictBox, describe_verdict, get_tone
from core.admin.charts import ChartLine, LineChart, choose_color
from core.templatetags.admin_format import percent

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
    """Return the template context, each part only for users who may view its rows.

    `decision` and `verdict` (the same in words), `guardrail`, `results`, `exposures` and `changes`.
    """
    facts: dict[str, Any] = {"days": DAYS}
    if request.user.has_perms(REPORT_PERMISSIONS):
        scope = ReportFilter(at, days=DAYS)
        sums = totals.sum_by_value(scope, "cohort")
        facts["results"] = _compare_with_rest(cohort, sums)
        facts["decision"] = judge_cohort(cohort, scope, sums)
        facts["verdict"] = describe_decision(cohort, facts["decision"])
        facts["guardrail"] = describe_guardrail(cohort, at)
    if request.user.has_perm("analytics.view_assignment"):
        facts["exposures"] = _build_exposures_chart(request, cohort, at)
    if request.user.has_perm("analytics.view_auditentry"):
        facts["changes"] = _list_changes(cohort)
    return facts


def describe_guardrail(cohort: Cohort, at: datetime) -> str:
    """Return what the guardrail did or sees; "" if the cohort has none."""
    if stops := guardrails.list_stops([cohort]):
        return f"Stopped automatically on {stops[0].time:%-d %b, %H:%M} UTC. {stops[0].reason}"
    if not (cohort.is_on and cohort.is_guarded):
        return ""
    reading = guardrails.measure_cohorts([cohort], at=at)[cohort]
    since = f"{reading.since:%-d %b, %H:%M} UTC"
    if reading.is_enough:
        return f"Stops automatically if it gets worse than others. Since {since}, {reading.summary}."
    counts = f"{reading.own.total:,}, and {reading.others.total:,} of others"
    return f"Stops automatically once {MIN_SAMPLE} calls on both sides show that it is worse. Since {since}: {counts}."


def _compare_with_rest(cohort: Cohort, sums: dict[str, Totals]) -> list[MetricResult]:
    rest, own = (sums.get(name, Totals()) for name in (NO_COHORT, cohort.name))
    return [
        MetricResult(each.metric.name, _format(each.second), _format(each.first), describe_comparison(each))
        for each in comparison.compare_metrics(rest, own, days=DAYS)
        if each.metric.name in SHOWN_METRICS
    ]


def judge_cohort(cohort: Cohort, scope: ReportFilter, sums: dict[str, Totals]) -> Verdict:
    """Return the verdict on a cohort against everyone else, from the sums of a period by cohort."""
    return boxes.judge_sides(scope, "cohort", [NO_COHORT, cohort.name], sums)


def describe_decision(cohort: Cohort, verdict: Verdict) -> VerdictBox:
    """Return the verdict against everyone else, with the advice that a cohort in this state can follow."""
    advice = boxes.COHORT_ADVICE
    if not cohort.is_on:
        advice = dict.fromkeys(Advice, "It is off.")
    elif cohort.percentage >= 100:
        advice = advice | {Advice.WIDEN: "It is at 100% already: keep it."}
    text = describe_verdict(verdict, cohort.name, boxes.EVERYONE_ELSE, advice)
    return VerdictBox(text, get_tone(verdict))


def _format(share: comparison.Proportion) -> str:
    return "–" if share.rate is None else f"{percent(share.rate)} of {tables.format_count(share.total)}"


def _build_exposures_chart(request: HttpRequest, cohort: Cohort, at: datetime) -> LineChart:
    """Return a chart of how many users had been exposed to the cohort by each day."""
    firsts = Assignment.objects.filter(cohort=cohort.name).order_by().values("subject").annotate(first=Min("time"))
    days = [at.date() - timedelta(days=number) for number in reversed(range(DAYS))]
    begin = datetime.combine(days[0], time(), UTC)
    earlier = firsts.filter(first__lt=begin).count()
    new_by_day = Counter(
        first.date() for first in firsts.filter(first__gte=begin).values_list("first", flat=True).iterator()
    )
    counts = list(accumulate((new_by_day[day] for day in days), initial=earlier))[1:]
    return LineChart(
        name="exposures",
        title="Users exposed so far",
        axis="Users, in all",
        days=days,
        lines=[ChartLine(cohort.name, counts, choose_color(cohort.name))],
        format_value=tables.format_count,
        markers=list_markers(request, days, cohort=cohort.name),
    )


def _list_changes(cohort: Cohort) -> list[CohortChange]:
    entries = AuditEntry.objects.filter(kind=AuditEntry.Kind.COHORT, name=cohort.name).order_by("-id")[:MAX_CHANGES]
    return [
        CohortChange(entry.time, entry.by, audit_text.describe_changes(entry) or entry.get_action_display())
        for entry in entries
    ]
