"""Who takes part in an event: replaced as a whole, or added and removed by name."""

from collections.abc import Mapping, Sequence
from typing import Any

from core.handler_contract import ArgumentError, build_invalid_args
from workspace.models.calendar_event import MAX_ATTENDEES

ARGUMENTS = frozenset({"attendees", "add_attendees", "remove_attendees"})


def change_attendees(attendees: Sequence[str], sent: Mapping[str, Any]) -> list[str]:
    """Return the attendees after a call. Names to remove may have another letter case. Raises InvalidArgs.

    As for all list arguments, an empty list changes nothing, and null clears it.
    """
    if "attendees" in sent:
        attendees = [] if sent["attendees"] is None else list(dict.fromkeys(sent["attendees"])) or attendees
    known = {name.casefold() for name in attendees}
    removed = {name.casefold() for name in sent.get("remove_attendees") or []}
    if unknown := removed - known:
        # Without their names: errors never repeat what somebody wrote.
        message = (
            f"{len(unknown)} of remove_attendees do not attend. Read the event for its {len(attendees)} attendees."
        )
        raise build_invalid_args([ArgumentError("/remove_attendees", "not_attending", message)])
    kept = [name for name in attendees if name.casefold() not in removed]
    added = [name for name in sent.get("add_attendees") or [] if name.casefold() not in known - removed]
    changed = [*kept, *dict.fromkeys(added)]
    if len(changed) > MAX_ATTENDEES:
        message = f"An event has at most {MAX_ATTENDEES} attendees; send fewer."
        raise build_invalid_args([ArgumentError("/add_attendees", "too_many", message)])
    return changed
