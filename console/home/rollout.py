"""The cohorts on the home page, and the surfaces that they are on."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, NamedTuple

from django.http import HttpRequest
from django.template.defaultfilters import pluralize
from django.urls import reverse
from django.utils import timezone

from analytics.experiments.cohorts import guardrail
from analytics.flags import Surface
from analytics.reports import totals
from analytics.reports.report_filter import NO_COHORT, ReportFilter
from analytics.reports.totals import Totals
from analytics.rollout.experiments import Experiment
from analytics.rollout.models import Cohort
from console.home.attention import NamedLink
from console.reports.parts.verdicts import EVERYONE_ELSE, VerdictBox
from console.rollout import cohort_facts
from console.rollout.exposures import name_variants
from core.text.display import format_time
from registry.models import Agent, Group, Pin

MAX_COHORTS = 20
State = Experiment.State
SHOW_STOPS = timedelta(days=7)
TONE_ORDER = ("bad", "warning", "good", "neutral")  # what needs somebody first


class SurfaceSummary(NamedTuple):
    """A surface that a cohort is on, and the copy that makes it up."""

    surface: str
    copy: list[NamedLink]


class CohortSummary(NamedTuple):
    """A cohort with its page, variant and share of users, the totals of its calls and turns, and the verdict on it."""

    name: str
    link: str
    variant: str
    who: str
    totals: Totals
    verdict: VerdictBox | None = None


def build_rollout(request: HttpRequest) -> dict[str, Any]:
    """Return totals and verdicts of the cohorts that are on, of others with recent calls, and of users in no cohort.

    What needs somebody comes first. And which cohorts were stopped automatically.
    """
    scope = ReportFilter(timezone.now(), days=cohort_facts.DAYS)
    totals_by_cohort = totals.sum_by_value(scope, "cohort")
    cohorts_by_name = {
        cohort.name: cohort for cohort in Cohort.objects.select_related("flag", "experiment").prefetch_related("rules")
    }
    arms = {name: cohort.experiment for name, cohort in cohorts_by_name.items() if _is_arm(cohort)}
    active = [cohort for cohort in cohorts_by_name.values() if cohort.is_on and cohort.flag.is_on]
    active_names = [cohort.name for cohort in active if cohort.name not in arms][:MAX_COHORTS]
    left_out = {*active_names, *arms, NO_COHORT}
    names = [*active_names, *[name for name in totals_by_cohort if name not in left_out][:MAX_COHORTS]]
    variants = {cohorts_by_name[name].variant for name in active_names}
    variant_names = name_variants(variants)
    first = _find_first(cohorts_by_name.values())
    cohorts = [
        _summarize_cohort(name, cohorts_by_name.get(name), variant_names, totals_by_cohort.get(name, Totals()), first)
        for name in names
    ]
    for position, cohort in enumerate(cohorts):
        if cohort.name in active_names and cohort.name in totals_by_cohort:
            decision = cohort_facts.decide(cohorts_by_name[cohort.name], scope, totals_by_cohort)
            cohorts[position] = cohort._replace(verdict=decision.box)
    cohorts += _summarize_experiments(arms, totals_by_cohort)
    cohorts.sort(key=lambda each: TONE_ORDER.index(each.verdict.tone if each.verdict else "neutral"))
    remainder = (
        [CohortSummary(EVERYONE_ELSE, "", "defaults", "", totals_by_cohort.get(NO_COHORT, Totals()))] if cohorts else []
    )
    surfaces = [SurfaceSummary(surface, list(_list_copy(surface))) for surface in Surface if surface in variants]
    stopped = [
        VerdictBox(
            f"{each.cohort} was stopped automatically on {format_time(each.time)}. {each.reason}",
            "bad",
            _link_cohort(each.cohort),
        )
        for each in guardrail.list_stops(cohorts_by_name.values())
        if each.time >= scope.at - SHOW_STOPS
    ]
    return {
        "cohorts": cohorts + remainder,
        "stopped": stopped,
        "is_urgent": bool(stopped) or any(each.verdict and each.verdict.tone != "neutral" for each in cohorts),
        "days": cohort_facts.DAYS,
        "surfaces": surfaces,
        "may_add": request.user.has_perm("analytics.add_cohort"),
    }


def _link_cohort(cohort: Cohort) -> list[tuple[str, str]]:
    return [(f"Open {cohort.name}", reverse("admin:analytics_cohort_change", args=[cohort.pk]))]


def _list_copy(surface: Surface) -> Iterable[NamedLink]:
    """Yield the rows of the draft that make up a surface, besides ops and prompt sections, as counts with links."""
    if surface in (Surface.HYBRID, Surface.DISCOVERY):
        pins = Pin.objects.filter(surface=surface).count()
        url = f"{reverse('admin:registry_pin_changelist')}?surface__exact={surface}"
        yield NamedLink(f"{pins} pin{pluralize(pins)}", url)
    if surface == Surface.DISCOVERY:
        domains = Group.objects.exclude(discovery_name="").count()
        url = f"{reverse('admin:registry_group_changelist')}?discovery_name__isempty=0"
        yield NamedLink(f"{domains} discovery name{pluralize(domains)}", url)
        agents = Agent.objects.filter(status=Agent.Status.ACTIVE).count()
        yield NamedLink(f"{agents} agent{pluralize(agents)}", reverse("admin:registry_agent_changelist"))


def _summarize_cohort(
    name: str, cohort: Cohort | None, variant_names: Mapping[str, str], cohort_totals: Totals, first: set[Cohort]
) -> CohortSummary:
    if cohort is None:
        return CohortSummary(name, "", "removed", "", cohort_totals)
    link = reverse("admin:analytics_cohort_change", args=[cohort.pk])
    if not (cohort.is_on and cohort.flag.is_on) or cohort.variant not in variant_names:
        return CohortSummary(name, link, "off", "", cohort_totals)
    who = cohort.describe_members(is_first=cohort in first)  # as in the list of cohorts
    return CohortSummary(name, link, variant_names[cohort.variant], who, cohort_totals)


def _find_first(cohorts: Iterable[Cohort]) -> set[Cohort]:
    """Return the cohort of each flag that is evaluated first, of those that are on."""
    by_flag: dict[str, Cohort] = {}
    for cohort in sorted(cohorts, key=lambda each: each.position or 0):
        if cohort.is_on:
            by_flag.setdefault(cohort.flag_id, cohort)
    return set(by_flag.values())


def _is_arm(cohort: Cohort) -> bool:
    """Return whether a cohort is an arm that changes with its experiment. A shipped one is a cohort as any other."""
    return cohort.experiment is not None and not (cohort.is_on and cohort.experiment.state == State.DECIDED)


def _summarize_experiments(
    arms: Mapping[str, Experiment | None], totals_by_cohort: Mapping[str, Totals]
) -> list[CohortSummary]:
    """Return the experiments that run, each with the totals of all its arms. Its page compares them."""
    summaries: dict[str, CohortSummary] = {}
    for name, experiment in arms.items():
        if experiment is None or experiment.state != State.RUNNING:
            continue
        link = reverse("admin:analytics_experiment_change", args=[experiment.pk])
        share = f"{experiment.step_percent or float(experiment.share):g}%"
        summary = summaries.get(experiment.name) or CohortSummary(experiment.name, link, "experiment", share, Totals())
        totals_of_all = summary.totals + totals_by_cohort.get(name, Totals())
        summaries[experiment.name] = summary._replace(totals=totals_of_all)
    return list(summaries.values())[:MAX_COHORTS]
