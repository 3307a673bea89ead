"""Switch ops, groups and connections off and on without a release. All processes follow within two seconds."""

from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from registry.catalog import switches
from registry.drafts import history
from registry.models import Switch
from registry.snapshot.copy_kinds import Kind
from registry.snapshot.diff import Action, CopyChange


class AlreadySwitched(Exception):
    """The target already has this state (and reason); nothing was changed."""


def build_history_name(kind: str, name: str) -> str:
    """Return the name of a switch in the history."""
    return f"{kind} {name}"[:200]


@transaction.atomic
def set_switch(*, kind: str, name: str, is_off: bool, reason: str, by: str, at: datetime) -> Switch:
    """Switch an op, group or connection off or on; this process follows immediately, all others within two seconds.

    Raises ValidationError if the name is unknown or the reason is missing, AlreadySwitched if nothing would change.
    """
    switch = Switch.objects.select_for_update().filter(kind=kind, name=name).first()
    switch = switch or Switch(kind=kind, name=name, is_off=False)
    reason = " ".join(reason.split())
    before = (switch.is_off, switch.reason)
    if switch.is_off == is_off and (not is_off or switch.reason == reason):
        raise AlreadySwitched(str(switch))
    switch.is_off, switch.reason, switch.changed_by, switch.changed_at = is_off, reason, by, at
    # Uniqueness is left to the database: if two admins switch at the same time, its constraint refuses one.
    switch.full_clean(validate_unique=False, validate_constraints=False)
    switch.save()
    fields: dict[str, tuple[Any, Any]] = {"is_off": (before[0], is_off), "reason": (before[1], reason)}
    change = CopyChange(Kind.SWITCH, build_history_name(kind, name), Action.CHANGED, fields)
    history.record_changes([change], by=by, at=at, note=reason)
    transaction.on_commit(switches.refresh_switches)
    return switch


def switch_off(*, kind: str, name: str, reason: str, by: str, at: datetime) -> Switch:
    """Switch something off. Raises the same errors as `turn`."""
    return set_switch(kind=kind, name=name, is_off=True, reason=reason, by=by, at=at)


def switch_on(*, kind: str, name: str, reason: str = "", by: str, at: datetime) -> Switch:
    """Switch something on again, optionally with a reason. Raises the same errors as `turn`."""
    return set_switch(kind=kind, name=name, is_off=False, reason=reason, by=by, at=at)


def format_error(error: ValidationError) -> str:
    """Return the messages of a validation error in one line."""
    return " ".join(error.messages)
