"""The discovery surface: a discovery tool for each domain, three levels, and what a caller may not see."""

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from analytics.events.models import OperationEvent
from core.text import token_budget
from demo.load import load_copy
from gateway.models import Scope
from registry.catalog import cache, switches
from registry.drafts import switch_service
from registry.models import Group
from tests.support.clients.api import Api, assert_refused
from tests.support.loops import for_each
from tests.support.rows.catalog_fixture import publish_draft
from workspace.demo import DEMO_TASK_ID

pytestmark = pytest.mark.django_db
ReadEvents = Callable[[], list[OperationEvent]]

PROJECT_TOOLS = "discover_project_tools"
OTHER_TOOLS = "discover_other_tools"


def discover(api: Api, name: str, body: dict[str, Any] | None = None, **headers: str) -> dict[str, Any]:
    response = api.post(f"discover/{name}", body or {}, **headers)
    assert response.status_code == 200, response.content
    return response.json()


def test_toolset_has_one_tool_per_domain_one_for_agents_and_tool_exec(api: Api) -> None:
    toolset = api.post("toolset", {"format": "openai", "surface": "discovery"}).json()

    names = [tool["function"]["name"] for tool in toolset["tools"]]
    assert names == ["discover_calendar_tools", "discover_lookup_tools", PROJECT_TOOLS, "discover_agents", "tool_exec"]
    assert toolset["surface"] == "discovery"
    assert "Today is" in toolset["prompt"]


def test_model_finds_and_runs_a_tool_by_the_three_levels(api: Api) -> None:
    tools = discover(api, PROJECT_TOOLS)["tools"]
    assert {"name": "update_onto_task", "summary": "Change a task's title, state, dates or details"} in tools

    tool = discover(api, PROJECT_TOOLS, {"tool": "update_onto_task"})
    assert set(tool) == {"name", "description", "parameters", "required", "types", "usage"}
    assert (tool["name"], tool["parameters"][0]) == ("update_onto_task", "task_id")
    assert tool["required"] == ["task_id"]
    assert tool["types"]["state_key"].startswith("todo|in_progress|blocked|done")
    assert "task_id" not in tool["types"]  # the usage shows ids; what has no type is a string

    parameter = discover(api, PROJECT_TOOLS, {"tool": "update_onto_task", "parameter": "state_key"})
    assert (parameter["name"], parameter["required"]) == ("state_key", False)
    assert "blocked" in parameter["type"]

    call = {**tool["usage"], "args": {**tool["usage"]["args"], "task_id": DEMO_TASK_ID, "state_key": "blocked"}}
    assert api.post("exec", call).json()["ok"]


def test_query_finds_a_tool_with_its_parameters_so_that_a_call_comes_next(api: Api) -> None:
    first, *others = discover(api, PROJECT_TOOLS, {"query": "list my open tasks"})["tools"]

    assert first["name"] == "list_onto_tasks"
    assert first["parameters"]["state_key"] == "[todo|in_progress|blocked|done]"
    assert any("parameters" not in each for each in others)  # the others are only named
    assert discover(api, "discover_calendar_tools", {"query": "find free time"})["tools"][0]["parameters"]


def test_parameter_has_its_default_and_examples_that_help(api: Api) -> None:
    limit = discover(api, PROJECT_TOOLS, {"tool": "list_onto_tasks", "parameter": "limit"})
    entities = discover(api, PROJECT_TOOLS, {"tool": "create_onto_project", "parameter": "entities"})
    state, task_id = (
        discover(api, PROJECT_TOOLS, {"tool": "update_onto_task", "parameter": each})
        for each in ("state_key", "task_id")
    )

    assert (limit["type"], limit["default"]) == ("integer, max 50", 20)
    assert "done" in state["examples"]
    assert "examples" not in task_id
    [first_rows] = entities["examples"]  # not the example with an empty list
    assert {row["kind"] for row in first_rows} == {"goal", "plan", "task"}


