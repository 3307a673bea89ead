"""The figures of an experiment: what its page, the API and its guardrails read. Computed each minute, and stored."""

import time as clock
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Exists, Model, OuterRef, Q, QuerySet

from analytics.experiments import statistics, sums
from analytics.experiments.metrics import FAILURE_RATE, METRICS, SOURCES, Metric
from analytics.experiments.statistics import MAX_GUARDRAIL_TUNING, ArmMoments, ArmVerdict, MetricKind, MetricTest
from analytics.experiments.sums import Span
from analytics.reports.report_filter import match_cohort
from analytics.rollout.experiments import Experiment, ExperimentResult
from analytics.rollout.models import Assignment, Cohort
from analytics.rollups.models import SubjectFigures

PAST_DAYS = 28
MAX_PARTS = 50  # ops, models or clients that are compared, those with most calls
SHORT_SECONDS = 3  # a twentieth of the minute between two runs of the job: as often as it runs
REST = 20  # times as long as computing took, until it is computed again: at most a twentieth of the time
SAMPLE_RATIO_ALPHA = 0.001  # below it, assignment or recording is broken
BREAKDOWNS = ("op", "model", "client")


@dataclass(frozen=True, slots=True)
class ArmRows:
    """An arm, its exposed subjects that count, and their rows by kind."""

    arm: Cohort
    subjects: int
    rows: Mapping[type[Model], QuerySet[Any]]


def update_results(experiment: Experiment, at: datetime) -> dict[str, Any]:
    """Compute the figures and store them as those of this hour. Return them."""
    started = clock.perf_counter()
    figures = compute_figures(experiment, at)
    figures["seconds"] = round(clock.perf_counter() - started, 3)
    primary = figures["metrics"][0]
    hour = at.replace(minute=0, second=0, microsecond=0)
    ExperimentResult.objects.filter(experiment=experiment, hour__lt=hour).exclude(figures=None).update(figures=None)
    ExperimentResult.objects.update_or_create(
        experiment=experiment,
        hour=hour,
        defaults={
            "time": at,
            "figures": figures,
            "subjects": sum(figures["subjects"].values()),
            **{name: primary[name] for name in ("difference", "low", "high")},
        },
    )
    return figures


def get_latest(experiment: Experiment) -> ExperimentResult | None:
    """Return the newest figures; None before the first."""
    return ExperimentResult.objects.filter(experiment=experiment).exclude(figures=None).order_by("-hour").first()


def is_due(experiment: Experiment, at: datetime) -> bool:
    """Return whether the figures may be computed again: those of many subjects take longer, and come less often."""
    latest = get_latest(experiment)
    seconds = (latest.figures or {}).get("seconds", 0) if latest else 0
    return latest is None or seconds <= SHORT_SECONDS or at >= latest.time + timedelta(seconds=seconds * REST)


def compute_figures(experiment: Experiment, at: datetime) -> dict[str, Any]:
    """Return all figures as JSON: subjects by arm, the sample ratio, and each metric of each arm beside the control.

    `metrics`, `guardrails`, `ops`, `models` and `clients` are lists of {metric, arm, value, control, difference, low,
    high, p, verdict, users, amount}, the primary metric first. An entry of ops, models and clients names its `part`.
    """
    arms, span = experiment.list_arms(), _get_span(experiment, at)
    crossed = _find_crossed(arms)
    sides = [_select_rows(arm, crossed, span) for arm in arms]
    moments = [sums.sum_metrics(METRICS.values(), side.rows, span, subjects=side.subjects) for side in sides]
    counts = [side.subjects for side in sides]
    figures: dict[str, Any] = {
        "subjects": {side.arm.name: side.subjects for side in sides},
        "crossed": crossed.count(),
        "sample_ratio_p": statistics.compute_sample_ratio_p_value(counts, [arm.weight for arm in arms]),
        "metrics": _compare_metrics(experiment, sides, moments),
        "guardrails": [
            *_test_harm(experiment, sides, moments, "guardrail", experiment.guardrails),
            *_test_harm(experiment, sides, moments, "signal", experiment.signals),
        ],
    }
    for field in BREAKDOWNS:
        figures[f"{field}s"] = _compare_parts(experiment, sides, span, field)
    return figures


def is_harmful(experiment: Experiment, at: datetime) -> bool:
    """Return whether a guardrail is broken, without computing anything else: each minute, whatever the users are."""
    metrics = [METRICS[name] for name in experiment.guardrails]
    if not metrics:
        return False
    arms, span = experiment.list_arms(), _get_span(experiment, at)
    crossed = _find_crossed(arms)
    sides = [_select_rows(arm, crossed, span) for arm in arms]
    moments = [sums.sum_metrics(metrics, side.rows, span, subjects=side.subjects) for side in sides]
    tested = _test_harm(experiment, sides, moments, "guardrail", experiment.guardrails)
    return any(each["verdict"] == ArmVerdict.WORSE for each in tested)


def _get_span(experiment: Experiment, at: datetime) -> Span:
    return Span(experiment.started_at or at, experiment.get_end(at), experiment.call_limit, PAST_DAYS)


def _find_crossed(arms: Sequence[Cohort]) -> QuerySet[Any]:
    """Return the subjects that were seen in two arms: they tell nothing of either."""
    rows = Assignment.objects.filter(cohort__in=[arm.name for arm in arms]).order_by().values("subject")
    return rows.annotate(arms=Count("cohort", distinct=True)).filter(arms__gt=1).values_list("subject", flat=True)


