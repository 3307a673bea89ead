"""Figures of each surface with 95% confidence intervals over tasks.

A task is the unit: its repeats are averaged first, because repeats of one task say little about other tasks. Success
has Wilson's interval for that many tasks, which is valid when all or none succeed. Differences of success on the same
tasks have the interval of Bonett and Price, which is valid when no task differs. All other figures and differences have
percentile bootstrap intervals over tasks.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from types import MappingProxyType

import numpy as np

from analytics.experiments.proportions import Z, compute_wilson_interval
from benchmarks.surfaces.sessions import SessionResult

RESAMPLES = 5_000
SEED = 20
SUCCESS = "success"

FIGURES: Mapping[str, Callable[[SessionResult], float]] = MappingProxyType(
    {
        SUCCESS: lambda session: float(session.is_success),
        "rounds": lambda session: session.rounds,
        "calls": lambda session: session.calls,
        "repairs": lambda session: session.repairs,
        "input_tokens": lambda session: session.input_tokens,
        "output_tokens": lambda session: session.output_tokens,
        "seconds": lambda session: session.seconds,
        "dollars": lambda session: session.dollars,
    }
)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over tasks with its 95% confidence interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class SurfaceFigures:
    """The figures of one surface, and what they are about."""

    surface: str
    tasks: int
    sessions: int
    figures: Mapping[str, Estimate]


@dataclass(frozen=True, slots=True)
class SurfaceDifference:
    """How a surface differs from the first one on the tasks that both ran: the surface minus the first."""

    surface: str
    baseline: str
    tasks: int
    figures: Mapping[str, Estimate]


def summarize_surfaces(sessions: Sequence[SessionResult], surfaces: Sequence[str]) -> list[SurfaceFigures]:
    """Return the summary of each surface that has sessions."""
    summaries = []
    for surface in surfaces:
        own = [session for session in sessions if session.surface == surface]
        if not own:
            continue
        figures = {name: estimate_mean(list(average_by_task(own, get).values())) for name, get in FIGURES.items()}
        tasks = len({session.task for session in own})
        figures[SUCCESS] = _estimate_success(figures[SUCCESS].mean, tasks)
        summaries.append(SurfaceFigures(surface, tasks, len(own), figures))
    return summaries


def compare_surfaces(sessions: Sequence[SessionResult], surfaces: Sequence[str]) -> list[SurfaceDifference]:
    """Return how each surface differs from the first one on the same tasks."""
    by_surface = {name: [session for session in sessions if session.surface == name] for name in surfaces}
    present = [name for name in surfaces if by_surface[name]]
    differences = []
    for surface in present[1:]:
        figures, shared = {}, set[str]()
        for name, get in FIGURES.items():
            first, own = average_by_task(by_surface[present[0]], get), average_by_task(by_surface[surface], get)
            shared = first.keys() & own.keys()
            if shared:
                estimate = estimate_success_difference if name == SUCCESS else estimate_mean
                figures[name] = estimate([own[task] - first[task] for task in sorted(shared)])
        if shared:
            differences.append(SurfaceDifference(surface, present[0], len(shared), figures))
    return differences


def average_by_task(sessions: Sequence[SessionResult], get: Callable[[SessionResult], float]) -> dict[str, float]:
    """Return the mean of a figure over the repeats of each task."""
    values: dict[str, list[float]] = {}
    for session in sessions:
        values.setdefault(session.task, []).append(get(session))
    return {task: sum(each) / len(each) for task, each in values.items()}


def estimate_mean(values: Sequence[float]) -> Estimate:
    """Return the mean of the values of tasks, with its bootstrap interval."""
    array = np.asarray(values, dtype=float)
    chosen = np.random.default_rng(SEED).integers(0, len(array), size=(RESAMPLES, len(array)))
    low, high = np.percentile(array[chosen].mean(axis=1), [2.5, 97.5])
    return Estimate(float(array.mean()), float(low), float(high))


def estimate_success_difference(differences: Sequence[float]) -> Estimate:
    """Return the mean difference of success on the same tasks, each from -1 to 1, with its interval.

    D. G. Bonett, R. M. Price, Journal of Educational and Behavioral Statistics 37 (2012) 479–488: one more task that
    only the one surface does, and one more that only the other does. A bootstrap would claim certainty if no task
    differs.
    """
    total = len(differences) + 2
    gained = (sum(max(each, 0) for each in differences) + 1) / total
    lost = (sum(max(-each, 0) for each in differences) + 1) / total
    half = Z * sqrt((gained + lost - (gained - lost) ** 2) / total)
    low, high = max(-1.0, gained - lost - half), min(1.0, gained - lost + half)
    return Estimate(sum(differences) / len(differences), low, high)


def _estimate_success(rate: float, tasks: int) -> Estimate:
    # A task that succeeds in some of its repeats counts as that part of a success.
    interval = compute_wilson_interval(rate * tasks, tasks)  # type: ignore[arg-type]
    return Estimate(rate, interval.low, interval.high)
