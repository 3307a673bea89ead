"""Errors in prompt sections, agents, pins and discovery names."""

from typing import Any

import pytest

from registry import checks
from registry.checks import surface_copy
from tests.support.rows.op_entries import build_content, build_op_entry

AGENT = {
    "name": "explorer",
    "summary": "Finds things",
    "ops": ["a.*"],
    "is_read_only": True,
    "system_prompt": "You find things.",
    "status": "active",
}
PIN = {"surface": "hybrid", "context": "*", "model_family": "*", "ops": ["a.b"], "max_tokens": 500}


WRITE_PATH = "Write the path of an op; for an agent, * stands for any characters."


def find_messages(*ops: dict[str, Any], **lists: list[dict[str, Any]]) -> list[str]:
    content = build_content(*ops or [build_op_entry("a.b")])
    return [str(problem) for problem in checks.find_errors(content | lists)]


@pytest.mark.parametrize(
    ("surface", "text", "named"),
    [
        ("gateway", "Call update_onto_task at once.", ["update_onto_task"]),
        ("gateway", "Call tool_exec with onto.task.update.", []),
        ("gateway", "Send help a query, then fetch with crm.find. Never getUser.", ["getUser"]),
        ("legacy", "Read tool_help. Then onto.task.update.", ["onto.task.update", "tool_help"]),
        ("legacy", "Call update_onto_task.", []),
        ("hybrid", "Call update_onto_task, or fetch_it and getUser.", ["getUser"]),
        ("discovery", "Call discover_agents, tool_exec and tool_help.", ["tool_help"]),
        ("discovery", "Call tool_exec with onto.task.update.", ["onto.task.update"]),
        ("native", "Call update_onto_task, not tool_exec.", ["tool_exec"]),
        ("overview", "Read tool_help, update_onto_task, onto.task.update.", []),
    ],
)
def test_surface_prompt_names_only_tools_of_its_surface(surface: str, text: str, named: list[str]) -> None:
    section = {"prompt": f"{surface}_surface", "name": "working", "title": "How to act", "text": text}
    named_as = {"onto.task.update": "update_onto_task", "crm.fetch": "fetch", "crm.user.get": "getUser"}
    # A tool name may equal its path, which a model sends on the gateway surface.
    tool_names = named_as | {"crm.find": "crm.find"}
    pins = [{"surface": "hybrid", "context": "*", "model_family": "*", "ops": ["onto.task.update"], "max_tokens": 500}]

    findings = list(surface_copy.find_off_surface_names(section, tool_names, pins))

    assert [finding.message.split(" is not available on ")[0] for finding in findings] == named
    assert all(finding.is_blocking and finding.field == "text" for finding in findings)


@pytest.mark.parametrize(
    ("lists", "messages"),
    [
        ({"agents": [AGENT], "pins": [PIN]}, []),
        ({"agents": [AGENT | {"ops": ["a.b", "b.*"]}]}, [f"agents.explorer, ops/1: There is no op b.*. {WRITE_PATH}"]),
        ({"agents": [AGENT | {"ops": ["b.*"], "status": "retired"}]}, []),
        ({"agents": [AGENT, AGENT]}, ["agents.explorer, name: 2 agents have this name. Delete one of them."]),
        ({"pins": [PIN | {"ops": ["a.*"]}]}, [f"hybrid/*/*, ops/0: There is no op a.*. {WRITE_PATH}"]),
        ({"pins": [PIN, PIN]}, ["hybrid/*/*, surface: 2 pins have this name. Delete one of them."]),
        (
            {"agents": [AGENT | {"summary": "a\x00b"}]},
            ["agents.explorer, content: The text has a NUL character. Delete it."],
        ),
    ],
)
def test_problem_of_agents_and_pins_is_found(lists: dict[str, Any], messages: list[str]) -> None:
    assert find_messages(**lists) == messages


def test_pinned_op_can_be_retired_and_paths_of_agents_are_reserved() -> None:
    assert find_messages(build_op_entry("a.b", status="retired"), pins=[PIN]) == []
    assert find_messages(build_op_entry("agents.find")) == [
        "agents.find, op: agents is kept for help itself. Choose another path."
    ]


@pytest.mark.parametrize("name", ["discover_agents", "discover_x", "a_b"])
def test_discovery_name_that_something_else_has_is_found(name: str) -> None:
    groups = [{"path": path, "summary": "x", "discovery_name": name} for path in ("a", "b")]
    first, second = groups
    groups = [first | {"discovery_name": "discover_x"}, second]
    content = build_content(build_op_entry("a.b"))

    assert [str(problem) for problem in checks.find_errors(content | {"groups": groups})] == [
        f"b, discovery_name: {name} is already a name of something else. Choose another discovery name."
    ]


def test_pin_over_its_budget_is_a_warning() -> None:
    content = build_content(build_op_entry("a.b"), build_op_entry("a.c"))
    content |= {"pins": [PIN | {"ops": ["a.b", "a.c"], "max_tokens": 50}]}

    [finding] = [each for each in checks.find_warnings(content, {}) if each.rule == "pin_over_budget"]

    assert (finding.op, finding.field, finding.is_blocking) == ("hybrid/*/*", "max_tokens", False)
