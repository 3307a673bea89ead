"""Each minute: compute what running experiments show, end those that do harm, and move guarded ones on.

Harm is tested at every look, so the test is one that holds at every look. It needs 20 subjects a side: a few heavy
ones may fail in every call without it, so then their calls are compared, and a person is asked to decide.
"""

import logging
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.urls import reverse
from django.utils.text import capfirst

from analytics.experiments import arm_text, lifecycle, metric_text, proportions, results
from analytics.experiments.cohorts import guardrail
from analytics.experiments.interruptions import find_interruption
from analytics.experiments.lifecycle import ExperimentRefused
from analytics.experiments.metrics import FAILURE_RATE, METRICS
from analytics.experiments.statistics import MIN_SUBJECTS, ArmVerdict
from analytics.rollout.experiments import Experiment
from analytics.rollups import rollup_job
from notifications import outbox
from notifications.outbox import OutgoingMessage
from notifications.recipients import find_emails

log = logging.getLogger(__name__)

BY = "guardrail"  # in the audit log
CLEAR_P = 0.2  # of a signal; it holds below a share of alpha, so at most 0.05
QUIET_PERIOD = timedelta(days=1)  # without a call, after which a step does not count


def measure(at: datetime) -> bool:
    """Count the events since the last run, and judge by them at once. Return whether more can be counted."""
    more = rollup_job.run_rollup(at)
    if not more:
        run_experiments(at)
        guardrail.stop_worse_cohorts(at)
    return more


def run_experiments(at: datetime) -> None:
    """Look at every running experiment."""
    running = Experiment.objects.filter(state=Experiment.State.RUNNING).select_related("flag")
    for experiment in running.prefetch_related("arms"):
        _supervise(experiment, at)


def _supervise(experiment: Experiment, at: datetime) -> None:
    if interruption := find_interruption(experiment):
        subject = f"The experiment {experiment.name} was stopped"
        _stop(experiment, subject, interruption.reason, at=at, ended_at=interruption.time or at)
        return
    if not results.is_due(experiment, at) and not results.is_harmful(experiment, at):
        return
    figures = results.update_results(experiment, at)
    harms = [each for each in figures["guardrails"] if each["verdict"] == ArmVerdict.WORSE]
    if guardrails := [each for each in harms if each["kind"] == "guardrail"]:
        name = _name_arm(experiment, guardrails[0]["arm"])
        reason = f"{name} does harm. {_describe_harm(guardrails[0], figures)}"
        _stop(experiment, f"{name} was taken back", reason, at=at, ended_at=at)
        return
    reason, details = _find_hold_reason(experiment, figures, at)
    if lifecycle.hold(experiment, reason, by=BY, at=at) and reason:
        needs = "waits for you" if experiment.is_guarded else "needs a decision"
        subject = f"The experiment {experiment.name} {needs}"
        _notify(experiment, "experiment.held", subject, f"{reason} {details}".strip(), at)
    if not reason and experiment.step_ends_at and experiment.step_ends_at <= at:
        _go_on(experiment, at)


def _find_hold_reason(experiment: Experiment, figures: Mapping[str, Any], at: datetime) -> tuple[str, str]:
    """Return why the experiment must not go on by itself, and the figures that say so; "" if nothing is wrong.

    The reason has no figures: one that changed every minute would be news every minute.
    """
    if figures["sample_ratio_p"] < results.SAMPLE_RATIO_ALPHA:
        counts = ", ".join(f"{name}: {count:,}" for name, count in figures["subjects"].items())
        return "The arms do not have the planned numbers of users: assignment or recording is broken.", f"{counts}."
    for each in figures["guardrails"]:
        reason = f"{METRICS[each['metric']].title}: clearly worse than in the control. Decide whether you accept that."
        is_held = experiment.hold_reason == reason
        if each["kind"] == "signal" and (each["verdict"] == ArmVerdict.WORSE or (is_held and not _is_over(each))):
            return reason, f"{_describe_comparison(each)}."
    if warning := _warn_by_calls(figures):
        return warning
    if not experiment.is_guarded:
        return "", ""
    if at - (experiment.started_at or at) > QUIET_PERIOD and not results.has_calls(experiment, at - QUIET_PERIOD):
        return "Nobody in it made a call for a day, so that its figures say nothing.", ""
    if experiment.step_ends_at and experiment.step_ends_at <= at and results.count_callers(figures) < MIN_SUBJECTS:
        text = f"It has fewer than {MIN_SUBJECTS} users a side, too few for a test. It goes on when it has more."
        return text, ""
    return "", ""


