"""Words for operations on rows: what a button does, and what was done."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chat.gateway import envelopes

# What was done, by action.
PAST = {
    "create": "Created",
    "update": "Changed",
    "delete": "Deleted",
    "cancel": "Cancelled",
    "move": "Moved",
    "shift": "Shifted",
    "schedule": "Scheduled",
    "unschedule": "Unscheduled",
    "reschedule": "Rescheduled",
    "link": "Linked",
    "unlink": "Unlinked",
    "attach": "Attached",
    "archive": "Archived",
    "restore": "Restored",
    "merge": "Merged",
    "rename": "Renamed",
    "reorganize": "Reorganized",
    "complete": "Completed",
    "add": "Added",
    "remove": "Removed",
    "share": "Shared",
    "send": "Sent",
    "set": "Set",
    "execute": "Ran",
}


def describe_write(operation: Mapping[str, Any]) -> str:
    """Return a write of a turn as a sentence without its full stop: Created task “Find a venue”."""
    action, is_done = str(operation.get("action", "")), operation.get("status") == "success"
    row = describe_row(operation)
    if not is_done:
        return f"Failed to {space_out(action)} {row}"
    if action in PAST:
        return f"{PAST[action]} {row}"
    return f"Ran {space_out(action)} on {row}"


def is_told(operation: Mapping[str, Any], text: str) -> bool:
    """Whether an answer says itself that a write was done, so that it need not be listed below."""
    past, name = PAST.get(str(operation.get("action", "")), ""), str(operation.get("entity_name") or "")
    if operation.get("status") != "success" or not past or not name:
        return False
    return past.lower() in text.lower() and name.lower() in text.lower()


@dataclass(frozen=True, slots=True)
class Question:
    """What the user is asked about a call: what it would do, and the labels of both buttons.

    `is_input`: the call's service asks, with a form or a page to open.
    """

    text: str
    approve: str
    decline: str
    is_input: bool = False


def build_question(answer: Mapping[str, Any]) -> Question:
    """Return what the user is asked about the calls of an answer that wait for them. One decision is for all.

    What a service asks comes after all decisions about calls, one question at a time.
    """
    if found := envelopes.find_input(answer):
        asked, _ = found
        approve = "I have done this" if asked.url else "Send"
        return Question(f"The service of {asked.op} asks: {asked.message}", approve, "Don’t answer", is_input=True)
    waiting = [confirmation for _, confirmation in envelopes.iter_waiting(answer)]
    text = " ".join(map(_describe_effect, waiting))
    operations = [each.get("operation") or {} for each in waiting]
    if len(operations) == 1:
        return Question(text, *name_decision(operations[0]))
    actions = {str(each.get("action") or "run") for each in operations}
    action = space_out(actions.pop()).capitalize() if len(actions) == 1 else "Do"
    number = "both" if len(operations) == 2 else f"all {len(operations)}"
    return Question(text, f"{action} {number}", "Do neither" if number == "both" else "Do none of them")


def _describe_effect(confirmation: Mapping[str, Any]) -> str:
    operation = confirmation.get("operation") or {}
    text = f"{space_out(str(operation.get('action') or 'run')).capitalize()} the {describe_row(operation)}?"
    args = str(confirmation.get("args_text") or "")
    return f"{text} {args[:1].upper()}{args[1:]}" if args else text


def drop_repaired(operations: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Leave out failures of writes that succeeded later in the turn: they were repaired."""
    return [
        each
        for index, each in enumerate(operations)
        if each["status"] == "success"
        or not any(
            later["status"] == "success" and _get_target(later) == _get_target(each)
            for later in operations[index + 1 :]
        )
    ]


def _get_target(operation: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(operation.get(name) for name in ("entity", "action", "entity_id"))


def describe_row(operation: Mapping[str, Any]) -> str:
    """Return a row as text: task “Find a venue”."""
    entity, name = space_out(str(operation.get("entity") or "row")), operation.get("entity_name")
    return f"{entity} “{name}”" if name else entity


def name_decision(operation: Mapping[str, Any]) -> tuple[str, str]:
    """Return the labels of the buttons that run a call and that leave it undone: Delete “X”, Keep it."""
    action, name = str(operation.get("action") or "run"), operation.get("entity_name")
    target = f"“{name}”" if name else space_out(str(operation.get("entity") or "it"))
    return (
        f"{space_out(action).capitalize()} {target}",
        "Keep it" if action == "delete" else f"Don’t {space_out(action)}",
    )


def space_out(name: str) -> str:
    """Return a name as words: brain_dump as brain dump."""
    return name.replace("_", " ")
