"""Builds messages and tools of Chat Completions for tests of the scripted model."""

import json
from typing import Any

SYSTEM = {"role": "system", "content": "Today is Tuesday, 2026-11-24 in the user's time zone, Europe/Berlin."}


def build_tools(*names: str) -> list[dict[str, Any]]:
    """Return tools with these names; by default the three of the gateway surface."""
    names = names or ("tool_help", "tool_exec", "tool_batch")
    return [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in names]


def build_user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def build_assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def build_round(name: str, arguments: Any, result: Any, *, call_id: str = "call_1") -> list[dict[str, Any]]:
    """Return the messages of one call: that of the model, and its result, which may be any text."""
    function = {"name": name, "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments)}
    content = result if isinstance(result, str) else json.dumps(result)
    return [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": call_id, "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": call_id, "content": content},
    ]


def build_exec(op: str, result: Any, **args: Any) -> list[dict[str, Any]]:
    """Return the messages of one exec."""
    return build_round("tool_exec", {"op": op, "args": args}, result, call_id=f"call_{op}_{len(args)}")


def build_success(op: str, **result: Any) -> dict[str, Any]:
    return {"op": op, "ok": True, "result": result, "meta": {}}


def build_failure(op: str, message: str, **details: Any) -> dict[str, Any]:
    error = {"code": "VALIDATION_ERROR", "message": message, "details": {"field_errors": [], **details}}
    return {"op": op, "ok": False, "error": error | {"help_path": op}, "meta": {}}


def build_task(number: int, title: str, **fields: Any) -> dict[str, Any]:
    return {"id": f"00000000-0000-4000-8000-{number:012}", "title": title, "state_key": "todo", **fields}
