"""The copy of the measured ops: reads and a write of one task, and any number of synthetic ops.

The synthetic ops vary like real ones: twelve departments, 1,680 entities, six actions on each.
The first n ops are the same in every catalog.
"""

from collections.abc import Callable, Iterator
from itertools import count, islice
from typing import Any

from registry.snapshot.entries import ExampleEntry, OpEntry

CONNECTION = "benchmarks"

DEPARTMENTS = tuple(
    """
    sales finance people legal support product research logistics security facilities marketing training
""".split()
)
QUALIFIERS = tuple(
    """
    signed draft annual internal regional urgent archived external monthly shared personal pending approved
    public seasonal recurring temporary primary secondary quarterly confidential preferred disputed overdue
    partial final initial global local hosted managed planned retired verified custom standard delegated joint
    bundled audited
""".split()
)
NOUNS = tuple(
    """
    contract invoice candidate ticket shipment campaign budget asset policy incident supplier customer meeting
    report survey course lease vehicle certificate payment refund forecast review proposal order claim permit
    audit roster expense grant release experiment warehouse subscription partner badge visit licence dataset
    template backlog
""".split()
)
STATES = ["open", "waiting", "approved", "rejected", "closed"]
EXAMPLE_ID = "0d9a4c1e-5b7f-4e2a-9c31-6f8e2b7d1a01"

READ_ACTIONS = ("list", "search", "get")
ACTIONS = (*READ_ACTIONS, "create", "update", "delete")


_TASK_ID = {"type": "string", "format": "uuid", "description": "The full id of the task"}


def _build_task_op(op: str, tool_name: str, kind: str, action: str, properties: dict[str, Any]) -> OpEntry:
    arguments = {"task_id": _TASK_ID, **properties}
    schema = {"type": "object", "additionalProperties": False, "properties": arguments, "required": ["task_id"]}
    return {
        "op": op,
        "tool_name": tool_name,
        "kind": kind,
        "entity": "task",
        "action": action,
        "summary": f"{action.capitalize()} one task by its id",
        "parameters_schema": schema,
        "connection": CONNECTION,
        "needs_subject": True,
    }


READ = _build_task_op("bench.task.get", "bench_get_task", "read", "get", {})
READ_BY_ORM = _build_task_op("bench.task.find", "bench_find_task", "read", "get", {})
WRITE = _build_task_op(
    "bench.task.update",
    tool_name="bench_update_task",
    kind="write",
    action="update",
    properties={"priority": {"type": "integer", "minimum": 1, "maximum": 5}},
)

WAIT: OpEntry = {
    "op": "bench.upstream.read",
    "tool_name": "bench_read_upstream",
    "kind": "read",
    "summary": "Call a slow upstream",
    "parameters_schema": {"type": "object", "additionalProperties": False, "properties": {}},
    "connection": CONNECTION,
    "needs_subject": False,
}


def build_ops(number: int) -> list[OpEntry]:
    """Return this many ops in the form that a release has (see registry.snapshot.snapshot)."""
    return [_build_op(*named) for named in islice(_iterate_names(), number)]


def build_tool_names(number: int) -> list[str]:
    """Return the tool names of this many ops without building the ops, which would add to the measured memory."""
    return [
        _format_tool_name(department, entity, action)
        for department, entity, action, _ in islice(_iterate_names(), number)
    ]


def build_groups(listed: list[OpEntry]) -> dict[str, str]:
    """Return the parent groups of these ops as {path: summary}."""
    summaries = {}
    for op in listed:
        entity = op["op"].rpartition(".")[0]
        department, _, name = entity.partition(".")
        summaries[department] = f"Records of {department}"
        summaries[entity] = f"The {name.replace('_', ' ')}s of {department}"
    return summaries


def _iterate_names() -> Iterator[tuple[str, str, str, int]]:
    """Yield (department, entity, action, entity number)."""
    for index in count():
        entity = f"{QUALIFIERS[index % len(QUALIFIERS)]}_{NOUNS[index // len(QUALIFIERS)]}"
        for action in ACTIONS:
            yield DEPARTMENTS[index % len(DEPARTMENTS)], entity, action, index


def _format_tool_name(department: str, entity: str, action: str) -> str:
    return f"{action}_{department}_{entity}"


