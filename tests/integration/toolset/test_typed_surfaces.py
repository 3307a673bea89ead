"""Hybrid and native surfaces: pinned ops as typed tools, and our search behind the provider's tool search."""

from typing import Any

import pydantic
import pytest
from anthropic.types import ToolParam, ToolReferenceBlockParam
from openai.types.responses import FunctionToolParam, ToolSearchToolParam

from analytics.events.models import OperationEvent
from core.text import token_budget
from registry.jsonschema.validator import SchemaValidator
from registry.models import Pin
from tests.support.clients.api import Api
from tests.support.rows.catalog_fixture import publish_draft
from workspace.demo import DEMO_PROJECT_ID

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("gateway_enabled")]

IN_PROJECT = {"Gateway-Context": f'type=project, project_id="{DEMO_PROJECT_ID}"'}
GATEWAY_TOOLS = ["tool_help", "tool_exec", "tool_batch"]


def request_toolset(api: Api, surface: str, format: str = "openai", **headers: str) -> dict[str, Any]:
    response = api.post("toolset", {"format": format, "surface": surface}, **headers)
    assert response.status_code == 200, response.content
    return response.json()


def list_names(toolset: dict[str, Any]) -> list[str]:
    return [tool["function"]["name"] for tool in toolset["tools"]]


def pin(*ops: str, **place: Any) -> None:
    Pin.objects.create(**{"surface": "hybrid", "context": "*", "model_family": "*", "ops": list(ops)} | place)


@pytest.fixture(autouse=True)
def _without_shipped_pins(live_catalog: Any) -> None:
    Pin.objects.all().delete()


def test_hybrid_surface_has_the_gateway_tools_and_the_pinned_ops_in_order(api: Api) -> None:
    pin("onto.task.list", "cal.event.list")
    publish_draft()

    toolset = request_toolset(api, "hybrid")

    assert list_names(toolset) == [*GATEWAY_TOOLS, "list_onto_tasks", "list_calendar_events"]
    assert toolset["ops"]["list_onto_tasks"] == {
        "op": "onto.task.list",
        "kind": "read",
        "entity": "task",
        "action": "list",
    }


def test_pins_of_the_context_and_the_models_family_come_first(api: Api) -> None:
    pin("onto.search")
    pin("onto.task.list", context="project")
    pin("onto.task.get", context="project", model_family="gemini")
    pin("cal.event.list", model_family="gemini")
    publish_draft()
    gemini = {"Gateway-Model": "google/gemini-2.5-flash"}

    shown = [
        list_names(request_toolset(api, "hybrid", **headers))[3:]
        for headers in ({}, IN_PROJECT, IN_PROJECT | gemini, gemini, {"Gateway-Context": "type=task"})
    ]

    assert shown == [
        ["search_ontology"],
        ["list_onto_tasks"],
        ["get_onto_task_details"],
        ["list_calendar_events"],
        ["list_onto_tasks"],  # a task uses the tools of its project
    ]


def test_empty_pin_pins_nothing_in_its_context(api: Api) -> None:
    pin("onto.task.list")
    Pin(surface="hybrid", context="project", model_family="*", ops=[]).full_clean()
    pin(context="project")
    publish_draft()

    assert list_names(request_toolset(api, "hybrid"))[3:] == ["list_onto_tasks"]
    assert list_names(request_toolset(api, "hybrid", **IN_PROJECT)) == GATEWAY_TOOLS


def test_pinned_ops_over_the_budget_or_that_the_caller_may_not_run_are_left_out(api: Api, make_key: Any) -> None:
    pin("onto.project.create", "util.profile.get", max_tokens=300)
    pin("onto.task.update", "onto.task.list", context="project")
    publish_draft()
    reader = Api(make_key(scopes=["toolset", "preview", "exec:read"]))

    assert list_names(request_toolset(api, "hybrid"))[3:] == ["get_user_profile"]
    assert list_names(request_toolset(reader, "hybrid", **IN_PROJECT))[3:] == ["list_onto_tasks"]


