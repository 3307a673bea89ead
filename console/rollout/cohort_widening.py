"""Widen a cohort step by step: the page that plans it and starts it."""

from typing import Any

from django.contrib import messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone

from analytics.experiments import guarded_steps
from analytics.experiments.guarded_steps import GuardedPlan
from analytics.experiments.lifecycle import ExperimentRefused
from analytics.flags import FlagKey
from analytics.rollout import exposures, impact
from analytics.rollout.experiments import Experiment
from analytics.rollout.models import Cohort
from console.forms import GuardedStepsForm
from console.log_pages import AuditedAdmin

MAX_NAME = 30  # characters of an experiment's name
LAST_STEP = [50, 8]  # of a cohort that is beyond the steps that were used last


class CohortWideningMixin(AuditedAdmin):
    """Adds the page that widens a cohort step by step to the cohort admin."""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.widen_view)
        return [path("<path:object_id>/widen/", view, name="analytics_cohort_widen"), *super().get_urls()]

    def find_widen_url(self, request: HttpRequest, cohort: Cohort) -> str:
        """Return the page that widens a cohort; "" if that is not possible, or the user may not."""
        if not self._may_widen(request, cohort) or guarded_steps.explain_not_widenable(cohort):
            return ""
        return reverse("admin:analytics_cohort_widen", args=[cohort.pk])

    def widen_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show the steps; on POST start them."""
        cohort = self.get_object(request, unquote(object_id))
        if cohort is None:
            raise Http404("This cohort does not exist.")
        if not self._may_widen(request, cohort):
            raise PermissionDenied
        form = _build_form(cohort, request.POST or None)
        refusal = guarded_steps.explain_not_widenable(cohort)
        if request.method == "POST" and not refusal and (experiment := _widen(request, cohort, form)):
            text = f"{cohort.name} is widened step by step, beside an equal control. Servers follow within two seconds."
            self.message_user(request, text, messages.SUCCESS)
            return redirect("admin:analytics_experiment_change", experiment.pk)
        context = {"title": f"Widen {cohort.name} step by step", "cohort": cohort, "form": form, "refusal": refusal}
        template = "console/rollout/widen_cohort.html"
        return TemplateResponse(request, template, self.admin_site.each_context(request) | context)

    def _may_widen(self, request: HttpRequest, cohort: Cohort) -> bool:
        """Return whether the user may: after the last step, a release goes live by itself."""
        may_ship = cohort.flag_id != FlagKey.RELEASE or request.user.has_perm("registry.add_release")
        return may_ship and self.has_change_permission(request, cohort)


def _build_form(cohort: Cohort, data: Any) -> GuardedStepsForm:
    used_last = guarded_steps.load_template(cohort.flag_id)
    steps = [step for step in used_last.steps if step[0] > cohort.percentage] or [LAST_STEP]
    ending = "-steps"
    name = cohort.name[: MAX_NAME - len(ending)].rstrip("-") + ending
    template = GuardedPlan(name, steps, used_last.guardrails)
    return GuardedStepsForm(data, template=template, reach=_count_matching(cohort))


def _count_matching(cohort: Cohort) -> int:
    """Return how many of last week's users the cohort would have at 100%."""
    whole = Cohort.objects.select_related("flag").get(pk=cohort.pk)
    whole.percentage = 100
    rollout = impact.apply_cohort(whole, whole.rules.all())
    users = exposures.list_recent(timezone.now())
    return sum(rollout.evaluate(FlagKey(cohort.flag_id), user).cohort == cohort.name for user in users)


def _widen(request: HttpRequest, cohort: Cohort, form: GuardedStepsForm) -> Experiment | None:
    """Start to widen it. Returns None and adds errors to the form if refused."""
    if not form.is_valid():
        return None
    try:
        return guarded_steps.widen_cohort(cohort, form.to_plan(), by=str(request.user), at=timezone.now())
    except ExperimentRefused as error:
        form.add_error("steps", str(error))
    except ValidationError as error:
        form.add_error(None, " ".join(error.messages))
    return None
