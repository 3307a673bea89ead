"""Past calls in the words of the toolset that is shown now."""

import json
from typing import Any

import pytest

from chat.context.history import build_past_messages
from chat.context.layers import PastCall, PastStep, PastTurn
from chat.context.retelling import retell_turns

TOOL = {"op": "onto.task.list"}
GATEWAY = {"surface": "gateway", "tools": [{"name": "tool_help"}, {"name": "tool_exec"}, {"name": "tool_batch"}]}
LEGACY = {"surface": "legacy", "tools": [{"name": "list_onto_tasks"}], "ops": {"list_onto_tasks": TOOL}}
HYBRID = {"surface": "hybrid", "tools": [*GATEWAY["tools"], *LEGACY["tools"]], "ops": {"list_onto_tasks": TOOL}}
OTHER = {"surface": "legacy", "tools": [{"name": "list_onto_projects"}], "ops": {"list_onto_projects": {"op": "x"}}}
DISCOVERY = {"surface": "discovery", "tools": [{"name": "discover_tasks"}, {"name": "tool_exec"}]}
RESULT = json.dumps({"op": "onto.task.list", "ok": True, "result": {"tasks": [{"id": "t-1", "title": "Buy paint"}]}})
BY_PATH = PastCall("c1", "tool_exec", '{"op":"onto.task.list","args":{"limit":3}}', RESULT)
BY_TOOL = PastCall("c1", "list_onto_tasks", '{"limit":3}', RESULT)


def _tell(call: PastCall, toolset: dict[str, Any]) -> list[dict[str, Any]]:
    turns = retell_turns([PastTurn("What is open?", (PastStep("", (call,)),), "One.")], toolset)
    return build_past_messages(turns, summary="")[0]


@pytest.mark.parametrize("call", [BY_PATH, BY_TOOL])
@pytest.mark.parametrize(
    ("toolset", "name", "arguments", "op"),
    [
        (GATEWAY, "tool_exec", {"op": "onto.task.list", "args": {"limit": 3}}, "onto.task.list"),
        (LEGACY, "list_onto_tasks", {"limit": 3}, "list_onto_tasks"),
        (HYBRID, "list_onto_tasks", {"limit": 3}, "list_onto_tasks"),
    ],
)
def test_past_call_is_told_as_a_call_of_a_tool_that_is_shown(
    call: PastCall, toolset: dict[str, Any], name: str, arguments: dict[str, Any], op: str
) -> None:
    _, made, result, _ = _tell(call, toolset)
    function = made["tool_calls"][0]["function"]
    assert (function["name"], json.loads(function["arguments"])) == (name, arguments)
    assert json.loads(result["content"])["op"] == op


@pytest.mark.parametrize("call", [BY_PATH, BY_TOOL])
def test_past_call_of_a_tool_that_is_not_shown_is_told_as_a_text(call: PastCall) -> None:
    _, told, _ = _tell(call, OTHER)
    assert told["role"] == "system"
    assert "task list. Its answer: {" in told["content"]
    assert "t-1" in told["content"]
    assert "onto." not in json.dumps(told)
    assert "tool_exec" not in json.dumps(told)


def test_past_batch_is_told_as_a_text_where_there_are_no_batches() -> None:
    batch = {"batch_id": "b", "ok": True, "results": [{"index": 0, **json.loads(RESULT)}]}
    call = PastCall("c1", "tool_batch", '{"ops":[{"op":"onto.task.list"}]}', json.dumps(batch))
    assert [message["role"] for message in _tell(call, LEGACY)] == ["user", "system", "assistant"]
    assert "list_onto_tasks" in _tell(call, LEGACY)[1]["content"]
    assert _tell(call, GATEWAY)[1]["tool_calls"][0]["function"]["name"] == "tool_batch"


def test_past_look_up_in_the_words_of_another_surface_is_left_out() -> None:
    look_up = PastCall("c1", "tool_help", '{"path":"onto.task"}', '{"path":"onto.task","type":"group","items":[]}')
    assert "onto.task" not in json.dumps(_tell(look_up, LEGACY))
    assert "onto.task" in json.dumps(_tell(look_up, GATEWAY))


def test_op_by_its_path_is_not_told_where_ops_have_the_names_of_tools() -> None:
    _, told, *_ = _tell(BY_PATH, DISCOVERY)
    assert "task list. Its answer" in told["content"]
    by_name = PastCall("c1", "tool_exec", '{"op":"list_onto_tasks","args":{}}', RESULT)
    assert _tell(by_name, DISCOVERY)[1]["tool_calls"][0]["function"]["arguments"] == by_name.arguments


def test_malformed_call_of_a_shown_tool_stays() -> None:
    error = json.dumps({"op": "", "ok": False, "error": {"code": "VALIDATION_ERROR", "message": "Not JSON."}})
    assert (
        _tell(PastCall("c1", "tool_exec", "{", error), GATEWAY)[1]["tool_calls"][0]["function"]["name"] == "tool_exec"
    )


def test_answer_names_its_op_as_the_model_did_where_ops_have_the_names_of_tools() -> None:
    call = PastCall("c1", "tool_exec", '{"op":"list_onto_tasks","args":{}}', RESULT)

    answers = [json.loads(message["content"]) for message in _tell(call, DISCOVERY) if message["role"] == "tool"]

    assert [each["op"] for each in answers] == ["list_onto_tasks"]


def test_call_that_the_user_has_not_decided_stays_a_call_that_can_be_repeated() -> None:
    error = {"code": "CONFLICT", "details": {"reason": "not_decided"}}
    result = json.dumps({"op": "onto.task.delete", "ok": False, "error": error})
    call = PastCall("c1", "tool_exec", '{"op":"onto.task.delete","args":{}}', result)
    assert json.loads(_tell(call, DISCOVERY)[1]["tool_calls"][0]["function"]["arguments"])["op"] == "onto.task.delete"
