"""The steps of an experiment: start, go on, stop, ship, drop, start again. Each states its effect, and asks."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.contrib import messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_POST

from analytics.experiments import lifecycle
from analytics.experiments.arm_plans import ArmPlan
from analytics.experiments.lifecycle import ExperimentRefused
from analytics.flags import FlagKey
from analytics.rollout.experiments import Experiment
from console import diff_view
from console.rollout import plan_text
from console.rollout.exposures import name_variants
from console.rollout.plan_text import PlannedExperiment
from core.admin import base
from registry.models import Release
from registry.releases import stored_releases, unpublished

State, Decision = Experiment.State, Experiment.Decision
START, GO_ON, STOP, SHIP, DROP, AGAIN = "start", "go_on", "stop", "ship", "drop", "again"
MAX_NOTE = 1_000  # characters, as in the row
ONLY_ADMINS = "Only Admins can make a release live for everyone. Ask one."
FOLLOWS = "Servers follow within two seconds."


class ExperimentStep(NamedTuple):
    """A step: its button's label, its effect in sentences, the value that its form sends, and what the form asks."""

    value: str
    label: str
    effect: Sequence[str]
    tone: str = ""  # end of the button's class: primary or danger
    asks_note: bool = False
    arms: Sequence[tuple[str, str]] = ()  # to choose from: name of the cohort, and its variant
    refusal: str = ""  # why this user cannot do it


def describe_state(experiment: Experiment) -> str:
    """Return where an experiment stands, so that nobody acts on a page that is out of date."""
    return f"{experiment.state} {experiment.step}"


def list_steps(request: HttpRequest, experiment: Experiment, at: datetime, *, is_better: bool) -> list[ExperimentStep]:
    """Return the steps that the experiment can take now. `is_better`: the verdict speaks for shipping it."""
    match experiment.state:
        case State.DRAFT:
            return [_build_start(experiment, at)]
        case State.RUNNING:
            going_on = (
                [_build_going_on(request, experiment)] if experiment.hold_reason and experiment.is_guarded else []
            )
            return [*_build_shipping(request, experiment, is_better), *going_on, _build_stop(), _build_drop()]
        case State.STOPPED:
            return [*_build_shipping(request, experiment, is_better), _build_again(request, experiment), _build_drop()]
    return [_build_again(request, experiment)] if experiment.decision == Decision.DROP else []


def read_plan(experiment: Experiment) -> PlannedExperiment:
    """Return a saved experiment as its form would have it."""
    arms = experiment.list_arms()
    return PlannedExperiment(experiment, [ArmPlan(arm.variant, arm.weight) for arm in arms], list(arms[0].rules.all()))


def _build_start(experiment: Experiment, at: datetime) -> ExperimentStep:
    effect = plan_text.describe_start(read_plan(experiment), at)
    refusal = lifecycle.explain_not_startable(experiment)
    return ExperimentStep(START, f"Start {experiment.name}", effect, "primary", refusal=refusal)


def _build_going_on(request: HttpRequest, experiment: Experiment) -> ExperimentStep:
    if experiment.step + 1 < len(experiment.steps):
        effect = f"It goes to {experiment.steps[experiment.step + 1][0]:g}% now, although it waits."
        return ExperimentStep(GO_ON, "Go on anyway", [effect, FOLLOWS], asks_note=True)
    effect = "This was the last step: it is shipped now."
    return ExperimentStep(
        GO_ON,
        "Go on anyway",
        [effect, FOLLOWS],
        asks_note=True,
        refusal=_refuse(request, experiment) or lifecycle.explain_not_shippable(experiment),
    )


def _build_stop() -> ExperimentStep:
    effect = f"All of its users get what everyone else gets. Its figures end here. {FOLLOWS}"
    return ExperimentStep(STOP, "Revert now", [effect, "You can decide later, or start again."], "danger")


def _build_drop() -> ExperimentStep:
    effect = f"All of its users get what everyone else gets, and the experiment is closed. {FOLLOWS}"
    return ExperimentStep(DROP, "Drop", [effect], asks_note=True)


def _build_again(request: HttpRequest, experiment: Experiment) -> ExperimentStep:
    effect = "A new experiment starts with the same plan. Its users get the same arm as before."
    effects = [effect, f"The figures of {experiment.name} do not count in it."]
    refusal = lifecycle.explain_not_startable_again(experiment)
    if experiment.is_guarded:  # it would be shipped without a person
        refusal = _refuse(request, experiment) or refusal
    return ExperimentStep(AGAIN, "Start again", effects, refusal=refusal)


def _build_shipping(request: HttpRequest, experiment: Experiment, is_better: bool) -> list[ExperimentStep]:
    """Return the step that ships an arm; none if all arms have what the control has."""
    control, *others = experiment.list_arms()
    names = name_variants(arm.variant for arm in others)
    others = [arm for arm in others if arm.variant != control.variant]
    if not others:
        return []
    arms = [(arm.name, names[arm.variant]) for arm in others if lifecycle.can_serve(arm)]
    what = arms[0][1] if len(arms) == 1 else "an arm"
    if experiment.flag_id == FlagKey.RELEASE and not control.rules.exists():
        effect = ["It goes live, and the experiment is closed. Cohorts on another release keep theirs."]
        effect += _warn_of_draft([arm.variant for arm in others])
    else:
        effect = ["Everyone in the audience gets it, and the experiment is closed. Its cohort stays on, at 100%."]
    label, tone = f"Ship {what}", "primary" if is_better else ""
    refusal = _refuse(request, experiment) or lifecycle.explain_not_shippable(experiment)
    return [ExperimentStep(SHIP, label, [*effect, FOLLOWS], tone, True, arms, refusal=refusal)]


