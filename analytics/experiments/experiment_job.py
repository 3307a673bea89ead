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

from analytics.experiments import cohort_guardrail, lifecycle, metric_text, proportions, results
from analytics.experiments.lifecycle import ExperimentRefused
from analytics.experiments.metrics import FAILURE_RATE, METRICS
from analytics.experiments.statistics import MIN_SUBJECTS, ArmVerdict
from analytics.flags import LIVE, FlagKey
from analytics.rollout import assignment
from analytics.rollout.experiments import Experiment
from analytics.rollups import rollup_job
from audit.models import AuditEntry
from notifications import outbox
from notifications.outbox import OutgoingMessage
from notifications.recipients import find_emails

log = logging.getLogger(__name__)

BY = "guardrail"  # in the audit log
QUIET_PERIOD = timedelta(days=1)  # without a call, after which a step does not count


def measure(at: datetime) -> bool:
    """Count the events since the last run, and judge by them at once. Return whether more can be counted."""
    more = rollup_job.run_rollup(at)
    if not more:
        run_experiments(at)
        cohort_guardrail.stop_worse_cohorts(at)
    return more


def run_experiments(at: datetime) -> None:
    """Look at every running experiment."""
    running = Experiment.objects.filter(state=Experiment.State.RUNNING).select_related("flag")
    for experiment in running.prefetch_related("arms"):
        _supervise(experiment, at)


def _supervise(experiment: Experiment, at: datetime) -> None:
    if withdrawn := _find_withdrawn_arm(experiment):
        version, ended_at = withdrawn
        reason = f"Release {version[:12]} was withdrawn, so that its arm gets what is live."
        _stop(experiment, reason, at=at, ended_at=ended_at or at)
        return
    if not results.is_due(experiment, at):
        return
    figures = results.update_results(experiment, at)
    harms = [each for each in figures["guardrails"] if each["verdict"] == ArmVerdict.WORSE]
    if guardrails := [each for each in harms if each["kind"] == "guardrail"]:
        _stop(experiment, _describe_harm(experiment, guardrails[0], figures), at=at, ended_at=at)
        return
    reason = _find_hold_reason(experiment, figures, at)
    if lifecycle.hold(experiment, reason, by=BY, at=at) and reason:
        _notify(experiment, "experiment.held", f"The experiment {experiment.name} waits for you", reason, at)
    if not reason and experiment.step_ends_at and experiment.step_ends_at <= at:
        _go_on(experiment, at)


def _find_withdrawn_arm(experiment: Experiment) -> tuple[str, datetime | None] | None:
    """Return the withdrawn release of an arm, and when it was withdrawn."""
    if experiment.flag_id != FlagKey.RELEASE:
        return None
    for arm in experiment.list_arms():
        if arm.variant != LIVE and not assignment.is_servable(arm.variant):
            entries = AuditEntry.objects.filter(kind="release", name=arm.variant, time__gte=experiment.started_at)
            return arm.variant, entries.order_by("-time").values_list("time", flat=True).first()
    return None


def _find_hold_reason(experiment: Experiment, figures: Mapping[str, Any], at: datetime) -> str:
    """Return why the experiment must not go on by itself; "" if nothing is wrong."""
    if figures["sample_ratio_p"] < results.SAMPLE_RATIO_ALPHA:
        counts = ", ".join(f"{name}: {count:,}" for name, count in figures["subjects"].items())
        return f"The arms do not have the planned numbers of users ({counts}): assignment or recording is broken."
    for each in figures["guardrails"]:
        if each["kind"] == "signal" and each["verdict"] == ArmVerdict.WORSE:
            return f"{_describe_comparison(each)}. Go on if you accept that."
    if warning := _warn_by_calls(figures):
        return warning
    if not experiment.is_guarded:
        return ""
    if at - (experiment.started_at or at) > QUIET_PERIOD and not results.has_calls(experiment, at - QUIET_PERIOD):
        return "Nobody in it made a call for a day, so that its figures say nothing."
    if experiment.step_ends_at and experiment.step_ends_at <= at and min(figures["subjects"].values()) < MIN_SUBJECTS:
        return f"It has fewer than {MIN_SUBJECTS} users a side, too few for a test. It goes on when it has more."
    return ""


def _warn_by_calls(figures: Mapping[str, Any]) -> str:
    """Return a warning if the calls of too few users fail clearly more often: alone, it proves nothing."""
    if min(figures["subjects"].values(), default=0) >= MIN_SUBJECTS:
        return ""
    for each in figures["metrics"]:
        if each["metric"] != FAILURE_RATE.name or each["value"] is None or each["control"] is None:
            continue
        calls = [round(amount) for amount in each["amount"]]
        hits = [round(rate * amount) for rate, amount in zip((each["control"], each["value"]), calls, strict=True)]
        if proportions.is_clearly_higher(hits[1], calls[1], hits[0], calls[0]):
            return f"{_describe_comparison(each)}, by calls of few users, which are alike. Decide whether it goes on."
    return ""


def _describe_harm(experiment: Experiment, harm: Mapping[str, Any], figures: Mapping[str, Any]) -> str:
    text = f"{_describe_comparison(harm)}."
    worst = results.find_worst_op(figures)
    if worst:
        text += f" Most of it comes from {worst['part']}: {_describe_comparison(worst)}."
    arm = next(arm for arm in experiment.list_arms() if arm.name == harm["arm"])
    return f"{text} Its users had {FlagKey(experiment.flag_id).value} {arm.variant[:12]}."


def _describe_comparison(figures: Mapping[str, Any]) -> str:
    """Return both figures of a metric in words: "Failure rate: 31.0%, and 15.2% in the control"."""
    metric = METRICS[figures["metric"]]
    value, control = (metric_text.format_value(metric, figures[side]) for side in ("value", "control"))
    return f"{metric.title}: {value}, and {control} in the control"


def _stop(experiment: Experiment, reason: str, *, at: datetime, ended_at: datetime) -> None:
    with transaction.atomic():
        if lifecycle.stop(experiment, reason, by=BY, at=at, ended_at=ended_at):
            subject = f"The experiment {experiment.name} was stopped"
            text = f"{subject}. {reason} Its users get what everyone else gets."
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
        text = "All steps are done, without clear harm. Everyone gets it now."
        _notify(experiment, "experiment.shipped", f"The experiment {experiment.name} is shipped", text, at)


def _notify(experiment: Experiment, event: str, subject: str, text: str, at: datetime) -> None:
    page = reverse("admin:analytics_experiment_change", args=[experiment.pk])
    message = OutgoingMessage(event, subject, text, page, BY)
    outbox.notify(message, recipients=find_emails("analytics.change_experiment"), at=at)
