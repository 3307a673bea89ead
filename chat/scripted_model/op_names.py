"""The ops that the scripted model knows, and the names that they have as tools of their own."""

from typing import Any

KINDS = ("project", "task", "document", "goal", "plan", "milestone", "risk", "requirement")

# By op. Surfaces with typed tools name them so.
TOOL_NAME_BY_OP = {
    **{f"onto.{kind}.list": f"list_onto_{kind}s" for kind in KINDS},
    **{f"onto.{kind}.search": f"search_onto_{kind}s" for kind in KINDS},
    **{f"onto.{kind}.get": f"get_onto_{kind}_details" for kind in KINDS},
    **{f"onto.{kind}.{verb}": f"{verb}_onto_{kind}" for kind in KINDS for verb in ("create", "update", "delete")},
    "onto.search": "search_ontology",
    "cal.event.list": "list_calendar_events",
    "cal.event.get": "get_calendar_event_details",
    "cal.event.create": "create_calendar_event",
    "cal.event.update": "update_calendar_event",
    "cal.event.delete": "delete_calendar_event",
    "cal.slot.find": "find_available_slots",
    "cal.task.schedule": "schedule_task",
}
OP_BY_TOOL_NAME = {tool_name: op for op, tool_name in TOOL_NAME_BY_OP.items()}
READ_ACTIONS = frozenset({"list", "search", "get", "find", "help"})

HELP = "tool_help"  # also stands for the op of a request for help
EXEC = "tool_exec"
BATCH = "tool_batch"


def build_op(kind: str, action: str) -> str:
    """Return the op of an action on a kind, such as onto.task.get. Events have list where others have search."""
    if kind == "event":
        return f"cal.event.{'list' if action == 'search' else action}"
    return f"onto.{kind}.{action}"


def is_write(op: str) -> bool:
    """Return whether an op changes rows."""
    return op != HELP and op.rpartition(".")[2] not in READ_ACTIONS


def read_tool_names(tools: list[dict[str, Any]]) -> frozenset[str]:
    """Return the names of the tools of a request. Tools in another form are left out."""
    functions = (tool.get("function") for tool in tools if isinstance(tool, dict))
    return frozenset(
        function["name"]
        for function in functions
        if isinstance(function, dict) and isinstance(function.get("name"), str)
    )