def test_pinned_tool_is_lean_and_takes_the_arguments_that_it_only_names(api: Api) -> None:
    pin("onto.task.list")
    publish_draft()
    tool = request_toolset(api, "hybrid")["tools"][-1]["function"]
    shown = tool["parameters"]["properties"]

    envelope = api.exec(tool["name"], {"project_id": DEMO_PROJECT_ID, "limit": 2, "fields": ["title"]})

    assert "strict" not in tool
    assert "limit" in shown
    assert "fields" not in shown
    assert "fields" in tool["description"]
    assert (envelope["op"], envelope["ok"]) == ("onto.task.list", True)
    assert [set(task) for task in envelope["result"]["tasks"]] == [{"id", "title"}] * 2
    assert envelope["meta"]["warnings"] == []


def test_tool_names_only_tools_that_are_shown_with_it(api: Api) -> None:
    pin("onto.task.list")
    publish_draft()
    alone = request_toolset(api, "hybrid")["tools"][-1]["function"]["description"]
    pin("onto.task.list", "onto.task.search", context="project")
    publish_draft()
    beside = request_toolset(api, "hybrid", **IN_PROJECT)["tools"][-2]["function"]["description"]

    assert "search_onto_tasks" not in alone
    assert "search_onto_tasks" in beside


@pytest.mark.parametrize("format", ["openai", "anthropic"])
def test_native_tools_match_the_types_of_the_providers(api: Api, format: str) -> None:
    tools = request_toolset(api, "native", format)["tools"]

    if format == "openai":
        assert len(tools) == 1  # tools come with the result of the search
        pydantic.TypeAdapter(ToolSearchToolParam).validate_python(tools[0], strict=True)
        assert tools[0]["execution"] == "client"
        return
    for tool in tools:
        pydantic.TypeAdapter(ToolParam).validate_python(tool)
    assert tools[0]["name"] == "search_tools"
    assert "defer_loading" not in tools[0]
    assert all(tool["defer_loading"] is True for tool in tools[1:])
    assert len(tools) > 80


def test_native_search_loads_typed_tools(api: Api) -> None:
    for format, type_of_result in (("openai", FunctionToolParam), ("anthropic", ToolReferenceBlockParam)):
        toolset = request_toolset(api, "native", format)

        answer = api.post("help", {"query": "finish a task"}, **{"Gateway-Toolset": toolset["id"]}).json()

        assert answer["items"][0]["path"] == "onto.task.update"
        for result in answer["tools"]:
            pydantic.TypeAdapter(type_of_result).validate_python(result, strict=True)
        if format == "openai":
            assert answer["tools"][0]["name"] == "update_onto_task"
            assert all(tool["defer_loading"] is True for tool in answer["tools"])
        else:
            assert answer["tools"][0] == {"type": "tool_reference", "tool_name": "update_onto_task"}
            assert {each["tool_name"] for each in answer["tools"]} <= {tool["name"] for tool in toolset["tools"]}


def test_native_tools_have_valid_examples_and_count_as_what_the_model_is_shown_at_first(api: Api) -> None:
    toolset = request_toolset(api, "native", "anthropic")

    for tool in toolset["tools"][1:]:
        validator = SchemaValidator(tool["input_schema"])
        for example in tool["input_examples"]:
            assert validator.find_problems(example) == [], tool["name"]
    assert toolset["tokens"] < 250 < token_budget.count(str(toolset["tools"]))


def test_search_outside_the_native_surface_loads_nothing(api: Api) -> None:
    toolset = request_toolset(api, "gateway")

    assert "tools" not in api.post("help", {"query": "finish a task"}, **{"Gateway-Toolset": toolset["id"]}).json()


def test_events_of_each_surface_name_it(api: Api, read_events: Any) -> None:
    for surface in ("hybrid", "native", "discovery"):
        toolset = request_toolset(api, surface)
        api.post("help", {"query": "finish a task"}, **{"Gateway-Toolset": toolset["id"]})

    events: list[OperationEvent] = read_events()
    assert [event.surface for event in events] == ["hybrid", "native", "discovery"]