def _select_rows(arm: Cohort, crossed: QuerySet[Any], span: Span) -> ArmRows:
    """Return who counts in an arm, from the first exposure on, whatever served them later (intention to treat).

    And their own past, from before the experiment started.
    """
    exposed = Assignment.objects.filter(cohort=arm.name).exclude(subject__in=crossed).order_by()
    rows = {}
    for source, described in SOURCES.items():
        exposed_before = Assignment.objects.filter(
            cohort=arm.name, subject=OuterRef("subject"), time__lte=OuterRef(described.time)
        )
        counting = match_cohort(arm.name) | Q(Exists(exposed_before))
        past = Q(**{f"{described.time}__lt": span.since})
        rows[source] = source._default_manager.filter(counting | past, subject__in=exposed.values("subject"))
    return ArmRows(arm, exposed.values("subject").distinct().count(), rows)


def _compare_metrics(
    experiment: Experiment, sides: Sequence[ArmRows], moments: Sequence[Mapping[str, ArmMoments]]
) -> list[dict[str, Any]]:
    """Return every metric of every arm, the primary one first. The others share one rate of false discoveries."""
    primary = METRICS[experiment.primary_metric]
    results = []
    for metric in [primary, *(each for each in METRICS.values() if each is not primary)]:
        test = MetricTest(MetricKind.RATIO, metric.lower_is_better, experiment.alpha, experiment.tuning)
        for side, own in zip(sides[1:], moments[1:], strict=True):
            results.append(_describe(metric, side, moments[0][metric.name], own[metric.name], test))
    _adjust([each for each in results if each["metric"] != primary.name], experiment.alpha)
    return results


def _test_harm(
    experiment: Experiment,
    sides: Sequence[ArmRows],
    moments: Sequence[Mapping[str, ArmMoments]],
    kind: str,
    names: Sequence[str],
) -> list[dict[str, Any]]:
    """Return guardrails or signals: one tail each, for harm, which share one alpha."""
    tuning = min(experiment.tuning, MAX_GUARDRAIL_TUNING)
    results = []
    for metric in (METRICS[name] for name in names):
        alpha = experiment.alpha / len(names)
        test = MetricTest(MetricKind.RATIO, metric.lower_is_better, alpha, tuning, tails=1)
        for side, own in zip(sides[1:], moments[1:], strict=True):
            control, arm = moments[0][metric.name], own[metric.name]
            results.append({"kind": kind, **_describe(metric, side, control, arm, test)})
    return results


def _compare_parts(experiment: Experiment, sides: Sequence[ArmRows], span: Span, field: str) -> list[dict[str, Any]]:
    """Return the failure rate of each op, or the primary metric of each model or client: exploratory."""
    metric = FAILURE_RATE if field == "op" else METRICS[experiment.primary_metric]
    source = metric.source
    if field == "client" and not any(each.name == "client" for each in source._meta.fields):
        return []
    by_side = [
        sums.sum_metrics_by([metric], {source: side.rows[source]}, span, by=field, subjects=side.subjects)
        for side in sides
    ]
    amounts = {part: sum(side[part][metric.name].amount for side in by_side if part in side) for part in by_side[0]}
    parts = sorted(filter(None, amounts), key=lambda part: -amounts[part])[:MAX_PARTS]
    test = MetricTest(MetricKind.RATIO, metric.lower_is_better, experiment.alpha, experiment.tuning)
    results = [
        {"part": part, **_describe(metric, side, by_side[0][part][metric.name], own[part][metric.name], test)}
        for part in parts
        for side, own in zip(sides[1:], by_side[1:], strict=True)
        if part in own
    ]
    _adjust(results, experiment.alpha)
    return results


def _describe(metric: Metric, side: ArmRows, control: ArmMoments, own: ArmMoments, test: MetricTest) -> dict[str, Any]:
    result = statistics.compare_arms(control, own, test)
    first, second = (each.estimate(test.kind) for each in (control, own))
    return {
        "metric": metric.name,
        "arm": side.arm.name,
        "control": first and first.value,
        "value": second and second.value,
        "difference": result.difference,
        "low": result.low,
        "high": result.high,
        "p": result.p,
        "verdict": result.verdict.value,
        "users": [control.counted, own.counted],
        "amount": [control.amount, own.amount],
    }


def _adjust(results: Collection[dict[str, Any]], alpha: float) -> None:
    """Take back verdicts that chance would give among so many."""
    for result, p in zip(results, statistics.adjust_p_values(each["p"] for each in results), strict=True):
        result["adjusted_p"] = p
        if p > alpha and result["verdict"] != ArmVerdict.WAIT:
            result["verdict"] = ArmVerdict.NONE.value


def find_worst_op(figures: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the op that adds most failed calls in the new arm; None without one."""
    rows: Iterable[Mapping[str, Any]] = (each for each in figures["ops"] if (each["difference"] or 0) > 0)
    return max(rows, key=lambda each: each["difference"] * each["amount"][1], default=None)


def count_callers(figures: Mapping[str, Any]) -> int:
    """Return how many users made a call in the arm with fewest: those without one tell nothing of failures."""
    rates = [each for each in figures.get("metrics", ()) if each["metric"] == FAILURE_RATE.name]
    return min((int(users) for each in rates for users in each["users"]), default=0)


def has_enough_users(experiment: Experiment) -> bool:
    """Return whether the stored figures have enough users on each side for a test."""
    latest = get_latest(experiment)
    return latest is not None and count_callers(latest.figures or {}) >= statistics.MIN_SUBJECTS


def has_calls(experiment: Experiment, since: datetime) -> bool:
    """Return whether anybody in the experiment called since a time."""
    names = [arm.name for arm in experiment.list_arms()]
    condition = Q()
    for name in names:
        condition |= match_cohort(name)
    return SubjectFigures.objects.filter(condition, begin__gte=since, calls__gt=0).exists()
