"""The verdict on an experiment in a sentence that is true whenever it is read: for pages and the API."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.utils.text import capfirst

from analytics.experiments import arm_text, interruptions, metric_text
from analytics.experiments.metrics import METRICS
from analytics.experiments.results import SAMPLE_RATIO_ALPHA
from analytics.experiments.statistics import MIN_SUBJECTS, ArmVerdict
from analytics.flags import LIVE
from analytics.rollout.experiments import Experiment

NO_DIFFERENCE = "no difference beyond chance"
ONE_OF_SEVERAL = "May be chance, as one of several"  # whose intervals would each leave zero out by chance
ANY_TIME = "You may look at this at any time."
# What an arm does by a metric, with {amount} and whether that is {less} or {fewer} than in the control.
PHRASES = {
    "failure_rate": "fails {amount} {less}",
    "first_call_success": "succeeds {amount} {less} often with the first call",
    "turn_success": "succeeds in {amount} {fewer} turns",
    "invalid_rate": "sends invalid args {amount} {less} often",
    "repair_rate": "repairs failures {amount} {less} often",
    "unknown_names": "uses {amount} {fewer} unknown names per call",
    "help_per_call": "reads help {amount} times {less} per call",
    "miss_rate": "searches in vain {amount} {less} often",
    "unknown_turns": "uses unknown names in {amount} {fewer} turns",
    "loop_rate": "loops in {amount} {fewer} turns",
    "calls_per_turn": "makes {amount} {fewer} calls per turn",
    "tokens_per_success": "takes {amount} {less} per succeeding turn",
    "dollars_per_turn": "costs {amount} {less} per turn",
    "latency": "takes {amount} {less} per call",
    "thumbs_up": "gets thumbs up {amount} {less} often",
    "outcome": "succeeds {amount} {less} often by what the chat reports",
}


class Tone(StrEnum):
    """How a verdict is coloured."""

    GOOD = "good"
    BAD = "bad"
    WARNING = "warning"
    NEUTRAL = "neutral"


@dataclass(frozen=True, slots=True)
class ExperimentVerdict:
    """What the figures of an experiment say."""

    text: str
    tone: Tone = Tone.NEUTRAL
    is_clear: bool = False  # whether an arm is better or worse by the primary metric

    @property
    def speaks_for_shipping(self) -> bool:
        return self.tone == Tone.GOOD


def describe_verdict(experiment: Experiment, figures: Mapping[str, Any] | None) -> ExperimentVerdict:
    """Return the verdict of the stored figures."""
    if experiment.state == Experiment.State.DRAFT:
        return ExperimentVerdict("This is a draft: nobody gets it yet.")
    if figures is None and experiment.state != Experiment.State.RUNNING:
        return ExperimentVerdict("It ended before its first figures.")
    if figures is None:
        return ExperimentVerdict("There are no figures yet. They are computed every minute while it runs.")
    if figures["sample_ratio_p"] < SAMPLE_RATIO_ALPHA:
        counts = ", ".join(f"{name}: {count:,}" for name, count in figures["subjects"].items())
        text = "The arms do not have the planned numbers of users, so no figure can be believed"
        return ExperimentVerdict(f"{text} ({counts}).", Tone.BAD)
    rows = list_primary_rows(experiment, figures)
    names = name_arms(experiment)
    text = f"{capfirst('; '.join(_describe_row(each, names) for each in rows))}."
    verdicts = {each["verdict"] for each in rows}
    is_clear = bool(verdicts & {ArmVerdict.BETTER, ArmVerdict.WORSE})
    if experiment.state == Experiment.State.RUNNING:
        text = f"{text} {ANY_TIME}"
    if experiment.is_aa:
        if is_clear:
            return ExperimentVerdict(f"{text} Yet all arms get the same: chance, or broken recording.", Tone.WARNING)
        return ExperimentVerdict(f"{text} All arms get the same, so nothing should be found.")
    if ArmVerdict.BETTER in verdicts:
        harms = [each for each in figures["guardrails"] if each["verdict"] == ArmVerdict.WORSE]
        return ExperimentVerdict(text, Tone.WARNING if harms else Tone.GOOD, is_clear)
    return ExperimentVerdict(text, Tone.BAD if ArmVerdict.WORSE in verdicts else Tone.NEUTRAL, is_clear)


def describe_hold(experiment: Experiment) -> str:
    """Return what a person has to decide, in words that follow its name; "" if nothing. Only a guarded one waits."""
    if not experiment.hold_reason:
        return ""
    state = "waits for you" if experiment.is_guarded else "runs on, and needs a decision"
    return f"{state}. {experiment.hold_reason}"


def list_primary_rows(experiment: Experiment, figures: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the primary metric of each arm beside the control."""
    return [each for each in figures["metrics"] if each["metric"] == experiment.primary_metric]


