"""The page of an experiment that was started: what stored results say of it, and the steps that it can take."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.text import capfirst, get_text_list

from analytics.experiments import guarded_steps, metric_text, results, verdict_text
from analytics.experiments.metrics import METRICS
from analytics.experiments.results import SAMPLE_RATIO_ALPHA
from analytics.experiments.statistics import MIN_SUBJECTS
from analytics.experiments.verdict_text import ExperimentVerdict
from analytics.rollout.experiments import Experiment, ExperimentResult
from console.rollout import experiment_steps, experiment_tables
from core.admin import charts
from core.text.display import format_time

BAND_ZOOM = 3  # times the latest band that the chart shows: the first ones are far wider
BAND_MARGIN = 1.1  # so that no line is at the edge
MAX_BAND_ROWS = 12  # of the table beside the chart


@dataclass(frozen=True, slots=True)
class DifferenceBand:
    """The primary difference of the first arm over time, as a chart and as rows: time, difference, interval, users."""

    title: str
    chart: SafeString
    top: str
    bottom: str
    first: datetime
    last: datetime
    rows: Sequence[tuple[datetime, str, str, int]]


def build_page(request: HttpRequest, experiment: Experiment, at: datetime, *, may_change: bool) -> dict[str, Any]:
    """Return the variables of the page."""
    latest = results.get_latest(experiment)
    figures: dict[str, Any] | None = latest.figures if latest else None
    verdict = verdict_text.describe_verdict(experiment, figures)
    history = list(
        ExperimentResult.objects.filter(experiment=experiment)
        .order_by("hour")
        .values_list("time", "difference", "low", "high", "subjects")
    )
    page: dict[str, Any] = {
        "verdict": verdict,
        "hold": verdict_text.describe_hold(experiment),
        "facts": _list_facts(experiment, history),
        "overrides": [_describe_override(step) for step in experiment.overridden_steps],
        "audience": describe_audience(experiment),
        "plan": _list_plan(experiment),
        "measured_at": latest.time if latest else None,
        "steps": _list_steps(request, experiment, at, verdict) if may_change else [],
        "seen": experiment_steps.describe_state(experiment),
    }
    if figures is None:
        return page
    return page | {
        "band": build_band(experiment, history),
        "exposures": experiment_tables.build_exposures(experiment, figures),
        "has_users": any(figures["subjects"].values()),
        "is_split_right": figures["sample_ratio_p"] >= SAMPLE_RATIO_ALPHA,
        "sample_ratio_p": f"{figures['sample_ratio_p']:.3f}",
        "crossed": figures["crossed"],
        "tables": [
            replace(each, download=f"?csv={each.name}") for each in experiment_tables.build_tables(experiment, figures)
        ],
        "copy_url": experiment_tables.find_copy_url(experiment),
    }


def describe_audience(experiment: Experiment) -> str:
    """Return who takes part: "50% of the users where environment is one of dev who are not in an earlier cohort."."""
    rules = " and ".join(str(rule) for rule in experiment.list_arms()[0].rules.all())
    users = f"users{f' where {rules}' if rules else ''} who are not in an earlier cohort"
    if experiment.is_guarded:
        return f"{experiment.step_percent:g}% of the {users}, and as many in the control."
    return f"{float(experiment.share):g}% of the {users}." if experiment.share < 100 else f"All {users}."


def _list_plan(experiment: Experiment) -> list[tuple[str, str]]:
    """Return what is compared and how it is judged, by its label."""
    control, *arms = verdict_text.name_arms(experiment).values()
    plan = [
        ("Arms", f"{capfirst(control)} is the control, compared with {get_text_list(arms, 'and')}"),
        ("Primary metric", METRICS[experiment.primary_metric].title),
        ("Smallest effect", f"{float(experiment.smallest_effect):g}% of the primary metric"),
        ("Guardrails", ", ".join(METRICS[name].title for name in experiment.guardrails) or "none"),
        ("Signals", ", ".join(METRICS[name].title for name in experiment.signals) or "none"),
        ("Counts in full", f"{experiment.call_limit:,} calls of one user"),
    ]
    return [*plan, ("Steps", guarded_steps.format_steps(experiment.steps))] if experiment.is_guarded else plan


def build_band(experiment: Experiment, history: Sequence[tuple[Any, ...]]) -> DifferenceBand | None:
    """Return the band over time; None without two results."""
    points = [each for each in history if each[2] is not None and each[3] is not None]
    if len(points) < 2:
        return None
    metric = METRICS[experiment.primary_metric]
    latest = max(abs(points[-1][2]), abs(points[-1][3]))
    largest = max(abs(end) for _, _, low, high, _ in points for end in (low, high))
    limit = min(largest, latest * BAND_ZOOM) * BAND_MARGIN or 1.0
    step = -(-len(points) // MAX_BAND_ROWS)
    rows = [
        (time, metric_text.format_difference(metric, value), metric_text.format_range(metric, low, high), users)
        for time, value, low, high, users in points[::-1][::step]
    ]
    arm = list(verdict_text.name_arms(experiment).values())[1]
    return DifferenceBand(
        f"{metric.title}: {arm} minus the control",
        charts.draw_band([(low, value, high) for _, value, low, high, _ in points], limit),
        metric_text.format_difference(metric, limit),
        metric_text.format_difference(metric, -limit),
        points[0][0],
        points[-1][0],
        rows,
    )


def _list_steps(
    request: HttpRequest, experiment: Experiment, at: datetime, verdict: ExperimentVerdict
) -> list[experiment_steps.ExperimentStep]:
    return experiment_steps.list_steps(request, experiment, at, is_better=verdict.speaks_for_shipping)


def _list_facts(experiment: Experiment, history: Sequence[tuple[Any, ...]]) -> list[str]:
    """Return where the experiment stands: its step, its users, and the days that are left; or how it ended."""
    users = history[-1][4] if history else 0
    facts = [f"Started {format_time(experiment.started_at)}"] if experiment.started_at else []
    if experiment.state == Experiment.State.RUNNING:
        if experiment.is_guarded and experiment.step_ends_at:
            step = f"Step {experiment.step + 1} of {len(experiment.steps)}: {experiment.step_percent:g}%"
            return [*facts, f"{step} until {format_time(experiment.step_ends_at)}", f"{users:,} users"]
        return [*facts, *_describe_progress(experiment.planned_subjects, users, [(row[0], row[4]) for row in history])]
    if experiment.stopped_at:
        facts.append(f"ended {format_time(experiment.stopped_at)}")
    if experiment.decided_at:
        decided = "shipped" if experiment.decision == Experiment.Decision.SHIP else "dropped"
        facts.append(f"{decided} {format_time(experiment.decided_at)}")
    return [*facts, f"{users:,} users"]


def _describe_override(step: Mapping[str, Any]) -> str:
    """Return that a person let a step go on: "Step 1 (5%) had no test: ana let it go on 2 Nov 2030, 12:00. …"."""
    what = "went on although it waited" if step["is_tested"] else "had no test"
    who = f"{step['by']} let it go on {format_time(datetime.fromisoformat(step['at']))}"
    reasons = [] if step["is_tested"] else [f"It had fewer than {MIN_SUBJECTS} users a side."]
    reasons += [f"It waited with: “{step['reason']}”"] if step["reason"] else []
    reasons += [f"Why: {step['note']}"] if step["note"] else []
    return f"Step {step['step']} ({step['percent']:g}%) {what}: {who}. {' '.join(reasons)}"


def _describe_progress(planned: int, users: int, history: Sequence[tuple[datetime, int]]) -> list[str]:
    if not planned:
        return [f"{users:,} users"]
    days = verdict_text.estimate_days_left(planned, history)
    if users >= planned:
        return [f"{users:,} users: the {planned:,} that are needed have come"]
    facts = [f"{users:,} of {planned:,} users that are needed"]
    return [*facts, f"about {days} day{'' if days == 1 else 's'} left"] if days else facts
