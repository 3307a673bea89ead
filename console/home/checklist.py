"""The first steps of a new gateway, on the home page until all are done or an admin hides them."""

from typing import Any, NamedTuple

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.urls import reverse

from audit.models import AuditEntry
from console import chat_links
from gateway.models import ApiKey

HIDDEN_COOKIE = "first_steps_hidden"
OPEN_IN_SESSION = "first_steps_open"  # so that their end is said once
Action = AuditEntry.Action
YEAR = 365 * 24 * 3600  # seconds


class ChecklistStep(NamedTuple):
    """A step: what to do, what for, where, and whether it is done."""

    title: str
    about: str
    link: str
    is_done: bool


def build_checklist(request: HttpRequest) -> dict[str, Any]:
    """Return the steps of this user. When all are done, return this once; {} after that, or if hidden in this browser.

    What the demo, commands or other users did is not counted.
    """
    if HIDDEN_COOKIE in request.COOKIES:
        return {}
    steps = _list_steps(request.user.get_username())
    done = sum(step.is_done for step in steps)
    if done < len(steps):
        request.session.setdefault(OPEN_IN_SESSION, True)
        return {"steps": steps, "done": done}
    was_open = request.session.pop(OPEN_IN_SESSION, False)
    return {"is_finished": True, "chat_url": chat_links.get_chat_url()} if was_open else {}


def hide_checklist(request: HttpRequest) -> HttpResponse:
    """Hide the steps in this browser."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    if not request.user.has_perms(PERMISSIONS):
        raise PermissionDenied
    response = redirect("admin:index")
    response.set_cookie(
        HIDDEN_COOKIE, "1", max_age=YEAR, path=reverse("admin:index"), secure=request.is_secure(), httponly=True
    )
    return response


# Of users who can do the steps.
PERMISSIONS = ["registry.add_connection", "gateway.add_apikey", "registry.add_release", "analytics.add_cohort"]


def _list_steps(username: str) -> list[ChecklistStep]:
    logged = set(
        AuditEntry.objects.filter(kind__in=("connection", "cohort", "release"), by=username)
        .values_list("kind", "action")
        .distinct()
    )
    keys = ApiKey.objects.filter(created_by=username)
    return [
        ChecklistStep(
            "Connect a service",
            "Its operations become ops that models can find and run.",
            reverse("admin:registry_connection_import"),
            not logged.isdisjoint({("connection", Action.ADDED), ("connection", Action.IMPORTED)}),
        ),
        ChecklistStep(
            "Create an API key",
            "Add a client, then its key. The key is shown once.",
            reverse("admin:gateway_client_add"),
            keys.exists(),
        ),
        ChecklistStep(
            "Make the first call",
            "Copy an example, put your key in it, and run it.",
            reverse("admin:guide", args=["api-clients"]),
            keys.exclude(last_used_at=None).exists(),
        ),
        ChecklistStep(
            "Publish a change",
            "Change what models read about an op, then review and publish it.",
            reverse("admin:registry_op_changelist"),
            ("release", Action.PUBLISHED) in logged,
        ),
        ChecklistStep(
            "Add a cohort",
            "Give some users another surface or release, and compare them in reports.",
            reverse("admin:analytics_cohort_changelist"),
            not logged.isdisjoint({("cohort", Action.ADDED), ("release", Action.RELEASED)}),
        ),
    ]
