"""The tool definitions for models are small and match what the API accepts."""

import json
from typing import Any

import pytest

from core.text import token_budget
from gateway.contracts import tool_definitions
from tests.support.clients.api import Api

BODIES = {
    "tool_help": {
        "path": "util.web.search",
        "arg": "query",
        "format": "full",
        "include_examples": True,
        "include_schemas": True,
        "max_tokens": 500,
    },
    "tool_batch": {
        "ops": [{"type": "exec", "op": "x.registry.help", "args": {"limit": 1}}, {"type": "help", "depends_on": [0]}],
        "mode": "sequential",
        "stop_on_error": True,
        "idempotency_key": "one",
    },
    "tool_exec": {"op": "x.registry.help", "args": {"limit": 1}, "idempotency_key": "one", "dry_run": True},
}


def test_definitions_are_small() -> None:
    text = json.dumps(tool_definitions.GATEWAY_TOOLS, separators=(",", ":"))

    assert len(text) < 3_000
    assert token_budget.count(text) < 700


@pytest.mark.parametrize("tool", tool_definitions.GATEWAY_TOOLS, ids=lambda tool: str(tool["name"]))
def test_every_parameter_is_accepted_by_the_api(api: Api, live_catalog: Any, tool: dict[str, Any]) -> None:
    endpoint = tool["name"].removeprefix("tool_")
    more_bodies = {"tool_help": [{"query": "task", "limit": 3}, {"path": "root", "limit": 1}]}
    bodies = [BODIES[tool["name"]], *more_bodies.get(tool["name"], [])]
    sent_names = {name for body in bodies for name in body}
    if tool["name"] == "tool_help":
        bodies.append({"path": "root", "limit": 1, "cursor": api.help("root", limit=1)["next_cursor"]})
        sent_names.add("cursor")

    # Those for remote reads are tested in test_remote_answers.py.
    assert sent_names >= set(tool["parameters"]["properties"]) - ({"fields", "max_tokens", "cursor"} - sent_names)
    assert [api.post(endpoint, body).status_code for body in bodies] == [200] * len(bodies)


def test_schemas_use_only_keywords_that_every_provider_accepts() -> None:
    for tool in tool_definitions.GATEWAY_TOOLS:
        assert set(tool["parameters"]) <= {"type", "additionalProperties", "required", "properties"}
        for name, argument in tool["parameters"]["properties"].items():
            assert isinstance(argument["type"], str), name
            assert argument["description"], name
