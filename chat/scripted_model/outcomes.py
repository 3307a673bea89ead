"""What earlier tool calls of the turn returned, and which ops they called."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

KINDS = ("project", "task", "document", "goal", "plan", "milestone", "risk", "requirement")

# By op. Surfaces with typed tools use these names.
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
NOT_DECIDED = "not_decided"  # reason of a call that waits for the user
NOT_RUN = "not_run"  # reason of the chat's own answer to a call that it did not send
_decoder = json.JSONDecoder()


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


@dataclass(frozen=True, slots=True)
class ScriptedOutcome:
    """The outcome of one call: `result` if it succeeded, else `error`."""

    op: str
    ok: bool
    result: dict[str, Any] = field(default_factory=dict)
    error: dict[str, Any] = field(default_factory=dict)
    operation: dict[str, Any] = field(default_factory=dict)
    is_envelope: bool = True  # False: the chat answered instead of the gateway
    is_cut: bool = False  # the chat left out parts of the result
    args: dict[str, Any] = field(default_factory=dict)  # of the call

    @property
    def details(self) -> dict[str, Any]:
        return _as_dict(self.error.get("details"))

    @property
    def field_errors(self) -> list[dict[str, Any]]:
        """What is wrong with the arguments, one by one."""
        errors = self.details.get("field_errors")
        return [error for error in errors if isinstance(error, dict)] if isinstance(errors, list) else []

    @property
    def reason(self) -> str:
        return str(self.details.get("reason", ""))

    @property
    def needs_confirmation(self) -> bool:
        return self.reason == "confirmation_required"

    @property
    def is_undecided(self) -> bool:
        """Whether the user was asked about the call, and answered in words."""
        return self.reason == NOT_DECIDED

    @property
    def is_missing_tool(self) -> bool:
        """Whether the call did not reach an op, because its tool was not offered."""
        return not self.ok and (not self.is_envelope or self.reason == NOT_RUN)

    @property
    def retry_with(self) -> dict[str, Any] | None:
        """The corrected call, if the gateway knows one, with the path of its op: the gateway may send a tool name."""
        call = _as_dict(self.details.get("retry_with"))
        op = call.get("op")
        if not isinstance(op, str) or not isinstance(call.get("args"), dict):
            return None
        return {**call, "op": OP_BY_TOOL_NAME.get(op, op)}

    @property
    def message(self) -> str:
        """What was done, in the gateway's words."""
        if message := str(self.result.get("message", "")):
            return message
        entity, action = self.operation.get("entity", "row"), self.operation.get("action", "call")
        name = self.operation.get("entity_name")
        return f"The {action} of the {entity} {f'“{name}” ' if name else ''}succeeded."

    @property
    def failure(self) -> str:
        """Why it failed: what the user must do, else the field errors if there are any, else the error's message."""
        if how_to_connect := self.details.get("how_to_connect"):
            url = _as_dict(self.details.get("requires_user_action")).get("url")
            return f"{how_to_connect} [Connect]({url})" if url else str(how_to_connect)
        listed = " ".join(str(error.get("message") or "") for error in self.field_errors).strip()
        return listed or str(self.error.get("message") or "no reason given")


def read_outcomes(name: str, arguments: dict[str, Any], content: str | None) -> Iterator[ScriptedOutcome]:
    """Yield the outcomes of one tool call: several for a batch, else one. `content` is its tool message, if any."""
    answer = _parse_object(content)
    if name == BATCH:
        yield from _read_batch(arguments, answer, content)
    elif name == HELP:
        failed = answer is None or answer.get("ok") is False or "error" in answer
        result = _name_by_paths(answer or {})
        yield (
            _read_failure(HELP, answer, content)
            if failed
            else ScriptedOutcome(HELP, True, result, is_cut="shown" in result)
        )
    else:
        op = str(arguments.get("op", "")) if name == EXEC else OP_BY_TOOL_NAME.get(name, name)
        args = _as_dict(arguments.get("args")) if name == EXEC else arguments
        yield replace(_read_envelope(op, answer, content), args=args)


def _name_by_paths(page: dict[str, Any]) -> dict[str, Any]:
    """Return a page of the help with the path of each op: a surface may show the names of tools."""
    items = page.get("items")
    if not isinstance(items, list):
        return page
    return {**page, "items": [_name_item_by_path(each) if isinstance(each, dict) else each for each in items]}


def _name_item_by_path(item: dict[str, Any]) -> dict[str, Any]:
    path = OP_BY_TOOL_NAME.get(str(item.get("path")))
    return {**item, "path": path} if path else item


def _read_batch(
    arguments: dict[str, Any], answer: dict[str, Any] | None, content: str | None
) -> Iterator[ScriptedOutcome]:
    entries = arguments.get("ops")
    results = (answer or {}).get("results")
    by_index = {item.get("index"): item for item in results or () if isinstance(item, dict)}
    for index, entry in enumerate(entries if isinstance(entries, list) else ()):
        item = by_index.get(index)
        op = _as_dict(entry).get("op") or HELP
        outcome = _read_envelope(op, item, content) if item else _read_failure(op, answer, content)
        yield replace(outcome, args=_as_dict(_as_dict(entry).get("args")))


def _read_envelope(op: str, answer: dict[str, Any] | None, content: str | None) -> ScriptedOutcome:
    if answer is None or answer.get("ok") is not True:
        return _read_failure(op, answer, content)
    operation = _as_dict(_as_dict(answer.get("meta")).get("operation"))
    result = _as_dict(answer.get("result"))
    return ScriptedOutcome(op, True, result=result, operation=operation, is_cut="shown" in answer)


def _read_failure(op: str, answer: dict[str, Any] | None, content: str | None) -> ScriptedOutcome:
    error = (answer or {}).get("error")
    if isinstance(error, dict) and error:
        operation = _as_dict(_as_dict((answer or {}).get("meta")).get("operation"))
        return ScriptedOutcome(op, False, error=error, operation=operation)
    message = error if isinstance(error, str) else (content or "").strip()[:300] or "there was no result"
    return ScriptedOutcome(op, False, error={"message": message}, is_envelope=False)


def _parse_object(content: str | None) -> dict[str, Any] | None:
    """Return the JSON object at the beginning of a text; a remark of the chat may follow it."""
    try:
        value, _ = _decoder.raw_decode((content or "").lstrip())
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _as_dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
