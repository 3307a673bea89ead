"""The messages of a request within a turn."""

import json
from typing import Any

from chat.context.handles import RowHandles
from chat.context.sections.tool_names import ToolNames
from chat.models import ToolCall
from chat.turns.tool_plan import plan_call
from chat.turns.tool_runner import CallOutcome
from chat.turns.turn_loop import ModelRound, build_messages
from core.llm import StreamedCall
from tests.support.loops import for_each

GATEWAY_TOOLS = [{"name": "tool_help"}, {"name": "tool_exec"}, {"name": "tool_batch"}]
TYPED = {"tools": [{"name": "list_onto_tasks"}], "ops": {"list_onto_tasks": {"op": "onto.task.list"}}}
GATEWAY = {"surface": "gateway", "tools": GATEWAY_TOOLS}
HYBRID = {"surface": "hybrid", **TYPED, "tools": [*GATEWAY_TOOLS, *TYPED["tools"]]}
LEGACY = {"surface": "legacy", **TYPED}


@for_each(
    "toolset, path, name",
    [
        (GATEWAY, "onto.task.list", "onto.task.list"),
        (HYBRID, "onto.task.list", "list_onto_tasks"),
        (HYBRID, "onto.goal.list", "onto.goal.list"),
        (LEGACY, "onto.task.list", "list_onto_tasks"),
    ],
)
def test_result_names_its_op_as_the_toolset_does(toolset: dict[str, Any], path: str, name: str) -> None:
    call = plan_call(StreamedCall("c1", "tool_exec", json.dumps({"op": path})))
    outcome = CallOutcome(call, ToolCall(), {"op": path, "ok": True, "result": {}})

    [_, result] = build_messages([], [ModelRound("", [outcome])], RowHandles([]), ToolNames(toolset))

    assert json.loads(result["content"])["op"] == name
