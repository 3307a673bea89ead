"""What a cohort's page says about it: its verdict, its guardrail, its exposed users and its changes."""

from collections import Counter
from datetime import UTC, datetime, time, timedelta
from itertools import accumulate
from typing import Any, NamedTuple

from django.db.models import Min
from django.http import HttpRequest

from analytics.experiments.cohorts import comparison, guardrail
from analytics.experiments.cohorts.verdicts import Advice, Verdict, judge
from analytics.experiments.statistics import MIN_SUBJECTS
from analytics.flags import FlagKey
from analytics.reports import totals
from analytics.reports.report_filter import NO_COHORT, ReportFilter
from analytics.reports.totals import Totals
from analytics.rollout.experiments import Experiment
from analytics.rollout.models import Assignment, Cohort
from audit import audit_log
from audit.models import AuditEntry
from console.reports.parts import tables, verdicts
from console.reports.parts.charts import list_markers
from console.reports.parts.verdicts import EVERYONE_ELSE, VerdictBox, describe_comparison, describe_verdict, get_tone
from console.reports.report_list import REPORT_PERMISSIONS
from core.admin.charts import ChartLine, LineChart, choose_color
from core.templatetags.admin_format import percent
from core.text.display import format_time

DAYS = 28
SHOWN_METRICS = ("failure_rate", "turn_success")
MAX_CHANGES = 6
LONG_WAIT = 14  # days
MIN_CHART_DAYS = 2  # that make a line


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
    """Return the template context, each part only for users who can view its rows.

    `advice` and `verdict`, `guardrail`, `results`, `exposures` or `is_unexposed`, and `changes`.
    """
    facts: dict[str, Any] = {"days": DAYS, "widened_by": _find_widening(cohort)}
    if request.user.has_perms(REPORT_PERMISSIONS):
        scope = ReportFilter(at, days=DAYS)
        decision = decide(cohort, scope, totals.sum_by_value(scope, "cohort"))
        facts |= {"advice": decision.advice, "verdict": decision.box, "results": decision.results}
        facts["guardrail"] = describe_guardrail(cohort, at)
    if request.user.has_perm("analytics.view_assignment"):
        facts["exposures"] = _build_exposures_chart(request, cohort, at)
        facts["is_unexposed"] = facts["exposures"] is None
    if request.user.has_perm("audit.view_auditentry"):
        facts["changes"] = _list_changes(cohort)
    return facts


def _find_widening(cohort: Cohort) -> Experiment | None:
    """Return the experiment that widens a cohort step by step: its arms have the cohort's salt, and so its users."""
    arms = Cohort.objects.filter(salt=cohort.salt, experiment__isnull=False, flag=cohort.flag_id).order_by("-pk")
    arm = None if cohort.experiment_id else arms.select_related("experiment").first()
    return arm.experiment if arm else None


def describe_guardrail(cohort: Cohort, at: datetime) -> str:
    """Return what the guardrail did or sees; "" if the cohort has none."""
    if stops := guardrail.list_stops([cohort]):
        return f"Stopped automatically on {format_time(stops[0].time)}. {stops[0].reason}"
    if not (cohort.is_on and cohort.is_guarded):
        return ""
    reading = guardrail.measure_cohorts([cohort], at=at)[cohort]
    since = format_time(reading.since)
    if reading.is_enough:
        return f"Stops automatically if it gets worse than others. Since {since}, {reading.summary}."
    if reading.is_worse_by_calls:
        warning = f"{reading.summary}. These are too few users to prove it, as calls of one user are alike: you decide."
        return f"Since {since}, {warning}"
    counts = f"Since {since}: {reading.own.subjects:,} users, and {reading.others.subjects:,} others."
    return f"Stops automatically once {MIN_SUBJECTS} users on both sides show that it is worse. {counts}"


class CohortVerdict(NamedTuple):
    """The verdict on a cohort in words, its advice, and the figures behind it. Without a comparison, no advice."""

    box: VerdictBox
    advice: Advice | None = None
    results: list[MetricResult] = []


def decide(cohort: Cohort, scope: ReportFilter, sums: dict[str, Totals]) -> CohortVerdict:
    """Return the verdict on a cohort against users in no cohort, from the sums of a period by cohort."""
    if cohort.flag_id in set(FlagKey) and (reason := verdicts.explain_no_comparison(cohort)):
        return CohortVerdict(VerdictBox(reason))
    comparisons = comparison.compare_sides(scope, "cohort", (NO_COHORT, cohort.name), sums)
    verdict = judge(comparisons)
    results = [
        MetricResult(each.metric.title, _format(each.second), _format(each.first), describe_comparison(each))
        for each in comparisons
        if each.metric.name in SHOWN_METRICS
    ]
    return CohortVerdict(_describe_verdict(cohort, verdict), verdict.advice, results)


def _describe_verdict(cohort: Cohort, verdict: Verdict) -> VerdictBox:
    """Return the verdict, with the advice that a cohort in this state can follow."""
    advice = verdicts.choose_cohort_advice(cohort)
    is_open = cohort.is_on and 0 < cohort.percentage < 100
    if is_open and verdict.advice == Advice.WAIT and _is_long_wait(verdict.reason.days_to_wait):
        users = Assignment.objects.filter(cohort=cohort.name).values("subject").distinct().count()
        advice = {
            **advice,
            Advice.WAIT: f"{users:,} user{'' if users == 1 else 's'} so far: widen it to decide sooner.",
        }
    return VerdictBox(describe_verdict(verdict, cohort.name, EVERYONE_ELSE, advice), get_tone(verdict))


def _is_long_wait(days: int | None) -> bool:
    return days is None or days > LONG_WAIT


def _format(share: comparison.Proportion) -> str:
    return "–" if share.rate is None else f"{percent(share.rate)} of {tables.format_count(share.total)}"


def _build_exposures_chart(request: HttpRequest, cohort: Cohort, at: datetime) -> LineChart | None:
    """Return a chart of how many users had been exposed to the cohort by each day since the first; None before it."""
    firsts = Assignment.objects.filter(cohort=cohort.name).order_by().values("subject").annotate(first=Min("time"))
    earliest = firsts.aggregate(earliest=Min("first"))["earliest"]
    if earliest is None:
        return None
    length = min(DAYS, max(MIN_CHART_DAYS, (at.date() - earliest.date()).days + 1))
    days = [at.date() - timedelta(days=number) for number in reversed(range(length))]
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
    entries = AuditEntry.objects.filter(kind="cohort", name=cohort.name).order_by("-id")[:MAX_CHANGES]
    return [
        CohortChange(entry.time, entry.by, audit_log.describe_changes(entry) or entry.get_action_display())
        for entry in entries
    ]
