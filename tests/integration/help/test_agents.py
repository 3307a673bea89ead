"""Agents: found by three levels, run as a plan, held to their ops."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from analytics.events.models import OperationEvent
from gateway.batches import runner
from gateway.models import Scope
from registry.models import Agent
from tests.support.clients.api import Api, assert_refused
from tests.support.loops import for_each
from tests.support.rows.catalog_fixture import publish_draft
from workspace.demo import DEMO_TASK_ID

pytestmark = pytest.mark.django_db
MakeApi = Callable[..., Api]

AS_EXPLORER = {"Gateway-Agent": "explorer"}
EXPLORER = {"name": "explorer", "summary": "Looks things up in many rows and reports"}


def test_agents_are_found_by_three_levels_of_help_and_by_their_discovery_tool(api: Api) -> None:
    assert {"path": "agents", "summary": "Agents for single tasks"} in api.help()["items"]
    assert api.help("agents")["items"] == [{"path": "agents.explorer", "summary": EXPLORER["summary"]}]
    assert api.post("discover/discover_agents", {}).json() == {"agents": [EXPLORER]}
    short, full = api.help("agents.explorer"), api.help("agents.explorer", format="full")
    assert short["type"] == "agent"
    assert {"name", "summary", "description", "when_to_use", "tools", "constraints"} <= set(short)
    assert full.keys() - short.keys() == {"system_prompt", "examples", "edge_cases"}
    for name in ("agent", "tool"):
        short = api.post("discover/discover_agents", {name: "explorer"}).json()
        full = api.post("discover/discover_agents", {name: "explorer", "level": "full"}).json()

        assert short["tools"] == ["onto.*", "cal.*", "util.*"]
        assert full.keys() - short.keys() == {"system_prompt", "examples", "edge_cases"}


def test_help_on_the_op_that_runs_agents_names_those_of_the_caller(api: Api, make_api: MakeApi) -> None:
    Agent.objects.create(name="planner", summary="Plans a week", system_prompt="Plan.", ops=["cal.*"])
    publish_draft()
    planner = {"name": "planner", "summary": "Plans a week"}

    for path in ("x.agent.run", "run_agent"):
        for format in ("short", "full"):
            assert api.help(path, format=format)["agents"] == [EXPLORER, planner]
    assert make_api(op_patterns=["x.*", "onto.*"]).help("x.agent.run")["agents"] == [EXPLORER]
    assert "agents" not in make_api(op_patterns=["x.*"]).help("x.agent.run")
    small = api.help("x.agent.run", max_tokens=60)
    assert "agents" in small["omitted"]
    assert "agent" in small["args"]


def test_system_prompt_is_only_for_keys_with_the_scope_toolset(make_api: MakeApi, live_catalog: Any) -> None:
    api = make_api(scopes=[Scope.HELP, Scope.EXEC_READ])

    assert "system_prompt" not in api.help("agents.explorer", format="full")
    assert "system_prompt" not in api.post("discover/discover_agents", {"agent": "explorer", "level": "full"}).json()
    assert [item["path"] for item in api.help()["items"]] == ["cal", "onto", "util", "x"]  # it could run no agent
    assert_refused(api.post("exec", {"op": "x.agent.run", "args": {}}), 403, "scope_missing")


def test_run_gives_the_caller_what_it_needs(api: Api) -> None:
    envelope = api.exec("x.agent.run", {"agent": "explorer", "task": "Which tasks are blocked?"})

    run = envelope["result"]["run"]
    assert (run["agent"], run["max_calls"]) == ("explorer", 8)
    assert run["system_prompt"] == api.help("agents.explorer", format="full")["system_prompt"]


@for_each("args", [{"max_calls": 9}, {"max_calls": 0}, {"task": ""}])
def test_run_is_bounded(api: Api, args: dict[str, Any]) -> None:
    envelope = api.exec("x.agent.run", {"agent": "explorer", "task": "Look"} | args)

    assert envelope["error"]["code"] == "VALIDATION_ERROR"


def test_unknown_agent_is_told_with_the_nearest(api: Api) -> None:
    run = api.exec("x.agent.run", {"agent": "explorr", "task": "Look"})["error"]
    assert (run["code"], run["details"]["reason"]) == ("NOT_FOUND", "unknown_agent")
    for response in (
        api.post("help", {}, **{"Gateway-Agent": "explorr"}),
        api.post("toolset", {"format": "openai"}, **{"Gateway-Agent": "explorr"}),
    ):
        error = assert_refused(response, 404, "unknown_agent")
        assert error["details"]["did_you_mean"] == ["explorer"]
    assert_refused(api.post("help", {"path": "agents.explorr"}), 404, "unknown_path")


def test_call_as_an_agent_is_held_to_its_ops_and_runs_no_agents(api: Api) -> None:
    read = api.post("exec", {"op": "onto.task.get", "args": {"task_id": DEMO_TASK_ID}}, **AS_EXPLORER)
    update = {"op": "onto.task.update", "args": {"task_id": DEMO_TASK_ID, "state_key": "done"}}
    refused = assert_refused(api.post("exec", update, **AS_EXPLORER), 403, "agent_may_not")

    assert read.json()["ok"]
    assert refused["message"] == ("The agent explorer cannot run onto.task.update. It can run only its own read ops.")
    run = {"op": "x.agent.run", "args": {"agent": "explorer", "task": "Look"}}
    assert_refused(api.post("exec", run, **AS_EXPLORER), 403, "agent_may_not")
    assert_refused(api.post("discover/discover_agents", {}, **AS_EXPLORER), 404, "unknown_path")


def test_agent_sees_only_its_ops(api: Api) -> None:
    task = api.post("help", {"path": "onto.task"}, **AS_EXPLORER).json()
    root = api.post("help", {}, **AS_EXPLORER).json()
    toolset = api.post("toolset", {"format": "openai", "surface": "legacy"}, **AS_EXPLORER).json()

    assert {item["kind"] for item in task["items"] if "kind" in item} == {"read"}
    assert [item["path"] for item in root["items"]] == ["cal", "onto", "util"]
    assert {op["kind"] for op in toolset["ops"].values()} == {"read"}


@pytest.mark.parametrize("in_background", [False, True])
def test_batch_of_an_agent_is_held_to_its_ops(api: Api, queued_batches: list[str], in_background: bool) -> None:
    ops = [
        {"type": "exec", "op": "onto.task.get", "args": {"task_id": DEMO_TASK_ID}},
        {"type": "exec", "op": "onto.task.delete", "args": {"task_id": DEMO_TASK_ID}},
    ]
    prefer = {"Prefer": "respond-async"} if in_background else {}

    batch = api.post("batch", {"ops": ops}, **AS_EXPLORER, **prefer).json()
    if in_background:
        assert runner.run_turn(UUID(batch["batch_id"]))
        batch = api.get(f"batches/{batch['batch_id']}").json()

    assert batch["results"][0]["ok"]
    assert batch["results"][1]["error"]["details"]["reason"] == "agent_may_not"


def test_events_carry_the_agent(api: Api, read_events: Callable[[], list[OperationEvent]]) -> None:
    api.post("help", {"path": "onto.task"}, **AS_EXPLORER)
    api.post("exec", {"op": "onto.task.get", "args": {"task_id": DEMO_TASK_ID}}, **AS_EXPLORER)
    api.help("onto")

    assert [event.agent for event in read_events()] == ["explorer", "explorer", ""]


def test_registry_is_an_op(api: Api) -> None:
    envelope = api.exec("x.registry.help", {"path": "onto.task.update"})
    search = api.exec("x.registry.help", {"query": "finish a task"})
    unknown = api.exec("x.registry.help", {"path": "onto.tsk"})
    both = api.exec("x.registry.help", {"path": "onto.task", "query": "finish a task"})

    assert envelope["result"] == api.help("onto.task.update")
    assert search["result"]["items"][0]["path"] == "onto.task.update"
    assert (unknown["error"]["code"], unknown["error"]["details"]["reason"]) == ("NOT_FOUND", "unknown_path")
    assert [error["path"] for error in both["error"]["details"]["field_errors"]] == ["/query"]


def test_registry_op_shows_only_what_the_caller_may_run(make_api: MakeApi, live_catalog: Any) -> None:
    api = make_api(op_patterns=["onto.task.*", "x.*"])

    assert [item["path"] for item in api.exec("x.registry.help")["result"]["items"]] == ["agents", "onto", "x"]


def test_ops_of_an_agent_that_the_caller_may_not_run_are_in_no_level(make_api: MakeApi, live_catalog: Any) -> None:
    Agent.objects.filter(name="explorer").update(ops=["onto.task.list", "onto.project.list", "cal.*", "util.*"])
    publish_draft()
    api = make_api(op_patterns=["onto.task.*", "util.*", "x.*"])

    assert api.help("agents.explorer")["tools"] == ["onto.task.list", "util.*"]
    found = api.post("discover/discover_agents", {"agent": "explorer"}).json()
    assert found["tools"] == ["list_onto_tasks", "util.*"]


def test_batch_of_an_agent_is_not_the_batch_of_its_caller(api: Api) -> None:
    ops = [{"type": "exec", "op": "onto.task.update", "args": {"task_id": DEMO_TASK_ID, "title": "A"}}]
    body = {"ops": ops, "idempotency_key": "of-an-agent"}

    api.post("batch", body, **AS_EXPLORER)

    assert_refused(api.post("batch", body), 422, "idempotency_key_reused")
