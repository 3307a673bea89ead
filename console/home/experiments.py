"""The experiments on the home page: what waits for a decision first, then what runs."""

from typing import Any, NamedTuple

from django.http import HttpRequest
from django.urls import reverse

from analytics.experiments import results, verdict_text
from analytics.experiments.verdict_text import Tone
from analytics.rollout.experiments import Experiment

SEE_EXPERIMENTS = ["analytics.view_experiment"]
MAX_EXPERIMENTS = 20
State = Experiment.State


class ExperimentSummary(NamedTuple):
    """An experiment with its page, where it stands in a sentence, and whether that waits for a person."""

    name: str
    link: str
    text: str
    tone: Tone
    is_waiting: bool


def build_experiments(_: HttpRequest) -> dict[str, Any]:
    """Return the experiments that run, or were stopped and not decided; {} without any."""
    rows = Experiment.objects.filter(state__in=[State.RUNNING, State.STOPPED]).prefetch_related("arms")
    summaries = [_summarize(each) for each in rows.order_by("-started_at")[:MAX_EXPERIMENTS]]
    if not summaries:
        return {}
    summaries.sort(key=lambda each: not each.is_waiting)
    is_urgent = any(each.is_waiting for each in summaries)
    return {"experiments": summaries, "is_urgent": is_urgent, "is_quiet": not is_urgent}


def _summarize(experiment: Experiment) -> ExperimentSummary:
    link = reverse("admin:analytics_experiment_change", args=[experiment.pk])
    if experiment.state == State.STOPPED:
        text = f"was stopped and waits for a decision. {experiment.stop_reason}"
        return ExperimentSummary(experiment.name, link, text, Tone.BAD, True)
    if text := verdict_text.describe_hold(experiment):
        return ExperimentSummary(experiment.name, link, text, Tone.WARNING, True)
    latest = results.get_latest(experiment)
    verdict = verdict_text.describe_verdict(experiment, latest.figures if latest else None)
    if verdict.is_clear:
        text = f"has a verdict and waits for a decision. {verdict.text}"
        return ExperimentSummary(experiment.name, link, text, verdict.tone, True)
    return ExperimentSummary(experiment.name, link, f"runs. {verdict.text}", verdict.tone, False)
