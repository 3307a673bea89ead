"""The next steps of a cohort: widen it, stop it, start it again. Each states its effect, asks, and can be undone."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from django.contrib import messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST

from analytics.experiments.cohorts.verdicts import Advice
from analytics.flags import FlagKey
from analytics.rollout import impact
from analytics.rollout.models import Cohort
from audit.models import AuditEntry
from console.log_pages import AuditedAdmin
from console.rollout import impact_text

STEPS = (1, 5, 25, 50, 100)  # percent, as the buttons of the form
STOP, START, GUARD, UNDO = "stop", "start", "guard", "undo"
STEP_FIELDS = ("is_on", "percentage", "is_guarded")  # that a step changes
CHANGES: dict[str, dict[str, Any]] = {
    STOP: {"is_on": False},
    START: {"is_on": True},
    GUARD: {"is_guarded": True},
    **{str(step): {"percentage": Decimal(step)} for step in STEPS},
}


class CohortStep(NamedTuple):
    """A step with its button's label, its effect in sentences, and the value that its form sends."""

    label: str
    effect: list[str]
    value: str
    is_advised: bool = False


def describe_state(cohort: Cohort) -> str:
    """Return whom a cohort takes: "off", "at 12.5%", "on for 17 listed users", or "at 5% and 17 listed users"."""
    if not cohort.is_on:
        return "off"
    listed = f"{len(cohort.listed):,} listed user{'' if len(cohort.listed) == 1 else 's'}"
    if not cohort.percentage and cohort.listed:
        return f"on for {listed}"
    return f"at {float(cohort.percentage):g}%{f' and {listed}' if cohort.listed else ''}"


def list_steps(cohort: Cohort, advice: Advice | None) -> list[CohortStep]:
    """Return the steps that the verdict allows. Nothing widens a cohort after any rate got worse.

    Without advice, there is nothing to compare, and so nothing to widen for.
    """
    if cohort.flag_id not in set(FlagKey):
        return []
    if not cohort.is_on:
        return [CohortStep(f"Start {cohort.name} again", _describe_effect(cohort, START), START)]
    steps = []
    if advice not in (None, Advice.STOP, Advice.HOLD) and (wider := _find_wider_step(cohort)):
        effect = _describe_effect(cohort, wider)
        label = f"Widen to {wider}%" if cohort.percentage else f"Give it to {wider}% of the users as well"
        steps.append(CohortStep(label, effect, wider, advice == Advice.WIDEN))
    effect = _describe_effect(cohort, STOP)
    steps.append(CohortStep(f"Stop {cohort.name}", effect, STOP, advice == Advice.STOP))
    if not cohort.is_guarded and cohort.percentage < 100:
        guard = "It stops by itself once its users' calls clearly fail more often than others'. Checked every minute."
        steps.append(CohortStep("Turn on automatic stop", [guard], GUARD))
    return steps


def _find_wider_step(cohort: Cohort) -> str:
    """Return the first step above the percentage, and above the share of users that the list already reaches."""
    reached = impact.measure_shares(timezone.now()).get(cohort.name, 0) * 100 if cohort.listed else 0
    return next((str(step) for step in STEPS if step > max(float(cohort.percentage), reached)), "")


def _describe_effect(cohort: Cohort, step: str) -> list[str]:
    after = Cohort.objects.select_related("flag").get(pk=cohort.pk)
    for name, value in CHANGES[step].items():
        setattr(after, name, value)
    rollout = impact.apply_cohort(after, after.rules.all())
    effect = impact_text.compute_impact(FlagKey(cohort.flag_id), rollout, at=timezone.now())
    return impact_text.describe_impact(effect)


class CohortStepMixin(AuditedAdmin):
    """Adds the view that takes a step to the cohort admin."""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.step_view)
        return [path("<path:object_id>/step/", view, name="analytics_cohort_step"), *super().get_urls()]

    @method_decorator(require_POST)
    def step_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Take a step, if the cohort is still as the page showed it (`seen`); or undo the latest (`entry`)."""
        step = request.POST.get("step", "")
        if step not in (*CHANGES, UNDO):
            raise Http404("There is no such step.")
        with transaction.atomic():
            cohort = Cohort.objects.select_for_update().filter(pk=unquote(object_id)).first()
            if cohort is None:
                raise Http404("This cohort does not exist.")
            if not self.has_change_permission(request, cohort):
                raise PermissionDenied
            state = describe_state(cohort)
            changes = CHANGES.get(step) or _find_undone_changes(cohort, request.POST)
            if not changes or (step != UNDO and request.POST.get("seen") != state):
                message = f"Nothing was changed: {cohort.name} was changed in the meantime and is now {state}."
                self.message_user(request, message, messages.WARNING)
            else:
                self._change_cohort(request, cohort, changes)
                self.message_user(request, _describe_done(request, cohort, step, state), messages.SUCCESS)
        return redirect("admin:analytics_cohort_change", cohort.pk)

    def _change_cohort(self, request: HttpRequest, cohort: Cohort, changes: Mapping[str, Any]) -> None:
        before = self.get_audit_values(cohort)
        for name, value in changes.items():
            setattr(cohort, name, value)
        cohort.save(update_fields=list(changes))
        self.record_change(request, cohort, before, self.get_audit_values(cohort))


def _find_latest_entry(cohort: Cohort) -> AuditEntry | None:
    return AuditEntry.objects.filter(kind="cohort", name=cohort.name).order_by("-id").first()


def _find_undone_changes(cohort: Cohort, query: Mapping[str, str]) -> dict[str, Any]:
    """Return the values before the latest change; {} if it is not the one to undo."""
    entry = _find_latest_entry(cohort)
    if entry is None or str(entry.pk) != query.get("entry") or not set(entry.changes) <= set(STEP_FIELDS):
        return {}
    before = {name: values[0] for name, values in entry.changes.items()}
    return before | ({"percentage": Decimal(str(before["percentage"]))} if "percentage" in before else {})


def _describe_done(request: HttpRequest, cohort: Cohort, step: str, before: str) -> SafeString | str:
    """Return what was done, with a button that undoes it."""
    state = describe_state(cohort)
    if step == GUARD:
        done = f"{cohort.name} now stops automatically if it gets worse than others."
    elif step == UNDO:
        done = f"Undone: {cohort.name} is {state}. Servers follow within two seconds."
    else:
        words = {STOP: "stopped", START: f"{state} again"}.get(step, state)
        done = f"{cohort.name} is {words} (was {before}). Servers follow within two seconds."
    entry = _find_latest_entry(cohort)
    if step == UNDO or entry is None:
        return done
    return format_html(
        '{} <form class="ui-undo" method="post" action="{}"><input type="hidden" name="csrfmiddlewaretoken" value="{}">'
        '<input type="hidden" name="step" value="{}"><input type="hidden" name="entry" value="{}">'
        '<button type="submit">Undo</button></form>',
        done,
        reverse("admin:analytics_cohort_step", args=[cohort.pk]),
        get_token(request),
        UNDO,
        entry.pk,
    )