def _is_over(signal: Mapping[str, Any]) -> bool:
    """Return whether a signal that was worse is clearly no longer so: near its limit it would come and go."""
    return bool(signal["p"] > CLEAR_P)


def _warn_by_calls(figures: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return a warning if the calls of too few users fail clearly more often: alone, it proves nothing."""
    if results.count_callers(figures) >= MIN_SUBJECTS:
        return None
    for each in figures["metrics"]:
        if each["metric"] != FAILURE_RATE.name or each["value"] is None or each["control"] is None:
            continue
        calls = [round(amount) for amount in each["amount"]]
        hits = [round(rate * amount) for rate, amount in zip((each["control"], each["value"]), calls, strict=True)]
        if proportions.is_clearly_higher(hits[1], calls[1], hits[0], calls[0]):
            reason = "More calls fail, by calls of few users, which are alike. Decide whether it goes on."
            return reason, f"{_describe_comparison(each)}."
    return None


def _describe_harm(harm: Mapping[str, Any], figures: Mapping[str, Any]) -> str:
    text = f"{_describe_comparison(harm)}."
    worst = results.find_worst_op(figures)
    return f"{text} Most of it comes from {worst['part']}: {_describe_figures(worst)}." if worst else text


def _describe_comparison(figures: Mapping[str, Any]) -> str:
    """Return both figures of a metric: "Failure rate: 31.0%, and 15.2% in the control"."""
    return f"{METRICS[figures['metric']].title}: {_describe_figures(figures)}"


def _describe_figures(figures: Mapping[str, Any]) -> str:
    metric = METRICS[figures["metric"]]
    value = metric_text.format_with_unit(metric, figures["value"])
    return f"{value}, and {metric_text.format_value(metric, figures['control'])} in the control"


def _name_arm(experiment: Experiment, name: str) -> str:
    """Return what the users of an arm have: "Release r12 Clearer summaries"."""
    arm = next(arm for arm in experiment.list_arms() if arm.name == name)
    return capfirst(arm_text.name_variant(experiment.flag_id, arm.variant))


def _stop(experiment: Experiment, subject: str, reason: str, *, at: datetime, ended_at: datetime) -> None:
    with transaction.atomic():
        if lifecycle.stop(experiment, reason, by=BY, at=at, ended_at=ended_at):
            text = (
                f"{reason} Its users get what everyone else gets within two seconds. Decide on the page what is next."
            )
            _notify(experiment, "experiment.stopped", subject, text, at)
            log.warning("experiment.stopped name=%s reason=%s", experiment.name, reason)


def _go_on(experiment: Experiment, at: datetime) -> None:
    try:
        lifecycle.advance(experiment, by=BY, at=at)
    except ExperimentRefused as error:
        lifecycle.hold(experiment, str(error), by=BY, at=at)
        return
    experiment.refresh_from_db()
    if experiment.state == Experiment.State.DECIDED:
        name = _name_arm(experiment, experiment.list_arms()[-1].name)
        text = f"The experiment {experiment.name} did all its steps without clear harm. All its users get it now."
        _notify(experiment, "experiment.shipped", f"{name} is shipped", text, at)


def _notify(experiment: Experiment, event: str, subject: str, text: str, at: datetime) -> None:
    page = reverse("admin:analytics_experiment_change", args=[experiment.pk])
    message = OutgoingMessage(event, subject, text, page, BY)
    outbox.notify(message, recipients=find_emails("analytics.change_experiment"), at=at)
