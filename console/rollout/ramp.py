"""The next step of a cohort's rollout, in one click beside the verdict: widen it, or stop it."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from django.contrib import messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_POST

from analytics.models import Cohort
from analytics.reports.verdicts import Advice
from analytics.rollout import impact
from analytics.rollout.flags import FlagKey
from console.audited import AuditedAdmin
from console.rollout import impact_text

STEPS = (5, 25, 50, 100)  # percent, as the buttons of the form
STOP = "stop"


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
                message = f"Nothing was changed: {cohort.name} has been changed meanwhile and is {state} now."
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
