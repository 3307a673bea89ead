"""The admin's home page: what needs attention today. Each part needs view permission on the rows behind it."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Exists, OuterRef
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from analytics import links, reports
from analytics.models import Cohort
from analytics.reports import Failing, totals
from analytics.reports.scope import NONE, Scope
from analytics.reports.totals import Totals
from registry import pending, releases
from registry.admin import showing
from registry.changes import Kind
from registry.models import Activation, Op, Release, Switch

NAMED = 5  # unpublished ops
LISTED = 20  # switches


class Named(NamedTuple):
    """A name and the URL of its page; "" if it has none."""

    name: str
    link: str


class FailingOp(NamedTuple):
    """An op that fails often, with the URLs of its page, of its calls and of its failed calls."""

    failing: Failing
    link: str
    calls: str
    failed: str


class CohortDoing(NamedTuple):
    """A cohort with its page, variant and share of users, and the totals of its calls and turns."""

    name: str
    link: str
    gets: str
    share: str
    totals: Totals


def context(request: HttpRequest, page: dict[str, Any]) -> dict[str, Any]:
    """Return the page's context with its parts under `home`, without the parts that the user may not see."""
    home: dict[str, Any] = {"may_publish": request.user.has_perm("registry.add_release")}
    if request.user.has_perms(["registry.view_op", "registry.view_group", "registry.view_promptsection"]):
        home["unpublished"] = _unpublished()
    if request.user.has_perm("registry.view_release"):
        home["live"] = _live()
    if request.user.has_perms(["analytics.view_opdaily", "analytics.view_operationevent"]):
        home["activity"] = _activity()
    if request.user.has_perms(["analytics.view_cohort", "analytics.view_opdaily", "analytics.view_turn"]):
        home["rollout"] = _rollout()
    if request.user.has_perm("registry.view_switch"):
        home["switches"] = {"off": list(Switch.objects.off()[:LISTED])}
    return page | {"title": "What needs me today", "home": home}


def _unpublished() -> dict[str, Any]:
    names = pending.names()
    total = sum(map(len, names.values()))
    first = sorted(names[Kind.OP])[:NAMED]
    pages = _ops(first)
    return {
        "counted": showing.named({kind: len(found) for kind, found in names.items()}),
        "total": total,
        "first": [Named(op, pages.get(op, "")) for op in first],
        "more": total - len(first) if first else 0,
    }


def _live() -> dict[str, Any]:
    """Return the current activation and the release to roll back to, if there is one.

    `is_again` on the activation: this release was live earlier too, so going to the previous one is not a rollback.
    """
    earlier = Activation.objects.filter(release=OuterRef("release"), is_live=False)
    rows = Activation.objects.filter(is_live=True).select_related("release").defer(*releases.LARGE)
    now = rows.annotate(is_again=Exists(earlier)).first()
    try:
        before: Release | None = releases.before_live()
    except releases.UnknownRelease:
        before = None
    return {"activation": now, "before": before}


def _activity() -> dict[str, Any]:
    at = timezone.now()
    return {"failing": list(_failing(at)), "calls": reports.calls(at=at), "days": reports.DAYS}


def _failing(at: datetime) -> Iterable[FailingOp]:
    found = reports.failing(at=at)
    pages = _ops(each.op for each in found)
    for each in found:
        calls, failed = (links.week_of(each.op, which) for which in (links.CALLS, links.FAILED))
        yield FailingOp(each, pages.get(each.op, ""), calls, failed)


def _rollout() -> dict[str, Any]:
    """Return totals of the cohorts that are on, of others with recent calls, and of users in no cohort."""
    found = totals.each(Scope(timezone.now(), days=reports.DAYS), "cohort")
    known = {cohort.name: cohort for cohort in Cohort.objects.select_related("flag")}
    on = [cohort.name for cohort in known.values() if cohort.is_on and cohort.flag.is_on][:LISTED]
    names = [*on, *[name for name in found if name not in (*on, NONE)][:LISTED]]
    cohorts = [_doing(name, known.get(name), name in on, found.get(name, Totals())) for name in names]
    rest = [CohortDoing("no cohort", "", "defaults", "everyone else", found.get(NONE, Totals()))] if cohorts else []
    return {"cohorts": cohorts + rest, "days": reports.DAYS}


def _doing(name: str, cohort: Cohort | None, is_on: bool, done: Totals) -> CohortDoing:
    if cohort is None:
        return CohortDoing(name, "", "removed", "–", done)
    link = reverse("admin:analytics_cohort_change", args=[cohort.pk])
    if not is_on:
        return CohortDoing(name, link, "off", "–", done)
    return CohortDoing(name, link, cohort.variant[:12], f"{float(cohort.percentage):g}%", done)


def _ops(names: Iterable[str]) -> dict[str, str]:
    """Return the URL of each op's page by op name."""
    rows = Op.objects.filter(op__in=list(names)).values_list("op", "pk")
    return {op: reverse("admin:registry_op_change", args=[pk]) for op, pk in rows}