def test_domain_and_tool_are_found_by_their_paths_and_full_is_full_help(api: Api) -> None:
    assert discover(api, "onto")["tools"] == discover(api, PROJECT_TOOLS)["tools"]
    by_path = discover(api, PROJECT_TOOLS, {"tool": "onto.task.update"})
    assert by_path == discover(api, PROJECT_TOOLS, {"tool": "update_onto_task"})
    full = discover(api, PROJECT_TOOLS, {"tool": "update_onto_task", "level": "full"})
    assert full == api.help("onto.task.update", format="full")


def test_unknown_names_get_the_nearest(api: Api) -> None:
    domain = assert_refused(api.post("discover/discover_projekt_tools", {}), 404, "unknown_path")
    tool = assert_refused(api.post(f"discover/{PROJECT_TOOLS}", {"tool": "update_onto_tsk"}), 404, "unknown_path")
    body = {"tool": "update_onto_task", "parameter": "statekey"}
    parameter = assert_refused(api.post(f"discover/{PROJECT_TOOLS}", body), 404, "unknown_argument")

    assert domain["details"]["did_you_mean"][0] == PROJECT_TOOLS
    assert tool["details"]["did_you_mean"][0] == "update_onto_task"
    assert parameter["details"]["did_you_mean"][0] == "state_key"


def test_tool_of_another_domain_is_told_with_its_discovery_tool(api: Api) -> None:
    response = api.post(f"discover/{PROJECT_TOOLS}", {"tool": "find_available_slots"})

    error = assert_refused(response, 404, "tool_of_another_domain")
    assert error["message"] == "find_available_slots is a tool of discover_calendar_tools. Call that."
    assert error["details"]["did_you_mean"] == ["discover_calendar_tools"]


@for_each(
    "body, path",
    [
        ({"parameter": "title"}, "/tool"),
        ({"tool": "update_onto_task", "parameter": "title", "level": "full"}, "/level"),
        ({"tool": "update_onto_task", "level": "short"}, "/level"),
        ({"agent": "explorer"}, "/agent"),
    ],
)
def test_malformed_body_names_its_field(api: Api, body: dict[str, Any], path: str) -> None:
    error = assert_refused(api.post(f"discover/{PROJECT_TOOLS}", body), 400, "malformed_call")

    assert [each["path"] for each in error["details"]["field_errors"]] == [path]


def test_what_a_caller_may_not_run_is_in_no_level(make_api: Callable[..., Api], live_catalog: Any) -> None:
    api = make_api(scopes=[Scope.HELP, Scope.TOOLSET, Scope.PREVIEW, Scope.EXEC_READ], op_patterns=["onto.task.*"])

    toolset = api.post("toolset", {"format": "openai", "surface": "discovery"}).json()
    assert [tool["function"]["name"] for tool in toolset["tools"]] == [PROJECT_TOOLS, "tool_exec"]
    names = [tool["name"] for tool in discover(api, PROJECT_TOOLS)["tools"]]
    assert "list_onto_tasks" in names
    assert not {"update_onto_task", "list_onto_projects"} & set(names)
    assert_refused(api.post(f"discover/{PROJECT_TOOLS}", {"tool": "update_onto_task"}), 404, "unknown_path")
    assert_refused(api.post("discover/discover_calendar_tools", {}), 404, "unknown_path")


def test_what_is_switched_off_is_in_no_level_and_an_empty_domain_has_no_tool(api: Api) -> None:
    switch_service.switch_off(kind="group", name="cal", reason="Tested", by="tests", at=timezone.now())
    switch_service.switch_off(kind="op", name="onto.task.move", reason="Tested", by="tests", at=timezone.now())
    switches.refresh_switches()

    tools = {tool["name"] for tool in discover(api, PROJECT_TOOLS)["tools"]}
    toolset = api.post("toolset", {"format": "openai", "surface": "discovery"}).json()

    assert "move_onto_task" not in tools
    assert "discover_calendar_tools" not in [tool["function"]["name"] for tool in toolset["tools"]]
    assert_refused(api.post("discover/discover_calendar_tools", {}), 404, "unknown_path")


