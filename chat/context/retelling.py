"""Tell past calls in the words of the toolset that is shown now, so that a request names its tools in one way.

A conversation may have changed its surface, and a tool that was selected for an earlier message may not be there now.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from chat.context.layers import PastCall, PastStep, PastTurn
from chat.context.sections.tool_names import EXEC_TOOL, ToolNames
from chat.context.shortening.json_text import dump, parse
from chat.context.spent_calls import is_look_up

BATCH_TOOL = "tool_batch"
NOT_DECIDED = "not_decided"  # the reason of a call that the user was asked about, and did not decide by the button


def retell_turns(turns: Sequence[PastTurn], toolset: Mapping[str, Any]) -> list[PastTurn]:
    """Return the turns with each call as a call of a tool that is shown, or else as a text.

    Look-ups of help are left out if their tool is not shown.
    """
    tools = ToolNames(toolset)
    return [replace(turn, steps=tuple(_retell_step(step, tools) for step in turn.steps)) for turn in turns]


def _retell_step(step: PastStep, tools: ToolNames) -> PastStep:
    calls = (_retell_call(call, tools) for call in step.calls if tools.shows(call.name) or not is_look_up(call.name))
    return replace(step, calls=tuple(calls))


def _retell_call(call: PastCall, tools: ToolNames) -> PastCall:
    result, arguments = _parse_object(call.result), _parse_object(call.arguments)
    called = str(arguments.get("op") or "") if call.name == EXEC_TOOL else ""
    retold = replace(call, result=dump(rename_ops(result, tools, called=called))) if result else call
    if call.name == BATCH_TOOL or is_look_up(call.name):
        return retold if tools.shows(call.name) else replace(retold, told_as="several calls")
    op = str(result.get("op") or (arguments.get("op") if call.name == EXEC_TOOL else call.name) or call.name)
    args = arguments.get("args", {}) if call.name == EXEC_TOOL else arguments
    sent = arguments.get("op") if call.name == EXEC_TOOL else None
    # What the user has not decided may be repeated, so it stays a call as it was sent.
    is_open = _get_reason(result) == NOT_DECIDED
    tool = tools.find_tool(op)
    has_own_tool = bool(tool) and arguments.keys() <= {"op", "args"}  # and says nothing that the tool cannot say
    if tools.shows(call.name) and (is_open or not isinstance(sent, str) or (tools.runs(sent) and not has_own_tool)):
        return retold
    if tool:
        return replace(retold, name=tool, arguments=dump(args))
    if tools.runs(op):
        return replace(retold, name=EXEC_TOOL, arguments=dump({"op": op, "args": args}))
    return replace(retold, told_as=_describe(op))


def _get_reason(result: Mapping[str, Any]) -> Any:
    error = result.get("error")
    details = error.get("details") if isinstance(error, Mapping) else None
    return details.get("reason") if isinstance(details, Mapping) else None


def rename_ops(result: Mapping[str, Any], tools: ToolNames, *, called: str = "") -> dict[str, Any]:
    """Return an answer, or the answers of a batch, with each op by its name on the surface, or in words.

    On discovery that is the name that the model `called`.
    """
    entries = result.get("results")
    if "batch_id" in result and isinstance(entries, list):
        return {**result, "results": [rename_ops(each, tools) if isinstance(each, dict) else each for each in entries]}
    if isinstance(rows := result.get("items"), list) and "result" not in result:  # of a loop in a batch
        result = {**result, "items": [rename_ops(each, tools) if isinstance(each, dict) else each for each in rows]}
    op = result.get("op")
    if not isinstance(op, str) or not op:
        return {**result}
    name = called if called and tools.runs(called) else ""
    return {**result, "op": tools.find(op) or name or (_describe(op) if "." in op else op)}


def _describe(op: str) -> str:
    """Return an op in words: onto.task.list as task list."""
    return " ".join(op.split(".")[-2:]).replace("_", " ")


def _parse_object(text: str) -> dict[str, Any]:
    try:
        value = parse(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
