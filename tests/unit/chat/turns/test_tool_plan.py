"""From tool calls of the model to calls of the gateway."""

import pytest

from chat.turns.tool_plan import plan_call
from core.llm import StreamedCall


@pytest.mark.parametrize(
    ("name", "endpoint", "body"),
    [
        ("tool_exec", "exec", {"op": "onto.task.list"}),
        ("tool_help", "help", {"op": "onto.task.list"}),
        ("tool_batch", "batch", {"op": "onto.task.list"}),
        ("discover_onto", "discover/discover_onto", {"op": "onto.task.list"}),
        ("list_onto_tasks", "exec", {"op": "list_onto_tasks", "args": {"op": "onto.task.list"}}),
        # The model never chooses an address: these are names of ops that do not exist.
        *(
            (name, "exec", {"op": name, "args": {"op": "onto.task.list"}})
            for name in (
                "discover_x/../../exec",
                "discover_x?y=1",
                "discover_x#",
                "discover_",
                "discover_X",
                "discover_x\n",
            )
        ),
    ],
)
def test_tool_becomes_a_call_of_an_endpoint(name: str, endpoint: str, body: dict[str, object]) -> None:
    planned = plan_call(StreamedCall("c", name, '{"op": "onto.task.list"}'))

    assert (planned.endpoint, planned.body, planned.problem) == (endpoint, body, None)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ('{"op": ', "This is not valid JSON: Expecting value at character 7. Send one JSON object."),
        ('{"a": 1, "a": 2}', "An object has the same key twice. Send each key once."),
        ("[" * 40 + "]" * 40, "The JSON is nested more than 32 levels deep. Send fewer levels."),
        ("[]", "The arguments of tool_exec are not a JSON object. Send one, such as {}."),
    ],
)
def test_problem_of_arguments_is_said_once_and_not_about_a_body(arguments: str, problem: str) -> None:
    planned = plan_call(StreamedCall("c", "tool_exec", arguments))

    message = planned.problem["error"]["message"]
    assert message.endswith(problem)
    assert message.count("valid JSON") + message.count("not JSON") <= 1
    assert "body" not in message
    assert planned.json_arguments == "{}"


def test_call_without_arguments_has_an_empty_object() -> None:
    planned = plan_call(StreamedCall("c", "list_onto_projects", ""))

    assert (planned.args, planned.json_arguments) == ({}, "{}")
