"""The home page: what needs attention today, starting with the work of the user's role."""

from collections.abc import Callable
from typing import Any, NamedTuple

from django.http import HttpRequest

from console.access.roles import Role
from console.home import alerts, attention, checklist, experiments, rollout
from gateway.jobs import late_jobs
from registry.models import Switch
from registry.snapshot.copy_kinds import COPY_KINDS

MAX_SWITCHES = 20


class HomePart(NamedTuple):
    """A part of the page: its name and that of its template, its required permissions, and what builds its content.

    A part without content is left out.
    """

    name: str
    permissions: list[str]
    build: Callable[[HttpRequest], dict[str, Any]]

    @property
    def template(self) -> str:
        """The path of its template."""
        return f"console/home/{self.name}.html"


def _build_switches(_: HttpRequest) -> dict[str, Any]:
    off = list(Switch.objects.off()[:MAX_SWITCHES])
    return {"off": off, "is_urgent": bool(off), "is_quiet": not off}


def _build_late_jobs(_: HttpRequest) -> dict[str, Any]:
    late = late_jobs.find_late_jobs()
    return {"is_urgent": True, "late": late[0], "count": len(late), "hint": late_jobs.get_hint()} if late else {}


SEE_COPY = [f"registry.view_{each.model._meta.model_name}" for each in COPY_KINDS.values()]

PARTS = {
    part.name: part
    for part in (
        HomePart("checklist", checklist.PERMISSIONS, checklist.build_checklist),
        HomePart("jobs", ["gateway.view_periodicjob"], _build_late_jobs),
        HomePart("alerts", alerts.SEE_ALERTS, alerts.build_alerts),
        HomePart("unpublished", SEE_COPY, attention.build_unpublished),
        HomePart("live", ["registry.view_release"], attention.build_live_release),
        HomePart("failing", ["analytics.view_opdaily", "analytics.view_operationevent"], attention.build_failing_ops),
        HomePart(
            "misses",
            ["analytics.view_opdaily", "analytics.view_turn", "analytics.view_toolselection"],
            attention.build_misses,
        ),
        HomePart(
            "rollout", ["analytics.view_cohort", "analytics.view_opdaily", "analytics.view_turn"], rollout.build_rollout
        ),
        HomePart("experiments", experiments.SEE_EXPERIMENTS, experiments.build_experiments),
        HomePart("switches", ["registry.view_switch"], _build_switches),
        HomePart(
            "access",
            ["audit.view_auditentry", "auth.view_user", "gateway.view_apikey", "axes.view_accessattempt"],
            attention.build_access,
        ),
    )
}

# The order of the parts. Users with several roles get the order of the first one here.
ORDERS = {
    Role.ADMIN: "checklist jobs alerts unpublished live failing misses experiments rollout switches access".split(),
    Role.EDITOR: "unpublished alerts live failing misses switches experiments rollout".split(),
    Role.PRODUCT_MANAGER: "rollout experiments alerts live unpublished failing misses switches".split(),
    Role.AUDITOR: "access jobs alerts live unpublished switches experiments rollout failing misses".split(),
}


def build_context(request: HttpRequest, page: dict[str, Any]) -> dict[str, Any]:
    """Return the page's context with its parts as `parts`, without those that the user cannot see."""
    names = _get_order(request)
    contents = {
        name: content
        for name in names
        if request.user.has_perms(PARTS[name].permissions) and (content := PARTS[name].build(request))
    }
    is_urgent = any(content.get("is_urgent") for content in contents.values())
    ranks = {name: _rank(name, content, names[0], is_urgent=is_urgent) for name, content in contents.items()}
    parts = [
        {"template": PARTS[name].template, "content": contents[name]}
        for name in sorted(contents, key=ranks.__getitem__)
    ]
    may_publish = request.user.has_perm("registry.add_release")
    return page | {"title": "What needs me today", "parts": parts, "may_publish": may_publish}


def _rank(name: str, content: dict[str, Any], first: str, *, is_urgent: bool) -> int:
    """Return the place of a part: what needs somebody, and what the role works on, comes before the rest.

    The first steps wait if something else `is_urgent`.
    """
    if name == "checklist" and is_urgent:
        return 1
    if content.get("is_urgent") or name in (first, "live"):
        return 0
    return 2 if content.get("is_quiet") else 1


def _get_order(request: HttpRequest) -> list[str]:
    names = set(request.user.groups.values_list("name", flat=True))
    roles = (role for role in ORDERS if role.value in names)
    return ORDERS[next(roles, Role.ADMIN)]