def _warn_of_draft(versions: Sequence[str]) -> list[str]:
    """Return that the next publish would take back a release, if it was not made of what the draft is now."""
    lines = []
    for release in Release.objects.filter(version__in=versions).only("number", "name"):
        if lacking := unpublished.count_lacking_entries(release.version):
            changes = f"changes of {diff_view.format_counts(lacking)}"
            lines.append(f"The draft lacks {changes} in {release.short_name}. Publishing the draft takes them back.")
    return lines


def _refuse(request: HttpRequest, experiment: Experiment) -> str:
    """Return why the user cannot start or ship it: only those who publish make a release live for everyone."""
    if experiment.flag_id != FlagKey.RELEASE or request.user.has_perm("registry.add_release"):
        return ""
    return ONLY_ADMINS


def _start(experiment: Experiment, _: Mapping[str, str], by: str, at: datetime) -> Experiment:
    lifecycle.start(experiment, by=by, at=at)
    return experiment


def _go_on(experiment: Experiment, query: Mapping[str, str], by: str, at: datetime) -> Experiment:
    lifecycle.advance(experiment, by=by, at=at, note=_read_note(query))
    return experiment


def _stop(experiment: Experiment, _: Mapping[str, str], by: str, at: datetime) -> Experiment:
    lifecycle.stop(experiment, f"Stopped by {by}.", by=by, at=at)
    return experiment


def _ship(experiment: Experiment, query: Mapping[str, str], by: str, at: datetime) -> Experiment:
    arm = next((arm for arm in experiment.list_arms()[1:] if arm.name == query.get("arm")), None)
    lifecycle.decide(experiment, Decision.SHIP, _read_note(query), by=by, at=at, arm=arm)
    return experiment


def _drop(experiment: Experiment, query: Mapping[str, str], by: str, at: datetime) -> Experiment:
    lifecycle.decide(experiment, Decision.DROP, _read_note(query), by=by, at=at)
    return experiment


def _again(experiment: Experiment, _: Mapping[str, str], by: str, at: datetime) -> Experiment:
    return lifecycle.start_again(experiment, by=by, at=at)


def _read_note(query: Mapping[str, str]) -> str:
    return query.get("note", "").strip()[:MAX_NOTE]


# What each step does, and what the message says then.
ACTS: Mapping[str, tuple[Callable[[Experiment, Mapping[str, str], str, datetime], Experiment], str]] = {
    START: (_start, "{} runs."),
    GO_ON: (_go_on, "{} goes on."),
    STOP: (_stop, "{} is stopped: its users get what everyone else gets."),
    SHIP: (_ship, "{} is shipped."),
    DROP: (_drop, "{} is dropped: its users get what everyone else gets."),
    AGAIN: (_again, "{} runs, with the same users in the same arms."),
}


class ExperimentStepMixin(base.ModelAdmin[Experiment]):
    """Adds the view that takes a step to the experiment admin."""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.step_view)
        return [path("<path:object_id>/step/", view, name="analytics_experiment_step"), *super().get_urls()]

    @method_decorator(require_POST)
    def step_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Take a step, if the experiment is still as the page showed it (`seen`)."""
        act, done = ACTS.get(request.POST.get("step", ""), (None, ""))
        experiment: Any = self.get_object(request, unquote(object_id))
        if act is None or experiment is None:
            raise Http404("There is no such experiment or step.")
        if not self.has_change_permission(request, experiment):
            raise PermissionDenied
        at = timezone.now()
        allowed = {each.value: each for each in list_steps(request, experiment, at, is_better=False)}
        step = allowed.get(request.POST["step"])
        if step is None or request.POST.get("seen") != describe_state(experiment):
            state = experiment.get_state_display()
            message = f"Nothing was changed: {experiment.name} is {state} now. Look at it again."
            self.message_user(request, message, messages.WARNING)
        elif step.refusal == ONLY_ADMINS:
            raise PermissionDenied(step.refusal)
        elif step.refusal:
            self.message_user(request, f"Nothing was changed. {step.refusal}", messages.WARNING)
        else:
            live = stored_releases.get_live_release()
            try:
                experiment = act(experiment, request.POST, str(request.user), at)
                self.message_user(request, f"{done.format(experiment.name)} {FOLLOWS}", messages.SUCCESS)
            except ExperimentRefused as error:
                self.message_user(request, str(error), messages.WARNING)
            if live and not stored_releases.is_live(live.version):
                question = diff_view.get_question_url(request, live, was_live=True)
                if question:
                    return redirect(question)
        return redirect("admin:analytics_experiment_change", experiment.pk)
