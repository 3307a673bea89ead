"""Builds messages and tools of Chat Completions for tests of the scripted model."""

import json
from typing import Any

from chat.scripted_model import server
from chat.scripted_model.plans import Answer

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


BUY, SELL = build_task(1, "Buy paint", priority=1), build_task(2, "Sell the fridge")
TASK_LIST = build_exec("onto.task.list", build_success("onto.task.list", tasks=[BUY, SELL], total=2))


def ask(*messages: Any, tools: list[dict[str, Any]] | None = None) -> Answer:
    """Return the answer to a conversation; lists of messages are joined."""
    flat = [SYSTEM]
    for message in messages:
        flat += message if isinstance(message, list) else [message]
    return server.plan_answer(flat, build_tools() if tools is None else tools)


def get_exec(answer: Answer) -> tuple[str, dict[str, Any]]:
    """Return op and args of the only call of an answer."""
    (call,) = answer.tool_calls
    assert call.name == "tool_exec"
    return call.arguments["op"], call.arguments["args"]
