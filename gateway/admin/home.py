"""The admin's first page: what needs somebody today, each part for whoever may see the rows behind it."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from analytics import reports
from analytics.reports import Failing
from registry import pending, releases
from registry.admin import showing
from registry.changes import Kind
from registry.models import Activation, Op, Release, Switch

NAMED = 5  # of the ops that are not live
LISTED = 20  # switches


class Named(NamedTuple):
    """Something with a name, and its page."""

    name: str
    link: str


class FailingOp(NamedTuple):
    """An op that fails often, its page, and its failed calls."""

    failing: Failing
    link: str
    events: str


def context(request: HttpRequest, page: dict[str, Any]) -> dict[str, Any]:
    """Return the page's context with its parts under `home`; one is left out whose rows one may not see."""
    home: dict[str, Any] = {"may_publish": request.user.has_perm("registry.add_release")}
    if request.user.has_perms(["registry.view_op", "registry.view_group", "registry.view_promptsection"]):
        home["unpublished"] = _unpublished()
    if request.user.has_perm("registry.view_release"):
        home["live"] = _live()
    if request.user.has_perms(["analytics.view_opdaily", "analytics.view_operationevent"]):
        home["activity"] = _activity()
    if request.user.has_perm("registry.view_switch"):
        home["switches"] = {"off": list(Switch.objects.off()[:LISTED])}
    return page | {"title": "What needs me today", "home": home}


def _unpublished() -> dict[str, Any]:
    names = pending.names()
    total = sum(map(len, names.values()))
    first = sorted(names[Kind.OP])[:NAMED]
    links = _ops(first)
    return {
        "counted": showing.named({kind: len(found) for kind, found in names.items()}),
        "total": total,
        "first": [Named(op, links.get(op, "")) for op in first],
        "more": total - len(first) if first else 0,
    }


def _live() -> dict[str, Any]:
    """Return what is live, since when and why, and what was live before, where there is such."""
    now = Activation.objects.filter(is_live=True).select_related("release").defer(*releases.LARGE).first()
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
    links = _ops(each.op for each in found)
    events = reverse("admin:analytics_operationevent_changelist")
    for each in found:
        yield FailingOp(each, links.get(each.op, ""), f"{events}?op={each.op}&ok__exact=0")


def _ops(names: Iterable[str]) -> dict[str, str]:
    """Return the pages of ops by name."""
    rows = Op.objects.filter(op__in=list(names)).values_list("op", "pk")
    return {op: reverse("admin:registry_op_change", args=[pk]) for op, pk in rows}
