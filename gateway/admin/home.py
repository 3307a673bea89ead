"""The admin's home page: what needs attention today. Each part needs view permission on the rows behind it."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Exists, OuterRef
from django.http import HttpRequest
from django.template.defaultfilters import pluralize
from django.urls import reverse
from django.utils import timezone

from analytics import reports
from analytics.events.event_filters import CountedAs
from analytics.models import Cohort
from analytics.reports import FailingOpFigures, row_links, totals
from analytics.reports.report_filter import NO_COHORT, ReportFilter
from analytics.reports.totals import Totals
from analytics.rollout.flags import Surface
from registry.admin import diff_page
from registry.models import Activation, Agent, Group, Op, Pin, Release, Switch
from registry.releases import stored_releases, unpublished
from registry.snapshot.copy_kinds import COPY_KINDS, Kind

MAX_NAMED_OPS = 5  # unpublished ops
MAX_LISTED_ROWS = 20  # switches


class NamedLink(NamedTuple):
    """A name and the URL of its page; "" if it has none."""

    name: str
    link: str


class FailingOp(NamedTuple):
    """An op that fails often, with the URLs of its page, of its calls and of its failed calls."""

    failing: FailingOpFigures
    link: str
    calls: str
    failed: str


class SurfaceSummary(NamedTuple):
    """A surface that a cohort is on, and the copy that makes it up."""

    surface: str
    copy: list[NamedLink]


class CohortSummary(NamedTuple):
    """A cohort with its page, variant and share of users, and the totals of its calls and turns."""

    name: str
    link: str
    variant: str
    share: str
    totals: Totals


def context(request: HttpRequest, page: dict[str, Any]) -> dict[str, Any]:
    """Return the page's context with its parts under `home`, without the parts that the user may not see."""
    home: dict[str, Any] = {"may_publish": request.user.has_perm("registry.add_release")}
    if request.user.has_perms([f"registry.view_{each.model._meta.model_name}" for each in COPY_KINDS.values()]):
        home["unpublished"] = _summarize_unpublished()
    if request.user.has_perm("registry.view_release"):
        home["live"] = _summarize_live_release()
    if request.user.has_perms(["analytics.view_opdaily", "analytics.view_operationevent"]):
        home["activity"] = _summarize_activity()
    if request.user.has_perms(["analytics.view_cohort", "analytics.view_opdaily", "analytics.view_turn"]):
        home["rollout"] = _summarize_rollout()
    if request.user.has_perm("registry.view_switch"):
        home["switches"] = {"off": list(Switch.objects.off()[:MAX_LISTED_ROWS])}
    return page | {"title": "What needs me today", "home": home}


def _summarize_unpublished() -> dict[str, Any]:
    names = unpublished.find_unpublished_names()
    total = sum(map(len, names.values()))
    first = sorted(names[Kind.OP])[:MAX_NAMED_OPS]
    pages = _map_op_urls(first)
    return {
        "change_counts": diff_page.format_counts({kind: len(changed) for kind, changed in names.items()}),
        "total": total,
        "first": [NamedLink(op, pages.get(op, "")) for op in first],
        "more": total - len(first) if first else 0,
    }


def _summarize_live_release() -> dict[str, Any]:
    """Return the current activation and the release to roll back to, if there is one.

    `is_again` on the activation: this release was live earlier too, so going to the previous one is not a rollback.
    """
    earlier = Activation.objects.filter(release=OuterRef("release"), is_live=False)
    rows = Activation.objects.filter(is_live=True).select_related("release").defer(*stored_releases.LARGE_COLUMNS)
    activation = rows.annotate(is_again=Exists(earlier)).first()
    try:
        before: Release | None = stored_releases.get_previous_release()
    except stored_releases.UnknownRelease:
        before = None
    return {"activation": activation, "before": before}


def _summarize_activity() -> dict[str, Any]:
    at = timezone.now()
    return {"failing": list(_list_failing_ops(at)), "calls": reports.count_calls(at=at), "days": reports.DAYS}


def _list_failing_ops(at: datetime) -> Iterable[FailingOp]:
    failing_ops = reports.list_failing_ops(at=at)
    pages = _map_op_urls(each.op for each in failing_ops)
    for each in failing_ops:
        calls_url, failed_url = (
            row_links.to_last_days_of_op(each.op, which) for which in (CountedAs.CALLS, CountedAs.FAILED)
        )
        yield FailingOp(each, pages.get(each.op, ""), calls_url, failed_url)


def _summarize_rollout() -> dict[str, Any]:
    """Return totals of the cohorts that are on, of others with recent calls, and of users in no cohort."""
    totals_by_cohort = totals.sum_by_value(ReportFilter(timezone.now(), days=reports.DAYS), "cohort")
    cohorts_by_name = {cohort.name: cohort for cohort in Cohort.objects.select_related("flag")}
    active_names = [cohort.name for cohort in cohorts_by_name.values() if cohort.is_on and cohort.flag.is_on][
        :MAX_LISTED_ROWS
    ]
    names = [
        *active_names,
        *[name for name in totals_by_cohort if name not in (*active_names, NO_COHORT)][:MAX_LISTED_ROWS],
    ]
    cohorts = [
        _summarize_cohort(name, cohorts_by_name.get(name), name in active_names, totals_by_cohort.get(name, Totals()))
        for name in names
    ]
    remainder = (
        [CohortSummary("no cohort", "", "defaults", "everyone else", totals_by_cohort.get(NO_COHORT, Totals()))]
        if cohorts
        else []
    )
    variants = {cohorts_by_name[name].variant for name in active_names}
    surfaces = [SurfaceSummary(surface, list(_list_copy(surface))) for surface in Surface if surface in variants]
    return {"cohorts": cohorts + remainder, "days": reports.DAYS, "surfaces": surfaces}


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


def _summarize_cohort(name: str, cohort: Cohort | None, is_on: bool, cohort_totals: Totals) -> CohortSummary:
    if cohort is None:
        return CohortSummary(name, "", "removed", "–", cohort_totals)
    link = reverse("admin:analytics_cohort_change", args=[cohort.pk])
    if not is_on:
        return CohortSummary(name, link, "off", "–", cohort_totals)
    return CohortSummary(name, link, cohort.variant[:12], f"{float(cohort.percentage):g}%", cohort_totals)


def _map_op_urls(names: Iterable[str]) -> dict[str, str]:
    """Return the URL of each op's page by op name."""
    rows = Op.objects.filter(op__in=list(names)).values_list("op", "pk")
    return {op: reverse("admin:registry_op_change", args=[pk]) for op, pk in rows}
