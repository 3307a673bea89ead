"""The first steps of a new gateway, on the home page until all are done or an admin hides them."""

from typing import Any, NamedTuple

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.urls import reverse

from analytics.events.event_filters import NOT_TRIED_IN_ADMIN
from analytics.events.models import OperationEvent
from analytics.rollout.models import Cohort
from gateway.models import ApiKey
from registry.models import Activation, Connection

HIDDEN_COOKIE = "first_steps_hidden"
YEAR = 365 * 24 * 3600  # seconds


class ChecklistStep(NamedTuple):
    """A step: what to do, what for, where, and whether it is done."""

    title: str
    about: str
    link: str
    is_done: bool


def build_checklist(request: HttpRequest) -> dict[str, Any]:
    """Return the steps; {} if all are done or hidden in this browser."""
    if HIDDEN_COOKIE in request.COOKIES:
        return {}
    steps = _list_steps()
    done = sum(step.is_done for step in steps)
    return {"steps": steps, "done": done} if done < len(steps) else {}


def hide(request: HttpRequest) -> HttpResponse:
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


def _list_steps() -> list[ChecklistStep]:
    remote = (Connection.Kind.HTTP, Connection.Kind.MCP)
    people = User.objects.values("username")
    return [
        ChecklistStep(
            "Connect a service",
            "Its operations become ops that models can find and run.",
            reverse("admin:registry_connection_changelist"),
            Connection.objects.filter(kind__in=remote).exists(),
        ),
        ChecklistStep(
            "Create an API key",
            "Clients send it with each call. It is shown once.",
            reverse("admin:gateway_apikey_add"),
            ApiKey.objects.filter(revoked_at=None).exists(),
        ),
        ChecklistStep(
            "Make the first call",
            "Copy an example, put your key in it, and run it.",
            reverse("admin:guide", args=["api-clients"]),
            OperationEvent.objects.filter(NOT_TRIED_IN_ADMIN).exists(),
        ),
        ChecklistStep(
            "Publish a change",
            "Change what models read about an op, then review and publish it.",
            reverse("admin:registry_op_changelist"),
            Activation.objects.filter(activated_by__in=people).exists(),
        ),
        ChecklistStep(
            "Add a cohort",
            "Give some users another surface or release, and compare them in reports.",
            reverse("admin:analytics_cohort_changelist"),
            Cohort.objects.exists(),
        ),
    ]
