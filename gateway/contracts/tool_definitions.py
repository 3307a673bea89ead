"""The definitions of the gateway's own tools, which a model gets instead of all ops.

They are constants, with the same bytes for every caller and release, so that prompts that start with them stay cached.
Their parameters are members of the schemas that the API validates bodies with: those that models need.
"""

from collections.abc import Mapping
from typing import Any

from gateway.contracts import request_schemas

# Rules that the API checks. A model reads its errors; in a definition they only cost tokens.
_VALIDATION = frozenset(("pattern", "minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum"))


def _choose_parameters(schema: dict[str, Any], descriptions: Mapping[str, str]) -> dict[str, Any]:
    """Return the schema of a body with only the described members, under short descriptions.

    The API accepts the others as well.
    """
    members = {
        name: {**_leave_out_validation(schema["properties"][name]), "description": description}
        for name, description in descriptions.items()
    }
    return {**schema, "properties": members}


def _leave_out_validation(schema: dict[str, Any]) -> dict[str, Any]:
    return {
        name: _leave_out_validation(each) if isinstance(each, dict) and name not in _VALIDATION else each
        for name, each in schema.items()
        if name not in _VALIDATION or name in schema.get("properties", {})
    }


HELP_TOOL: dict[str, Any] = {
    "name": "tool_help",
    "description": (
        "Find out what you can do. Send query to search by words; the first hits show their exact args. Send path for "
        "a group or an op, or nothing for the top-level groups."
    ),
    "parameters": _choose_parameters(
        request_schemas.HELP,
        {
            "path": "A group or an op",
            "query": "What you want to do",
            "arg": "One argument of the op, in full",
            "format": "full: also policy and examples",
            "cursor": "next_cursor of the previous page",
        },
    ),
}

EXEC_TOOL: dict[str, Any] = {
    "name": "tool_exec",
    "description": (
        "Run one op. Take ids from the results of list, search and get ops, never from memory. After an error, send "
        "its retry_with if that is what you mean, or correct what it lists."
    ),
    "parameters": _choose_parameters(
        request_schemas.EXEC,
        {
            "op": "Path of the op",
            "args": "As its help lists them",
            "idempotency_key": "A write repeated with the same key runs once",
            "dry_run": "Return what a write would do, without doing it",
            "fields": "Answer only these, such as due_at or items.name; * for all",
            "max_tokens": "Remote reads: size limit",
            "cursor": "Remote reads: meta.next_cursor of a cut answer",
        },
    ),
}

BATCH_TOOL: dict[str, Any] = {
    "name": "tool_batch",
    "description": (
        "Send up to 50 tool_help and tool_exec calls at once; a failed entry does not stop the others. An entry has "
        'its call\'s arguments and "type": "help" or "exec", plus depends_on (indexes of earlier entries) if those '
        'must succeed first. Anywhere in args, {"$result": "0#/result/project/id"} is a value from the answer of '
        "entry 0, by JSON Pointer. To repeat a call for the rows of a list, read tool_help with path batch."
    ),
    "parameters": _choose_parameters(
        request_schemas.BATCH,
        {
            "ops": "The calls, each with its type",
            "mode": "parallel: at once, except dependent entries",
            "stop_on_error": "Skip what has not started after a failure",
            "idempotency_key": "A batch repeated with the same key runs once",
        },
    ),
}

GATEWAY_TOOLS = (HELP_TOOL, EXEC_TOOL, BATCH_TOOL)

# tool_exec on the discovery surface, where a model has discovery tools instead of tool_help.
DISCOVERY_EXEC_TOOL: dict[str, Any] = {
    "name": "tool_exec",
    "description": (
        "Run one tool that a discovery tool listed: op is its name. Take ids from results, never from memory. After an "
        "error, send its retry_with if that is what you mean, or correct what it lists."
    ),
    "parameters": _choose_parameters(
        request_schemas.EXEC,
        {
            "op": "Name of the tool",
            "args": "Its parameters",
            "dry_run": "Return what a write would do, without doing it",
        },
    ),
}

# The search of the native surface, which a provider's own tool search asks.
SEARCH_TOOL: dict[str, Any] = {
    "name": "search_tools",
    "description": (
        "Find tools by what you want to do, in the user's words; the tools that match can then be called. Search again "
        "in other words if none fits."
    ),
    "parameters": {
        "type": "object",
        "properties": {
            "query": {"type": "string", "minLength": 1, "maxLength": 1000, "description": "What you want to do"},
        },
        "required": ["query"],
        "additionalProperties": False,
    },
}
