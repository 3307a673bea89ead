"""Simulated users of two arms and their calls over time, as the sums of each arm at each look.

A run is one experiment. Its users come at any time, each with a failure rate of its own, and call from then on until
the end. Arrays hold one item a call, in the order of runs, arms, users and time.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from math import inf
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from analytics.experiments import statistics
from analytics.experiments.statistics import ArmMoments

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
ArmSums = dict[str, Floats]  # named as by ArmMoments.of_sums, with n and past; of the shape (runs, arms, looks)

LOOKS = 1_440
MAX_CALLS = 10_000  # of a user
NEWCOMERS = 0.3  # share of users without a past


@dataclass(frozen=True, slots=True)
class CallDistribution:
    """How many calls users make, and the limit that is fixed beforehand."""

    name: str
    draw: Callable[[Generator, int], Floats]
    limit: float = inf


LOG_NORMAL = CallDistribution(
    "log-normal, σ 1.3", lambda generator, users: np.rint(generator.lognormal(1.4, 1.3, users))
)
LIMITED = replace(LOG_NORMAL, name=f"{LOG_NORMAL.name}, at most 50", limit=50)
PARETO = CallDistribution("Pareto 1.2, at most 50", lambda generator, users: 1 + generator.pareto(1.2, users), limit=50)


@dataclass(frozen=True, slots=True)
class FailureRates:
    """How the failure rates of users differ: their mean, and the correlation of two calls of a user."""

    mean: float
    correlation: float

    def draw(self, generator: Generator, users: int) -> Floats:
        """Return a rate for each user, from a beta distribution."""
        if not self.correlation:
            return np.full(users, self.mean)
        size = 1 / self.correlation - 1
        return generator.beta(self.mean * size, (1 - self.mean) * size, users)


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Which calls failed, and the sums that follow from it."""

    failed: NDArray[np.bool_]
    sums: ArmSums

    def get_moments(self, run: int, look: int) -> list[ArmMoments]:
        """Return the moments of both arms at a look, as the product makes them of sums."""
        moments = []
        for arm in (0, 1):
            at_look = {name: float(values[run, arm, look]) for name, values in self.sums.items()}
            subjects, with_past = int(at_look.pop("n")), int(at_look.pop("past", 0))
            names = sorted(at_look, key=lambda name: (len(name), name))
            moments.append(ArmMoments.of_sums(subjects, [at_look[name] for name in names], with_past=with_past))
        return moments


class CallTimeline:
    """The calls of several runs: who makes them, and before which look."""

    def __init__(self, generator: Generator, counts: CallDistribution, *, runs: int, users: tuple[int, int]) -> None:
        """Draw the calls of the users of both arms of each run."""
        self.runs, self.users = runs, users
        self._generator, self._counts = generator, counts
        total = runs * sum(users)
        self._calls = np.clip(self._draw_counts(total), 1, MAX_CALLS)  # of each user
        ends = np.cumsum(self._calls)
        self._firsts = ends - self._calls
        numbers = np.arange(1, ends[-1] + 1) - self._spread(self._firsts)  # 1 is the first call of a user
        self._share = np.minimum(1.0, counts.limit / numbers)
        self._looks = self._draw_looks(ends)
        self._bins = self._looks + self._spread(np.repeat(np.arange(2 * runs), users * runs) * LOOKS)
        self._denominators = numbers * self._share
        self._sums = {"n": self._sum_up(np.ones(len(numbers)))} | self._sum_up_all({"b": self._denominators})

    def draw_outcomes(self, rates: FailureRates, *, past: bool = False) -> Outcomes:
        """Draw which calls fail; with a past, users have also made calls before, at the same rates."""
        own = rates.draw(self._generator, len(self._calls))
        failed = self._generator.random(self._firsts[-1] + self._calls[-1], dtype=np.float32) < self._spread(
            own.astype(np.float32)
        )
        sums = np.cumsum(failed)
        states = {"a": (sums - self._spread(sums[self._firsts] - failed[self._firsts])) * self._share}
        states["b"] = self._denominators
        known = dict(self._sums)
        if past:
            calls = self._draw_past_counts()
            share = np.minimum(1.0, self._counts.limit / np.maximum(calls, 1))
            states["c"] = self._spread(self._generator.binomial(calls, own) * share)
            states["d"] = self._spread(calls * share)
            known["past"] = self._sum_up((states["d"] > 0).astype(float))
        return Outcomes(failed, self._sum_up_all(states, known))

    def list_pairs(self, outcomes: Outcomes, run: int, arm: int, look: int) -> list[tuple[float, float]]:
        """Return the [failed calls, calls] of each user of an arm at a look, which the product winsorises."""
        first, size = run * sum(self.users) + sum(self.users[:arm]), self.users[arm]
        pairs = []
        for start, calls in zip(self._firsts[first:][:size], self._calls[first:][:size], strict=True):
            seen = int(np.searchsorted(self._looks[start : start + calls], look, side="right"))
            if seen:
                hits = int(outcomes.failed[start : start + seen].sum())
                pairs.append(statistics.winsorise((hits, seen), self._counts.limit))
        return pairs

    def _draw_counts(self, users: int) -> Ints:
        return np.minimum(self._counts.draw(self._generator, users), MAX_CALLS).astype(np.int64)

    def _draw_past_counts(self) -> Ints:
        """Return how many calls each user made before: none, or about as many as later."""
        about = self._calls * self._generator.lognormal(0, 0.5, len(self._calls))
        return np.rint(about).astype(np.int64) * (self._generator.random(len(about)) >= NEWCOMERS)

    def _draw_looks(self, ends: Ints) -> Ints:
        """Return the look that first sees each call: of a user's first call any, of its other calls any later one.

        Sums of exponential gaps, divided by their total, are uniform times in their order.
        """
        arrivals = self._generator.random(len(ends))
        gaps = self._generator.standard_exponential(ends[-1])
        after = np.cumsum(gaps)
        before = after - gaps
        start = before[self._firsts]
        speeds = (1 - arrivals) * LOOKS / (after[ends - 1] - start)
        looks = self._spread(arrivals * LOOKS - start * speeds) + before * self._spread(speeds)
        numbers: Ints = np.minimum(looks, LOOKS - 1).astype(np.int64)
        return numbers

    def _spread(self, of_users: NDArray[Any]) -> NDArray[Any]:
        """Return the value of each call's user."""
        return np.repeat(of_users, self._calls)

    def _sum_up_all(self, states: ArmSums, known: ArmSums | None = None) -> ArmSums:
        """Return the sums of each state and of the products of two, but for those that are known."""
        sums = dict(known or {})
        for name in sorted(states):
            sums[name] = sums[name] if name in sums else self._sum_up(states[name])
        for left, right in combinations_with_replacement(sorted(states), 2):
            if left + right not in sums:
                sums[left + right] = self._sum_up(states[left] * states[right])
        return sums

    def _sum_up(self, states: Floats) -> Floats:
        """Return the sums over users at each look of what is true of a user after each call."""
        changes = np.empty_like(states)
        changes[1:] = states[1:] - states[:-1]
        changes[self._firsts] = states[self._firsts]
        added = np.bincount(self._bins, changes, self.runs * 2 * LOOKS)
        return np.cumsum(added.reshape(self.runs, 2, LOOKS), axis=2)


def split_runs(runs: int, at_once: int) -> Iterable[int]:
    """Yield the sizes of parts of the runs, so that the arrays of a part fit into the cache of a processor."""
    while runs > 0:
        yield min(runs, at_once)
        runs -= at_once