def _build_op(department: str, entity: str, action: str, index: int) -> OpEntry:
    words = entity.replace("_", " ")
    properties, required, examples = SHAPE_BUILDERS[action](words, _build_extra_arguments(index))
    return {
        "op": f"{department}.{entity}.{action}",
        "tool_name": _format_tool_name(department, entity, action),
        "kind": "read" if action in READ_ACTIONS else "write",
        "entity": entity,
        "action": action,
        "category": "search" if action in READ_ACTIONS else "write",
        "contexts": ["global", "project"],
        "summary": f"{action.capitalize()} {words}s of {department}",
        "description": f"Works on the {words}s that the user can see in {department}. "
        f"{_describe_action(action, words)}",
        "notes": f"Take a {words}'s id from {department}.{entity}.list.",
        "keywords": [*words.split(), department, "record", "entry"],
        "parameters_schema": {
            "type": "object",
            "additionalProperties": False,
            "properties": properties,
            **({"required": required} if required else {}),
        },
        "connection": CONNECTION,
        "needs_subject": True,
        "policy": {
            "do": [f"Read the {words} first if its state matters."],
            "dont": [f"Never guess the id of a {words}.", "Never repeat a call that succeeded."],
        },
        "examples": examples,
        "aliases": [f"{department}.{entity}s.{action}"],
    }


def _describe_action(action: str, words: str) -> str:
    if action in READ_ACTIONS:
        return "Changes nothing. Returns the newest update first, one page at a time, without deleted ones."
    return f"Changes one {words} and returns the whole {words}, so there is no need to read it again."


def _build_extra_arguments(index: int) -> dict[str, Any]:
    """Return extra arguments that vary between entities."""
    varied: list[dict[str, Any]] = [
        {"amount": {"type": "number", "minimum": 0, "description": "In the given currency"}},
        {"owner_email": {"type": "string", "format": "email", "description": "Email of the responsible person"}},
        {"labels": {"type": "array", "items": {"type": "string", "maxLength": 40}, "maxItems": 20}},
        {
            "address": {
                "type": "object",
                "additionalProperties": False,
                "properties": {name: {"type": "string", "maxLength": 200} for name in ("street", "city", "country")},
                "required": ["city"],
            }
        },
        {"currency": {"type": "string", "enum": ["EUR", "GBP", "JPY", "USD"], "default": "EUR"}},
    ]
    return varied[index % 5] | varied[(index + 2) % 5]


OpShape = tuple[dict[str, Any], list[str], list[ExampleEntry]]


def _build_id_schema(words: str) -> dict[str, Any]:
    return {"type": "string", "format": "uuid", "description": f"The full id of the {words}"}


def _build_list_shape(words: str, _extras: dict[str, Any]) -> OpShape:
    properties = {
        "state_key": {"type": "string", "enum": STATES, "description": f"Only {words}s in this state"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 20, "description": "Rows per page"},
        "cursor": {"type": "string", "maxLength": 400, "description": "next_cursor of the previous page, unchanged"},
    }
    return properties, [], [{"title": "Latest", "args": {}}, {"title": "Open ones", "args": {"state_key": "open"}}]


def _build_search_shape(words: str, _extras: dict[str, Any]) -> OpShape:
    properties, _, _ = _build_list_shape(words, _extras)
    query = {"type": "string", "minLength": 1, "maxLength": 200, "description": f"Words in the {words}"}
    return {"query": query, **properties}, ["query"], [{"title": "By words", "args": {"query": words}}]


def _build_id_shape(words: str, _extras: dict[str, Any]) -> OpShape:
    return {"record_id": _build_id_schema(words)}, ["record_id"], [{"title": "One", "args": {"record_id": EXAMPLE_ID}}]


def _build_create_shape(words: str, extras: dict[str, Any]) -> OpShape:
    properties = {
        "title": {"type": "string", "minLength": 1, "maxLength": 300, "description": f"Name of the {words}"},
        "description": {"type": "string", "maxLength": 20_000},
        "state_key": {"type": "string", "enum": STATES, "default": "open"},
        "priority": {"type": "integer", "minimum": 1, "maximum": 5, "default": 3, "description": "1 is most urgent"},
        "due_at": {"type": "string", "format": "date-time", "description": "When it must be done"},
        **extras,
    }
    return properties, ["title"], [{"title": "Least", "args": {"title": f"A {words}"}}]


def _build_update_shape(words: str, extras: dict[str, Any]) -> OpShape:
    fields, _, _ = _build_create_shape(words, extras)
    changed = {name: {key: said for key, said in field.items() if key != "default"} for name, field in fields.items()}
    example = {"record_id": EXAMPLE_ID, "state_key": "approved"}
    return {"record_id": _build_id_schema(words), **changed}, ["record_id"], [{"title": "Approve", "args": example}]


SHAPE_BUILDERS: dict[str, Callable[[str, dict[str, Any]], OpShape]] = {
    "list": _build_list_shape,
    "search": _build_search_shape,
    "get": _build_id_shape,
    "create": _build_create_shape,
    "update": _build_update_shape,
    "delete": _build_id_shape,
}
