"""Verdicts in words: the sentence at the top of a report, and what to do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analytics.reports.comparison import MIN_SAMPLE, MetricComparison
from analytics.reports.verdicts import Advice, Verdict
from console.reports import tables
from console.reports.verdicts.comparison_text import format_distances, format_magnitude, format_signed

# Hits of each metric, as in "4.4 points fewer failures".
HITS = {
    "Failure rate": "failed calls",
    "Repair rate": "repaired failures",
    "Turns with a successful call": "turns with a successful call",
    "Turns with an unknown name": "turns with an unknown name",
    "Turns with a loop": "turns with a loop",
    "Searches that found nothing": "searches that found nothing",
}
TONES = {Advice.WIDEN: "good", Advice.STOP: "bad", Advice.HOLD: "warning"}  # of others: neutral


@dataclass(frozen=True, slots=True)
class VerdictBox:
    """The verdict at the top of a page, with links to act on it."""

    text: str
    tone: str = "neutral"
    links: Sequence[tuple[str, str]] = ()  # label, URL


def describe_verdict(verdict: Verdict, name: str, other: str, advice_texts: Mapping[Advice, str]) -> str:
    """Return what the figures say about `name` against `other`, and what to do about it."""
    sentence = f"{name}: {_describe_reason(verdict, other)}"
    advice = advice_texts.get(verdict.advice, "")
    return f"{sentence} {advice}".strip()


def get_tone(verdict: Verdict) -> str:
    """Return the colour of the box, by what the verdict says."""
    return TONES.get(verdict.advice, "neutral")


def describe_difference(each: MetricComparison, than: str = "") -> str:
    """Return a difference beyond chance with its interval: "4.4 points fewer failed calls than copy-a (2.9 to 5.9)"."""
    if each.interval is None or each.difference is None:
        raise ValueError("There is no difference without an interval.")
    direction = "fewer" if each.difference < 0 else "more"
    points = format_magnitude(abs(each.difference), each.interval)
    return f"{points} points {direction} {HITS[each.metric.name]}{than} ({format_distances(each.interval)})"


def _describe_reason(verdict: Verdict, other: str) -> str:
    reason = verdict.reason
    if reason.interval is None:
        return _describe_wait(reason, other)
    if verdict.advice == Advice.NO_DIFFERENCE:
        low, high = (format_signed(end, reason.interval) for end in reason.interval)
        sentence = (
            f"no difference in {HITS[reason.metric.name]} from {other} beyond chance (between {low} and {high} points)"
        )
        return f"{sentence}{_list_others(', but ', verdict.better)}."
    sentence = describe_difference(reason, f" than {other}")
    if verdict.advice == Advice.WIDEN:
        return f"{sentence}, and no rate got worse."
    return f"{sentence}{_list_others(', and ', verdict.worse)}{_list_others(', but ', verdict.better)}."


def _describe_wait(reason: MetricComparison, other: str) -> str:
    """Return how much data is missing on the side that has less of it."""
    smaller = min(reason.first.total, reason.second.total)
    counts = f"{tables.format_count(smaller)} of {MIN_SAMPLE} {reason.metric.denominator}"
    if reason.first.total < reason.second.total:
        counts += f" from {other}"
    if reason.days_to_wait is None:
        return f"not enough data yet: {counts}."
    unit = "day" if reason.days_to_wait == 1 else "days"
    return f"not enough data yet: {counts}, so about {reason.days_to_wait:,} more {unit} at this rate."


def _list_others(prefix: str, comparisons: Sequence[MetricComparison]) -> str:
    return prefix + " and ".join(map(describe_difference, comparisons)) if comparisons else ""
