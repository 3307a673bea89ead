"""What ends a running experiment although it does no harm: an arm no longer has what was planned.

Its figures end at that time, because later calls read something else.
"""

from dataclasses import dataclass
from datetime import datetime

from django.utils.text import capfirst

from analytics.experiments.arm_text import name_variant
from analytics.flags import LIVE, FlagKey
from analytics.rollout import assignment
from analytics.rollout.experiments import Experiment
from audit.models import AuditEntry

Action = AuditEntry.Action


@dataclass(frozen=True, slots=True)
class Interruption:
    """Why an experiment cannot go on, and since when; None if that is not known."""

    reason: str
    time: datetime | None


def find_interruption(experiment: Experiment) -> Interruption | None:
    """Return what happened to the flag, the arms or the releases of a running experiment."""
    return _find_switched_off(experiment) or find_changed_release(experiment)


def find_changed_release(experiment: Experiment) -> Interruption | None:
    """Return what happened to a release of an arm since the experiment started: withdrawn, or replaced as live."""
    if experiment.flag_id != FlagKey.RELEASE:
        return None
    variants = [arm.variant for arm in experiment.list_arms()]
    for version in variants:
        if version != LIVE and not assignment.is_servable(version):
            entry = _find_entry(experiment, "release", version)
            reason = f"{capfirst(name_variant(FlagKey.RELEASE, version))} was withdrawn."
            return Interruption(reason, entry.time if entry else None)
    return find_live_change(experiment)


def find_control_release(experiment: Experiment) -> str:
    """Return what LIVE stands for in a started experiment: LIVE, or the version that was live when another replaced it.

    So its figures name what they are of whenever they are read.
    """
    if experiment.flag_id != FlagKey.RELEASE or experiment.started_at is None:
        return LIVE
    first, last = _find_live_changes(experiment)
    if first is None or last is None or first.changes["live"][0] == last.changes["live"][1]:
        return LIVE
    return str(first.changes["live"][0] or LIVE)


def _find_switched_off(experiment: Experiment) -> Interruption | None:
    if not experiment.flag.is_on:
        entry = _find_entry(experiment, "flag", experiment.flag_id)
        return Interruption(
            f"The flag {experiment.flag} was switched off{_name_actor(entry)}.", entry.time if entry else None
        )
    arms = experiment.list_arms()
    if len(arms) < 2:
        return Interruption("One of its arms was deleted.", None)
    for arm in arms:
        if not arm.is_on:
            entry = _find_entry(experiment, "cohort", arm.name)
            return Interruption(
                f"Its arm {arm.name} was switched off{_name_actor(entry)}.", entry.time if entry else None
            )
    return None


def find_live_change(experiment: Experiment) -> Interruption | None:
    """Return the release that replaced the control's: the arms no longer differ by what was to be compared."""
    variants = [arm.variant for arm in experiment.list_arms()]
    if experiment.flag_id != FlagKey.RELEASE or LIVE not in variants:
        return None
    first, last = _find_live_changes(experiment)
    if first is None or last is None or first.changes["live"][0] == last.changes["live"][1]:
        return None
    version = last.changes["live"][1]
    name = capfirst(name_variant(FlagKey.RELEASE, version))
    if version in variants:
        return Interruption(f"{name} was made live for everyone{_name_actor(last)}.", first.time)
    reason = f"{name} went live{_name_actor(last)}, so the control reads something else than at the start."
    return Interruption(f"{reason} Review the draft and release it step by step again.", first.time)


def _find_live_changes(experiment: Experiment) -> tuple[AuditEntry | None, AuditEntry | None]:
    """Return the first and the last time since the start that a release was made live."""
    changes = AuditEntry.objects.filter(kind="release", action__in=(Action.PUBLISHED, Action.MADE_LIVE))
    entries = changes.filter(time__gt=experiment.started_at).order_by("id")
    return entries.first(), entries.last()


def _find_entry(experiment: Experiment, kind: str, name: str) -> AuditEntry | None:
    entries = AuditEntry.objects.filter(kind=kind, name=name, time__gte=experiment.started_at)
    return entries.order_by("-time", "-id").first()


def _name_actor(entry: AuditEntry | None) -> str:
    return f" by {entry.by}" if entry else ""
