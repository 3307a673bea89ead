"""Words for operations on rows: what a button does, and what was done."""

from collections.abc import Mapping, Sequence
from typing import Any

# What was done, by action.
PAST = {
    "create": "Created",
    "update": "Changed",
    "delete": "Deleted",
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


def append_args(question: str, args_text: str) -> str:
    """Return a question with the args of its call, in the words of the gateway."""
    return f"{question} {args_text[:1].upper()}{args_text[1:]}" if args_text else question


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