def name_arms(experiment: Experiment) -> dict[str, str]:
    """Return what the users of each arm have, by its name, the control first; its name if others have the same."""
    arms = experiment.list_arms()
    if len({arm.variant for arm in arms}) < len(arms):
        return {arm.name: arm.name for arm in arms}
    live = interruptions.find_control_release(experiment)
    return {
        arm.name: arm_text.name_variant(experiment.flag_id, live if arm.variant == LIVE else arm.variant)
        for arm in arms
    }


def describe_change(row: Mapping[str, Any]) -> str:
    """Return what a row of the figures says of a metric: "better, 1.2 to 5.0 points less", "wait: 12 and 15 users"."""
    metric = METRICS[row["metric"]]
    if row["value"] is None or row["control"] is None:
        return "No data"
    if row["verdict"] == ArmVerdict.WAIT:
        users = " and ".join(f"{count:,}" for count in row["users"])
        return f"Wait: {users} users with data; {MIN_SUBJECTS} each are needed"
    if row["low"] is None or row["high"] is None:
        return capfirst(NO_DIFFERENCE if row["verdict"] == ArmVerdict.NONE else row["verdict"])
    if row["low"] == row["high"] == 0:
        return "No difference seen"  # everyone was alike, which does not say that all others will be
    if row["verdict"] == ArmVerdict.NONE:
        interval = metric_text.format_range(metric, row["low"], row["high"], with_unit=True)
        is_clear_alone = not row["low"] <= 0 <= row["high"]
        return f"{ONE_OF_SEVERAL if is_clear_alone else capfirst(NO_DIFFERENCE)}: {interval}"
    near, far = sorted((abs(row["low"]), abs(row["high"])))
    distance = metric_text.format_range(metric, near, far, signed=False, with_unit=True)
    return f"{capfirst(row['verdict'])}: {distance} {'less' if row['difference'] < 0 else 'more'}"


def _describe_row(row: Mapping[str, Any], names: Mapping[str, str]) -> str:
    metric, arm, control = METRICS[row["metric"]], names[row["arm"]], next(iter(names.values()))
    if row["value"] is None or row["control"] is None:
        return f"wait: there is no {_lower(metric.title)} of {arm if row['value'] is None else control} yet"
    if row["verdict"] == ArmVerdict.WAIT or row["low"] is None or row["high"] is None:
        of_control, own = row["users"]
        need = f"a test needs {MIN_SUBJECTS} on each side"
        return f"wait: {control} has {_count(of_control)} with data and {arm} {own:,}, and {need}"
    if row["verdict"] == ArmVerdict.NONE:
        between = metric_text.format_range(metric, row["low"], row["high"], with_unit=True)
        return f"{arm} and {control} do not clearly differ in {_lower(metric.title)} ({between})"
    near, far = sorted((abs(row["low"]), abs(row["high"])))
    is_less = row["difference"] < 0
    amount = metric_text.format_difference(metric, abs(row["difference"]), signed=False)
    words = {"amount": amount, "less": "less" if is_less else "more", "fewer": "fewer" if is_less else "more"}
    interval = metric_text.format_range(metric, near, far, signed=False)
    return f"{arm} {PHRASES[metric.name].format(**words)} than {control} ({interval})"


def _lower(title: str) -> str:
    return title[:1].lower() + title[1:]


def _count(users: int) -> str:
    return f"{users:,} user{'' if users == 1 else 's'}"


def estimate_days_left(planned: int, history: Sequence[tuple[Any, int]]) -> int | None:
    """Return in how many days the planned users will have come, by the last day's pace; None if that is not known.

    `history` are times and the users that had come by then, the oldest first.
    """
    if len(history) < 2:
        return None
    (_, users), now = history[-1], history[-1][0]
    if users >= planned:
        return 0
    since, before = next(((time, count) for time, count in reversed(history) if (now - time).days >= 1), history[0])
    days = (now - since).total_seconds() / 86_400
    pace = (users - before) / days if days else 0.0
    return max(1, round((planned - users) / pace)) if pace > 0 else None
