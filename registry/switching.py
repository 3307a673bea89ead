"""Switching ops, groups and connections off and on, at once and without a release. All processes follow within 2 s."""

from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from registry import history, switches
from registry.changes import Action, Change, Kind
from registry.models import Switch


class AlreadySwitched(Exception):
    """It is so already, for this reason; nothing was changed."""


def told(kind: str, name: str) -> str:
    """Return what the history calls a switch."""
    return f"{kind} {name}"[:200]


@transaction.atomic
def turn(*, kind: str, name: str, is_off: bool, reason: str, by: str, at: datetime) -> Switch:
    """Switch an op, group or connection off or on; this process follows at once, all others within two seconds.

    Raises ValidationError with a sentence where there is nothing of this name or no reason, AlreadySwitched where
    nothing would change.
    """
    switch = Switch.objects.select_for_update().filter(kind=kind, name=name).first()
    switch = switch or Switch(kind=kind, name=name, is_off=False)
    reason = " ".join(reason.split())
    before = (switch.is_off, switch.reason)
    if switch.is_off == is_off and (not is_off or switch.reason == reason):
        raise AlreadySwitched(str(switch))
    switch.is_off, switch.reason, switch.changed_by, switch.changed_at = is_off, reason, by, at
    # Not its uniqueness: of two admins at once the constraint lets one through.
    switch.full_clean(validate_unique=False, validate_constraints=False)
    switch.save()
    fields: dict[str, tuple[Any, Any]] = {"is_off": (before[0], is_off), "reason": (before[1], reason)}
    changed = Change(Kind.SWITCH, told(kind, name), Action.CHANGED, fields)
    history.record([changed], by=by, at=at, note=reason)
    transaction.on_commit(switches.follow)
    return switch


def off(*, kind: str, name: str, reason: str, by: str, at: datetime) -> Switch:
    """Switch something off. Raises as `turn` does."""
    return turn(kind=kind, name=name, is_off=True, reason=reason, by=by, at=at)


def on(*, kind: str, name: str, reason: str = "", by: str, at: datetime) -> Switch:
    """Switch something on again; a reason may be given. Raises as `turn` does."""
    return turn(kind=kind, name=name, is_off=False, reason=reason, by=by, at=at)


def sentence(error: ValidationError) -> str:
    """Return what a refusal says, in one line."""
    return " ".join(error.messages)
