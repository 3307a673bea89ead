"""Read arms of experiments from JSON, and judge them: what manage.py judge_arms does.

Whoever wants to check this product's statistics, or to use them for figures of their own, needs no database.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any, cast

from analytics.experiments import statistics
from analytics.experiments.statistics import ArmMoments, MetricKind, MetricTest


class InvalidArms(ValueError):
    """The file does not say what to compare; the message says where, and what to send instead."""


def judge_entries(entries: object) -> list[dict[str, Any]]:
    """Return a result for each arm but the first, which is the control, of each entry; see docs/experiments.md."""
    if not isinstance(entries, list):
        raise InvalidArms("Send a JSON list of objects, each with a metric and its arms.")
    results = []
    for number, entry in enumerate(entries, start=1):
        try:
            results += _judge_entry(entry)
        except InvalidArms as error:
            raise InvalidArms(f"Entry {number}: {error}") from None
    return results


def _judge_entry(entry: object) -> list[dict[str, Any]]:
    if not isinstance(entry, dict):
        raise InvalidArms("send an object with metric, alpha, tuning, sides and arms.")
    test, arms = _read_test(entry), _read_arms(entry)
    counts = [len(pairs) for pairs in arms.values()]
    ratio = statistics.compute_sample_ratio_p_value(counts, _read_weights(entry, len(counts)))
    control, *others = (ArmMoments.of_pairs(pairs) for pairs in arms.values())
    compared = [statistics.compare_arms(control, arm, test) for arm in others]
    return [
        {
            "difference": each.difference,
            "low": each.low,
            "high": each.high,
            "p": each.p,
            "verdict": each.verdict.value,
            "sample_ratio_p": ratio,
        }
        for each in compared
    ]


def _read_test(entry: Mapping[str, Any]) -> MetricTest:
    metric = entry.get("metric")
    kinds = [kind.value for kind in MetricKind]
    if not isinstance(metric, dict) or metric.get("kind") not in kinds:
        raise InvalidArms('metric needs a kind, "ratio" or "mean": {"kind": "ratio", "lower_is_better": true}.')
    lower_is_better = metric.get("lower_is_better")
    if not isinstance(lower_is_better, bool):
        raise InvalidArms("metric.lower_is_better must be true or false.")
    alpha, tuning, tails = entry.get("alpha", 0.05), entry.get("tuning", 5_000), entry.get("sides", 2)
    if not _is_number(alpha) or not 0 < alpha < 0.5:
        raise InvalidArms("alpha must be a number between 0 and 0.5, such as 0.05.")
    if not _is_number(tuning) or tuning <= 0:
        raise InvalidArms("tuning must be a number above 0: the subjects at which the interval is to be tightest.")
    if isinstance(tails, bool) or tails not in (1, 2):
        raise InvalidArms("sides must be 1, to test harm only, or 2.")
    return MetricTest(MetricKind(metric["kind"]), lower_is_better, alpha, tuning, tails)


def _read_arms(entry: Mapping[str, Any]) -> dict[str, Sequence[Sequence[float]]]:
    arms = entry.get("arms")
    if not isinstance(arms, dict) or len(arms) < 2:
        raise InvalidArms("arms must be an object with at least two arms, the control first.")
    for name, pairs in arms.items():
        if not isinstance(pairs, list) or not all(map(_is_pair, pairs)):
            raise InvalidArms(
                f"arm {name!r} must be a list of [numerator, denominator], one pair of numbers a subject."
            )
    return arms


def _is_pair(pair: object) -> bool:
    return isinstance(pair, list) and len(pair) == 2 and _is_number(pair[0]) and _is_number(pair[1])


def _is_number(value: object) -> bool:
    kind = type(value)  # bool is a subclass of int
    return (kind is int and abs(cast(int, value)) < 2**53) or (kind is float and isfinite(cast(float, value)))


def _read_weights(entry: Mapping[str, Any], arms: int) -> Sequence[float]:
    weights: Any = entry.get("weights")
    if weights is None:
        return [1] * arms
    if isinstance(weights, dict):  # by name, as the arms
        names: Iterable[str] = entry["arms"]
        weights = [weights.get(name) for name in names]
    if (
        not isinstance(weights, list)
        or len(weights) != arms
        or not all(_is_number(each) and each > 0 for each in weights)
    ):
        raise InvalidArms("weights must be a list of numbers above 0, one for each arm in their order.")
    return weights
