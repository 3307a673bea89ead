"""The copy of the measured ops: reads and a write of one task, and any number of synthetic ops.

The synthetic ops vary like real ones: twelve departments, 1,680 entities, six actions on each.
The first n ops are the same in every catalog.
"""

from collections.abc import Callable, Iterator
from itertools import count, islice
from typing import Any

CONNECTION = "benchmarks"

DEPARTMENTS = (
    *("sales", "finance", "people", "legal", "support", "product", "research", "logistics", "security", "facilities"),
    *("marketing", "training"),
)
QUALIFIERS = (
    *("signed", "draft", "annual", "internal", "regional", "urgent", "archived", "external", "monthly", "shared"),
    *("personal", "pending", "approved", "public", "seasonal", "recurring", "temporary", "primary", "secondary"),
    *("quarterly", "confidential", "preferred", "disputed", "overdue", "partial", "final", "initial", "global"),
    *("local", "hosted", "managed", "planned", "retired", "verified", "custom", "standard", "delegated", "joint"),
    *("bundled", "audited"),
)
NOUNS = (
    *("contract", "invoice", "candidate", "ticket", "shipment", "campaign", "budget", "asset", "policy", "incident"),
    *("supplier", "customer", "meeting", "report", "survey", "course", "lease", "vehicle", "certificate", "payment"),
    *("refund", "forecast", "review", "proposal", "order", "claim", "permit", "audit", "roster", "expense", "grant"),
    *("release", "experiment", "warehouse", "subscription", "partner", "badge", "visit", "licence", "dataset"),
    *("template", "backlog"),
)
STATES = ["open", "waiting", "approved", "rejected", "closed"]
AN_ID = "0d9a4c1e-5b7f-4e2a-9c31-6f8e2b7d1a01"

READ_ACTIONS = ("list", "search", "get")
ACTIONS = (*READ_ACTIONS, "create", "update", "delete")


_TASK_ID = {"type": "string", "format": "uuid", "description": "The full id of the task"}


def _entry(op: str, tool_name: str, kind: str, action: str, properties: dict[str, Any]) -> dict[str, Any]:
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


READ = _entry("bench.task.get", "bench_get_task", "read", "get", {})
READ_BY_ORM = _entry("bench.task.find", "bench_find_task", "read", "get", {})
WRITE = _entry(
    *("bench.task.update", "bench_update_task", "write", "update"),
    {"priority": {"type": "integer", "minimum": 1, "maximum": 5}},
)

WAIT = {
    "op": "bench.upstream.read",
    "tool_name": "bench_read_upstream",
    "kind": "read",
    "summary": "Call a slow upstream",
    "parameters_schema": {"type": "object", "additionalProperties": False, "properties": {}},
    "connection": CONNECTION,
    "needs_subject": False,
}


def ops(number: int) -> list[dict[str, Any]]:
    """Return this many ops in the form that a release has (see registry.snapshot)."""
    return [_op(*named) for named in islice(_named(), number)]


def tool_names(number: int) -> list[str]:
    """Return the tool names of this many ops without building the ops, which would add to the measured memory."""
    return [_tool_name(department, entity, action) for department, entity, action, _ in islice(_named(), number)]


def groups(listed: list[dict[str, Any]]) -> dict[str, str]:
    """Return the parent groups of these ops as {path: summary}."""
    found = {}
    for op in listed:
        entity = op["op"].rpartition(".")[0]
        department, _, name = entity.partition(".")
        found[department] = f"Records of {department}"
        found[entity] = f"The {name.replace('_', ' ')}s of {department}"
    return found


def _named() -> Iterator[tuple[str, str, str, int]]:
    """Yield (department, entity, action, entity number)."""
    for index in count():
        entity = f"{QUALIFIERS[index % len(QUALIFIERS)]}_{NOUNS[index // len(QUALIFIERS)]}"
        for action in ACTIONS:
            yield DEPARTMENTS[index % len(DEPARTMENTS)], entity, action, index


def _tool_name(department: str, entity: str, action: str) -> str:
    return f"{action}_{department}_{entity}"


def _op(department: str, entity: str, action: str, index: int) -> dict[str, Any]:
    words = entity.replace("_", " ")
    properties, required, examples = SHAPES[action](words, _extras(index))
    return {
        "op": f"{department}.{entity}.{action}",
        "tool_name": _tool_name(department, entity, action),
        "kind": "read" if action in READ_ACTIONS else "write",
        "entity": entity,
        "action": action,
        "category": "search" if action in READ_ACTIONS else "write",
        "contexts": ["global", "project"],
        "summary": f"{action.capitalize()} {words}s of {department}",
        "description": f"Works on the {words}s that the user can see in {department}. {_told(action, words)}",
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


def _told(action: str, words: str) -> str:
    if action in READ_ACTIONS:
        return "Changes nothing. Returns the newest update first, one page at a time, without deleted ones."
    return f"Changes one {words} and returns the whole {words}, so there is no need to read it again."


def _extras(index: int) -> dict[str, Any]:
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


Shape = tuple[dict[str, Any], list[str], list[dict[str, Any]]]


def _id_of(words: str) -> dict[str, Any]:
    return {"type": "string", "format": "uuid", "description": f"The full id of the {words}"}


def _listing(words: str, _extras: dict[str, Any]) -> Shape:
    properties = {
        "state_key": {"type": "string", "enum": STATES, "description": f"Only {words}s in this state"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 20, "description": "Rows per page"},
        "cursor": {"type": "string", "maxLength": 400, "description": "next_cursor of the previous page, unchanged"},
    }
    return properties, [], [{"title": "Latest", "args": {}}, {"title": "Open ones", "args": {"state_key": "open"}}]


def _searching(words: str, _extras: dict[str, Any]) -> Shape:
    properties, _, _ = _listing(words, _extras)
    query = {"type": "string", "minLength": 1, "maxLength": 200, "description": f"Words in the {words}"}
    return {"query": query, **properties}, ["query"], [{"title": "By words", "args": {"query": words}}]


def _naming(words: str, _extras: dict[str, Any]) -> Shape:
    return {"record_id": _id_of(words)}, ["record_id"], [{"title": "One", "args": {"record_id": AN_ID}}]


def _creating(words: str, extras: dict[str, Any]) -> Shape:
    properties = {
        "title": {"type": "string", "minLength": 1, "maxLength": 300, "description": f"Name of the {words}"},
        "description": {"type": "string", "maxLength": 20_000},
        "state_key": {"type": "string", "enum": STATES, "default": "open"},
        "priority": {"type": "integer", "minimum": 1, "maximum": 5, "default": 3, "description": "1 is most urgent"},
        "due_at": {"type": "string", "format": "date-time", "description": "When it must be done"},
        **extras,
    }
    return properties, ["title"], [{"title": "Least", "args": {"title": f"A {words}"}}]


def _updating(words: str, extras: dict[str, Any]) -> Shape:
    fields, _, _ = _creating(words, extras)
    changed = {name: {key: said for key, said in field.items() if key != "default"} for name, field in fields.items()}
    example = {"record_id": AN_ID, "state_key": "approved"}
    return {"record_id": _id_of(words), **changed}, ["record_id"], [{"title": "Approve", "args": example}]


SHAPES: dict[str, Callable[[str, dict[str, Any]], Shape]] = {
    "list": _listing,
    "search": _searching,
    "get": _naming,
    "create": _creating,
    "update": _updating,
    "delete": _naming,
}