def test_answer_comes_from_memory_with_an_etag(api: Api, django_assert_num_queries: Any) -> None:
    first = api.post(f"discover/{PROJECT_TOOLS}", {"tool": "update_onto_task"})
    with django_assert_num_queries(0):
        second = api.post(f"discover/{PROJECT_TOOLS}", {"tool": "update_onto_task"})

    assert first.headers["ETag"] == second.headers["ETag"]
    assert first.headers["Gateway-Release"] == cache.get_live_catalog().version


def test_event_has_level_and_count(api: Api, read_events: ReadEvents) -> None:
    listed = discover(api, PROJECT_TOOLS)
    for body in ({}, {"parameter": "title"}, {"level": "full"}):
        discover(api, PROJECT_TOOLS, {"tool": "update_onto_task", **body})
    api.post(f"discover/{PROJECT_TOOLS}", {"tool": "nothing_like_it"})

    events = [(event.type, event.op, event.format, event.result_count, event.reason) for event in read_events()]

    assert events == [
        ("discover", "onto", "list", len(listed["tools"]), ""),
        ("discover", "onto.task.update", "short", None, ""),
        ("discover", "onto.task.update", "arg", None, ""),
        ("discover", "onto.task.update", "full", None, ""),
        ("discover", PROJECT_TOOLS, "", None, "unknown_path"),
    ]


def test_costs_stay_within_their_goals(api: Api) -> None:
    toolset = api.post("toolset", {"format": "openai", "surface": "discovery"}).json()
    by_name = {tool["function"]["name"]: tool for tool in toolset["tools"]}
    sizes = {name: token_budget.count_json(tool) for name, tool in by_name.items()}
    listed = api.post(f"discover/{PROJECT_TOOLS}", {})
    names = [tool["name"] for tool in listed.json()["tools"]]
    details = sorted(
        token_budget.count(api.post(f"discover/{PROJECT_TOOLS}", {"tool": name}).content.decode()) for name in names
    )

    assert all(size <= 52 for name, size in sizes.items() if name != "tool_exec")
    assert toolset["tokens"] - sizes["tool_exec"] <= 300
    assert token_budget.count(listed.content.decode()) / len(names) <= 18
    assert details[len(details) // 2] <= 110  # of which types take 40, and save a call for each


def test_ops_of_connected_services_are_in_one_more_tool_that_can_be_searched(api: Api) -> None:
    load_copy(timezone.now())
    Group.objects.filter(path="crm").update(discovery_name="", discovery_summary="")
    publish_draft()

    toolset = api.post("toolset", {"format": "openai", "surface": "discovery"}).json()
    [tool] = [each["function"] for each in toolset["tools"] if each["function"]["name"] == OTHER_TOOLS]
    assert "crm" in tool["description"]
    assert "query" in tool["parameters"]["properties"]
    assert token_budget.count_json(tool) <= 60
    listed = {each["name"] for each in discover(api, OTHER_TOOLS)["tools"]}
    everything = {op.op: op for op in cache.get_live_catalog().ops.values() if op.is_active}
    reachable = {
        each["name"]
        for name in (each["function"]["name"] for each in toolset["tools"])
        if name.startswith("discover_") and name != "discover_agents"
        for each in discover(api, name)["tools"]
    }
    assert {op.tool_name for path, op in everything.items() if not path.startswith("x.")} <= reachable

    found = [each["name"] for each in discover(api, OTHER_TOOLS, {"query": "which customers do we have"})["tools"]]
    assert set(found) <= listed
    op = next(op for op in everything.values() if op.tool_name == found[0])
    assert (op.group, op.kind) == ("crm", "read")
    detail = discover(api, OTHER_TOOLS, {"tool": found[0]})
    assert api.post("exec", detail["usage"]).json()["op"] == op.op
    assert discover(api, PROJECT_TOOLS, {"query": "finish a task"})["tools"][0]["name"] == "update_onto_task"
    both = api.post(f"discover/{OTHER_TOOLS}", {"query": "customers", "tool": found[0]})
    assert assert_refused(both, 400, "malformed_call")["details"]["field_errors"][0]["path"] == "/query"
