"""Plan an experiment by the last four weeks: how many users it gets, how long it takes, and what it cannot find.

The plan is that of the test that judges the experiment, which may be looked at every minute: its interval is wider than
that of a test for one look, so the usual formula for a sample size would promise too much.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from functools import lru_cache
from itertools import accumulate
from math import ceil, sqrt
from typing import Any

from django.db.models import Min, Sum

from analytics.experiments import sums
from analytics.experiments.arm_plans import ArmPlan
from analytics.experiments.metrics import METRICS, SOURCES
from analytics.experiments.statistics import MIN_SUBJECTS, MetricEstimate, MetricKind, choose_tuning, compute_half_width
from analytics.experiments.sums import Span
from analytics.flags import FlagKey
from analytics.rollout import exposures, impact
from analytics.rollout.evaluation import BUCKETS
from analytics.rollout.experiments import Experiment
from analytics.rollout.models import Cohort, CohortRule, Flag
from analytics.rollups.models import SubjectFigures

PERIODS = (7, 14, 28)  # days. A week at least, because weekdays differ
HISTORY_DAYS = PERIODS[-1]
POWER_ERRORS = 0.84  # standard errors by which 80% of experiments exceed a given difference
MIN_CALL_LIMIT = 10
CALL_LIMIT_PERCENTILE = 0.95
MAX_SUBJECTS = 10**9  # that a plan asks for
CACHE_MINUTES = 10  # for which a form that is edited reads the history once


@dataclass(frozen=True, slots=True)
class ArrivalCurve:
    """How many users had come by the end of each of the last days, each counted on the first one."""

    by_day: tuple[int, ...]

    @property
    def new_a_day(self) -> float:
        """How many new users the last days brought."""
        days = min(7, len(self.by_day) - 1)
        return (self.by_day[-1] - self.by_day[-1 - days]) / days if days > 0 else float(sum(self.by_day))

    def count_users(self, days: int) -> float:
        """Return how many users come within some days. After the history, they come as in its last days."""
        if not self.by_day or days < 1:
            return 0.0
        known = self.by_day[min(days, len(self.by_day)) - 1]
        return known + max(0, days - len(self.by_day)) * self.new_a_day

    def find_days(self, users: float) -> int | None:
        """Return in how many days so many users come; None if they never do."""
        for days, count in enumerate(self.by_day, start=1):
            if count >= users:
                return days
        if not self.by_day or not self.new_a_day:
            return None
        return len(self.by_day) + ceil((users - self.by_day[-1]) / self.new_a_day)


@dataclass(frozen=True, slots=True)
class ExperimentPlan:
    """What an experiment can be expected to do. Users are those of all arms; None is not known."""

    reach: float  # share of the users of the gateway that get into it
    users_a_day: int
    users_a_week: int
    users_in_history: int  # that it would have got within the last four weeks
    level: float | None  # of the primary metric now
    needed: int | None  # users for an 80% chance to find the smallest effect
    days: int | None  # until these have come
    detectable: float | None  # the smallest effect that it can find in four weeks, in percent of the metric
    call_limit: int
    planned_subjects: int  # those that are needed; 0 if that is not known
    tuning: int

    def apply(self, experiment: Experiment) -> None:
        """Fix how the experiment is judged, unsaved."""
        for name in ("call_limit", "planned_subjects", "tuning"):
            setattr(experiment, name, getattr(self, name))


def plan_experiment(
    experiment: Experiment, arms: Sequence[ArmPlan], rules: Iterable[CohortRule], at: datetime
) -> ExperimentPlan:
    """Return the plan of an unsaved or saved experiment. `rules` are those of its audience, saved or not."""
    now = at.replace(minute=at.minute // CACHE_MINUTES * CACHE_MINUTES, second=0, microsecond=0)
    traffic = _measure_traffic(now)
    reach = _measure_reach(experiment, rules, at)
    weights = [arm.weight for arm in arms]
    pair = weights[0], min(weights[1:])  # the control, and the arm with fewest users
    pair_share = sum(pair) / sum(weights)
    coming = traffic.count_users(HISTORY_DAYS) * reach
    level, needed, spread, limit = None, None, None, MIN_CALL_LIMIT
    for days in PERIODS:
        limit = _find_call_limit(days, now)
        estimate = _estimate_metric(experiment.primary_metric, days, limit, now)
        if estimate is None:
            continue
        level, spread = estimate.value, estimate.variance * estimate.subjects
        effect = abs(level) * experiment.smallest_effect / 100
        if effect and spread:
            needed = ceil(find_needed_subjects(spread, effect, pair, alpha=experiment.alpha) / pair_share)
        if needed is not None and traffic.count_users(days) * reach >= needed:
            break
    detectable = None
    if spread and level:
        detectable = _find_detectable_effect(spread, coming * pair_share, pair, alpha=experiment.alpha)
    planned = int(coming) if needed is None else min(needed, int(coming))
    return ExperimentPlan(
        reach=reach,
        users_a_day=round(traffic.count_users(1) * reach),
        users_a_week=round(traffic.count_users(7) * reach),
        users_in_history=round(coming),
        level=level,
        needed=needed,
        days=traffic.find_days(needed / reach) if needed and reach else None,
        detectable=detectable and detectable / abs(level or 1) * 100,
        call_limit=limit,
        planned_subjects=needed or 0,
        tuning=choose_tuning(int(planned * pair_share), smaller_share=min(pair) / sum(pair)),
    )


def find_needed_subjects(spread: float, effect: float, weights: tuple[float, float], *, alpha: float) -> int:
    """Return the subjects of two arms with which an effect is found in 80% of experiments, at the latest.

    `spread` is the variance of one subject, linearised for ratios; `weights` are the parts of the arms.
    """
    low = ceil(MIN_SUBJECTS * sum(weights) / min(weights))
    high = MAX_SUBJECTS
    while low < high:
        middle = (low + high) // 2
        if _compute_smallest_effect(spread, middle, weights, alpha=alpha) <= effect:
            high = middle
        else:
            low = middle + 1
    return low


def clear_cache() -> None:
    """Forget the history that was read, for tests."""
    for cached in (_measure_traffic, _estimate_metric, _find_call_limit):
        cached.cache_clear()


def _compute_smallest_effect(spread: float, subjects: float, weights: tuple[float, float], *, alpha: float) -> float:
    """Return the effect that is found in 80% of experiments with so many subjects of two arms."""
    variance = sum(spread * sum(weights) / (subjects * weight) for weight in weights)
    tuning = choose_tuning(int(subjects), smaller_share=min(weights) / sum(weights))
    half = compute_half_width(variance, int(subjects), alpha=alpha, tuning=tuning)
    return half + POWER_ERRORS * sqrt(variance)


def _find_detectable_effect(
    spread: float, subjects: float, weights: tuple[float, float], *, alpha: float
) -> float | None:
    if subjects * min(weights) / sum(weights) < MIN_SUBJECTS:
        return None
    return _compute_smallest_effect(spread, subjects, weights, alpha=alpha)


def _measure_reach(experiment: Experiment, rules: Iterable[CohortRule], at: datetime) -> float:
    """Return the share of the users seen last week that get into the experiment: the rest of earlier cohorts."""
    everyone = Cohort(name=" all", flag=Flag(key=experiment.flag_id), variant=" all", percentage=100)  # no other's name
    rollout = impact.apply_cohort(everyone, rules)
    seen = exposures.list_recent(at)
    outcomes = (rollout.evaluate(FlagKey(experiment.flag_id), context) for context in seen)
    matching = sum(outcome.cohort == everyone.name for outcome in outcomes) / len(seen) if seen else 1.0
    return matching * int(experiment.share * BUCKETS / 100) / BUCKETS


def _find_begin(days: int, at: datetime) -> datetime:
    """Return the start of the first of the last `days` days in UTC, the last of which is today."""
    return datetime.combine(at.astimezone(UTC).date() - timedelta(days=days - 1), time(), UTC)


def _select_figures(days: int, at: datetime) -> Any:
    return SubjectFigures.objects.filter(begin__gte=_find_begin(days, at), begin__lt=at).exclude(subject="").order_by()


@lru_cache(maxsize=1)
def _measure_traffic(at: datetime) -> ArrivalCurve:
    firsts = _select_figures(HISTORY_DAYS, at).values("subject").annotate(first=Min("begin"))
    counts = Counter(first.astimezone(UTC).date() for first in firsts.values_list("first", flat=True))
    if not counts:
        return ArrivalCurve(())
    days = (at.astimezone(UTC).date() - min(counts)).days + 1
    return ArrivalCurve(tuple(accumulate(counts[min(counts) + timedelta(days=day)] for day in range(days))))


@lru_cache(maxsize=len(METRICS) * len(PERIODS))
def _estimate_metric(name: str, days: int, limit: int, at: datetime) -> MetricEstimate | None:
    metric, begin = METRICS[name], _find_begin(days, at)
    rows = metric.source._default_manager.filter(**{f"{SOURCES[metric.source].time}__gte": begin})
    moments = sums.sum_metrics([metric], {metric.source: rows}, Span(begin, at, limit))[name]
    return moments.estimate(MetricKind.RATIO) if moments.subjects else None


@lru_cache(maxsize=len(PERIODS))
def _find_call_limit(days: int, at: datetime) -> int:
    """Return the 95th percentile of the calls of a user."""
    rows = _select_figures(days, at).filter(calls__gt=0)
    place = int(rows.values("subject").distinct().count() * CALL_LIMIT_PERCENTILE)
    totals = rows.values("subject").annotate(total=Sum("calls")).order_by("total")
    return max([MIN_CALL_LIMIT, *(int(each["total"]) for each in totals[place : place + 1])])
