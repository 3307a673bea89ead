"""What a cohort's page says about it: members, ramp, calls and verdict."""

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from itertools import accumulate
from typing import Any, NamedTuple

from django.contrib import messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Min
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_POST

from analytics.flags import FlagKey
from analytics.reports import comparison, totals
from analytics.reports.comparison import MIN_SAMPLE
from analytics.reports.report_filter import NO_COHORT, ReportFilter
from analytics.reports.totals import Totals
from analytics.reports.verdicts import Advice, Verdict
from analytics.rollout import guardrails, impact
from analytics.rollout.models import Assignment, Cohort
from audit import audit_log
from audit.models import AuditEntry
from console.log_pages import AuditedAdmin
from console.reports.parts import tables, verdicts
from console.reports.parts.charts import list_markers
from console.reports.parts.verdicts import VerdictBox, describe_comparison, describe_verdict, get_tone
from console.reports.report_list import REPORT_PERMISSIONS
from console.rollout import impact_text
from core.admin.charts import ChartLine, LineChart, choose_color
from core.templatetags.admin_format import percent

DAYS = 28
SHOWN_METRICS = ("Failure rate", "Turns with a successful call")
MAX_CHANGES = 6
STEPS = (1, 5, 25, 50, 100)  # percent, as the buttons of the form
STOP = "stop"


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
    if request.user.has_perm("audit.view_auditentry"):
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
    return verdicts.judge_sides(scope, "cohort", [NO_COHORT, cohort.name], sums)


def describe_decision(cohort: Cohort, verdict: Verdict) -> VerdictBox:
    """Return the verdict against everyone else, with the advice that a cohort in this state can follow."""
    advice = verdicts.COHORT_ADVICE
    if not cohort.is_on:
        advice = dict.fromkeys(Advice, "It is off.")
    elif cohort.percentage >= 100:
        advice = advice | {Advice.WIDEN: "Already at 100%: keep it."}
    text = describe_verdict(verdict, cohort.name, verdicts.EVERYONE_ELSE, advice)
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
    entries = AuditEntry.objects.filter(kind="cohort", name=cohort.name).order_by("-id")[:MAX_CHANGES]
    return [
        CohortChange(entry.time, entry.by, audit_log.describe_changes(entry) or entry.get_action_display())
        for entry in entries
    ]


class RampStep(NamedTuple):
    """A step with its button's label, what it changes for users, and the value that its form sends."""

    label: str
    effect: str
    value: str
    is_advised: bool


def format_percentage(percentage: Decimal) -> str:
    """Return a percentage without trailing zeros: "12.5%"."""
    return f"{float(percentage):g}%"


def list_steps(cohort: Cohort, advice: Advice) -> list[RampStep]:
    """Return the steps that the verdict allows. Nothing widens a cohort after any rate got worse."""
    if not cohort.is_on or cohort.flag_id not in set(FlagKey):
        return []
    steps = []
    wider = next((step for step in STEPS if step > cohort.percentage), None)
    if wider is not None and advice not in (Advice.STOP, Advice.HOLD):
        effect = _describe_effect(cohort, percentage=Decimal(wider))
        steps.append(RampStep(f"Widen to {wider}%", effect, str(wider), advice == Advice.WIDEN))
    effect = _describe_effect(cohort, is_on=False)
    return [*steps, RampStep(f"Stop {cohort.name}", effect, STOP, advice == Advice.STOP)]


def _describe_effect(cohort: Cohort, **changes: Any) -> str:
    after = Cohort.objects.select_related("flag").get(pk=cohort.pk)
    for name, value in changes.items():
        setattr(after, name, value)
    rollout = impact.apply_cohort(after, after.rules.all())
    return impact_text.describe_impact(impact_text.compute_impact(FlagKey(cohort.flag_id), rollout, at=timezone.now()))[
        0
    ]


class RampMixin(AuditedAdmin):
    """Adds the view that takes a step to the cohort admin."""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.step_view)
        return [path("<path:object_id>/step/", view, name="analytics_cohort_step"), *super().get_urls()]

    @method_decorator(require_POST)
    def step_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Set the percentage to `step`, or switch the cohort off, if it is still as the page showed it (`seen`)."""
        changes = _parse_step(request.POST)
        with transaction.atomic():
            cohort = Cohort.objects.select_for_update().filter(pk=unquote(object_id)).first()
            if cohort is None:
                raise Http404("This cohort does not exist.")
            if not self.has_change_permission(request, cohort):
                raise PermissionDenied
            now = format_percentage(cohort.percentage)
            if not cohort.is_on or request.POST.get("seen") != now:
                state = f"at {now}" if cohort.is_on else "off"
                message = f"Nothing was changed: {cohort.name} was changed in the meantime and is now {state}."
                self.message_user(request, message, messages.WARNING)
            else:
                before = self.get_audit_values(cohort)
                for name, value in changes.items():
                    setattr(cohort, name, value)
                cohort.save(update_fields=list(changes))
                self.record_change(request, cohort, before, self.get_audit_values(cohort))
                done = "off" if STOP in request.POST.getlist("step") else f"at {format_percentage(cohort.percentage)}"
                message = f"{cohort.name} is {done} now; before, it was at {now}. Servers follow within two seconds."
                self.message_user(request, message, messages.SUCCESS)
        return redirect("admin:analytics_cohort_change", cohort.pk)


def _parse_step(query: Mapping[str, str]) -> dict[str, Any]:
    step = query.get("step", "")
    if step == STOP:
        return {"is_on": False}
    if step in map(str, STEPS):
        return {"percentage": Decimal(step)}
    raise Http404("There is no such step.")
