"""Dynamic selection: the tools of the legacy surface that a message needs, by a model or heuristics, and escalation."""

import json
import secrets
from typing import Any
from unittest.mock import Mock

import pytest

from analytics.events import event_filters
from analytics.events.models import OperationEvent
from analytics.flags import FlagKey
from analytics.rollout import assignment
from analytics.rollout.models import Cohort
from analytics.turns.models import ToolSelection
from gateway.toolset import legacy_selection
from gateway.toolset.selection import heuristics
from tests.support.chat.fake_llm import FakeLlm, build_chat_completion
from tests.support.clients.api import Api, assert_refused
from workspace.demo import DEMO_PROJECT_ID

pytestmark = pytest.mark.django_db

PROJECT = {"Gateway-Context": f'type=project, project_id="{DEMO_PROJECT_ID}"'}
MESSAGE = "Mark the printer task as done"


@pytest.fixture(autouse=True)
def _dynamic(db: None) -> None:
    legacy_selection.analyzer.clear()
    Cohort.objects.create(name="lean", flag_id=FlagKey.SELECTION, variant="dynamic", percentage=100)
    assignment.refresh_rollout()


def request_toolset(api: Api, message: str | None = MESSAGE, **headers: str) -> dict[str, Any]:
    body = {"format": "openai"} | ({"message": message} if message is not None else {})
    response = api.post("toolset", body, **(PROJECT | headers))
    assert response.status_code == 200, response.content
    return response.json()


def list_names(toolset: dict[str, Any]) -> list[str]:
    return [tool["function"]["name"] for tool in toolset["tools"]]


def escalate(api: Api, toolset: dict[str, Any], missing: str) -> dict[str, Any]:
    response = api.post(f"toolset/{toolset['id']}/escalate", {"missing_tool": missing}, **PROJECT)
    assert response.status_code == 200, response.content
    return response.json()


def answer_plan(**fields: Any) -> bytes:
    plan = {
        "intent": "write",
        "tool_categories": ["ontology_write"],
        "required_tools": ["update_onto_task"],
        "optional_tools": ["list_onto_tasks"],
        "confidence": 0.9,
        "reason": "One task changes.",
    }
    return build_chat_completion(json.dumps(plan | fields))


def test_heuristics_select_a_fraction_of_the_tools(api: Api) -> None:
    toolset = request_toolset(api)
    everything = request_toolset(api, message=None)

    assert {"update_onto_task", "search_onto_tasks"} <= set(list_names(toolset))
    assert len(toolset["tools"]) <= len(everything["tools"]) * 0.4
    selection = toolset["selection"]
    assert (selection["kind"], selection["mode"], selection["intent"]) == ("dynamic", "heuristic", "write")
    assert [*selection["required"], *selection["optional"]] == list_names(toolset)
    assert set(selection) >= {"tool_categories", "added", "removed", "dropped", "confidence", "reason", "latency_ms"}
    assert selection["removed_count"] + len(toolset["tools"]) == len(everything["tools"]) + len(selection["added"])
    assert len(selection["removed"]) == 20
    assert everything["selection"]["mode"] == "default"


def test_model_selects_where_there_is_one(api: Api, llm: FakeLlm) -> None:
    llm.answers = [answer_plan()]

    toolset = request_toolset(api)

    assert list_names(toolset) == ["update_onto_task", "list_onto_tasks"]
    assert (toolset["selection"]["mode"], toolset["selection"]["reason"]) == ("llm", "One task changes.")
    [body] = llm.bodies
    assert body["model"] == "quick"
    question = json.loads(body["messages"][1]["content"])
    assert question["message"] == MESSAGE
    assert "update_onto_task" in question["tools"]


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 500 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        build_chat_completion("Use update_onto_task."),
        build_chat_completion('{"intent": "delete everything"}'),
        build_chat_completion("{}", finish_reason="length"),
    ],
)
def test_heuristics_decide_where_the_model_fails(api: Api, llm: FakeLlm, answer: bytes) -> None:
    llm.answers = [answer]

    assert request_toolset(api)["selection"]["mode"] == "heuristic"


def test_equal_message_of_a_turn_is_answered_from_memory(api: Api, llm: FakeLlm) -> None:
    llm.answers = [answer_plan()]
    turn = {"Gateway-Turn": "t1"}

    assert list_names(request_toolset(api, **turn)) == list_names(request_toolset(api, **turn))
    assert len(llm.bodies) == 1
    request_toolset(api, **{"Gateway-Turn": "t2"})
    request_toolset(api, message="Another", **turn)
    assert len(llm.bodies) == 3


def test_plan_without_a_turn_or_in_place_of_a_model_is_not_remembered(api: Api, llm: FakeLlm) -> None:
    llm.answers = [build_chat_completion("No JSON"), answer_plan()]
    turn = {"Gateway-Turn": "t1"}

    assert [request_toolset(api, **turn)["selection"]["mode"] for _ in range(2)] == ["heuristic", "llm"]
    sent = len(llm.bodies)
    for _ in range(2):
        request_toolset(api)
    assert len(llm.bodies) == sent + 2


def test_plan_with_many_made_up_names_gives_an_id_that_is_taken(api: Api, llm: FakeLlm) -> None:
    made_up = [secrets.token_hex(40) for _ in range(100)]
    llm.answers = [answer_plan(required_tools=["update_onto_task", *made_up[:39]], optional_tools=made_up[40:])]

    toolset = request_toolset(api)

    assert len(toolset["selection"]["dropped"]) == 10
    assert api.post("exec", {"op": "list_onto_tasks"}, **{"Gateway-Toolset": toolset["id"]}).json()["ok"]


def test_selection_that_breaks_falls_back_to_all_tools(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heuristics, "plan_selection", Mock(side_effect=RuntimeError("broken")))

    toolset = request_toolset(api)

    assert toolset["selection"]["mode"] == "default"
    assert len(toolset["tools"]) > 50


def test_escalation_adds_what_was_missed_and_what_it_needs_first(api: Api) -> None:
    first = request_toolset(api, message="When is the next meeting?")
    assert not {"delete_onto_goal", "web_search"} & set(list_names(first))

    second = escalate(api, first, "delete_onto_goal")
    third = escalate(api, second, "web_search")

    assert set(list_names(second)) == {*list_names(first), "delete_onto_goal", "search_ontology"}
    assert "delete_onto_goal" in second["selection"]["added"]
    assert set(list_names(third)) == {*list_names(second), "web_search"}
    assert (second["selection"]["step"], third["selection"]["step"]) == (1, 2)


def test_turn_escalates_ten_times_at_most(api: Api) -> None:
    toolset = request_toolset(api, message="Which tasks are overdue?")
    for _ in range(10):
        toolset = escalate(api, toolset, "web_search")

    refused = api.post(f"toolset/{toolset['id']}/escalate", {"missing_tool": "web_search"}, **PROJECT)
    assert assert_refused(refused, 409, "fully_escalated")["code"] == "CONFLICT"


def test_escalated_toolset_is_an_event_and_serves_the_turn_and_its_telemetry(api: Api, read_events: Any) -> None:
    first = request_toolset(api, message="Which tasks are overdue?")
    toolset = escalate(api, first, "create_onto_goal")
    [event] = read_events()
    assert (event.type, event.op, event.surface) == ("escalate", "onto.goal.create", "legacy")
    assert event.result_count
    assert list_names(escalate(api, first, "create_onto_goal")) == list_names(toolset)  # it can be sent again
    call = api.post("exec", {"op": "list_onto_tasks"}, **{"Gateway-Toolset": toolset["id"]})
    report = {"toolset": toolset["id"], "turn": "t1", "tool_misses": ["create_onto_goal"]}

    assert call.json()["ok"]
    assert api.post("telemetry", report).status_code == 200
    row = ToolSelection.objects.get()
    assert (row.selection_kind, row.selection["mode"], row.selection["step"]) == ("dynamic", "heuristic", 1)


def test_toolset_of_other_surfaces_and_static_selection_escalate(api: Api) -> None:
    Cohort.objects.all().delete()
    assignment.refresh_rollout()
    static = request_toolset(api, **{"Gateway-Context": "type=global"})
    gateway = api.post("toolset", {"format": "openai", "surface": "gateway"}).json()
    assert static["selection"]["kind"] == "static"
    assert "update_onto_task" not in list_names(static)

    response = api.post(f"toolset/{static['id']}/escalate", {"missing_tool": "update_onto_task"})
    assert "update_onto_task" in list_names(response.json())
    refused = api.post(f"toolset/{gateway['id']}/escalate", {"missing_tool": "update_onto_task"})
    assert_refused(refused, 409, "fully_escalated")


def test_audit_gets_no_write_but_the_missing_one(api: Api) -> None:
    Cohort.objects.all().delete()
    assignment.refresh_rollout()
    audit = {"Gateway-Context": f'type=project_audit, project_id="{DEMO_PROJECT_ID}"'}
    toolset = request_toolset(api, **audit)

    for _ in range(2):
        path = f"toolset/{toolset['id']}/escalate"
        toolset = api.post(path, {"missing_tool": "update_onto_task"}, **audit).json()
        assert {name for name, op in toolset["ops"].items() if op["kind"] == "write"} == {"update_onto_task"}


def test_escalation_for_a_tool_that_does_not_exist_or_may_not_run_is_refused(api: Api, make_key: Any) -> None:
    toolset = request_toolset(api)
    unknown = api.post(f"toolset/{toolset['id']}/escalate", {"missing_tool": "update_onto_tsk"}, **PROJECT)
    assert assert_refused(unknown, 404, "unknown_op")["details"]["did_you_mean"][0] == "update_onto_task"
    malformed = api.post(f"toolset/{toolset['id']}/escalate", {"missing": "x"}, **PROJECT)
    assert_refused(malformed, 400, "malformed_call")
    assert_refused(api.post("toolset/nonsense/escalate", {"missing_tool": "x"}), 400, "unknown_toolset")

    reader = Api(make_key(scopes=["toolset", "exec:read"]))
    own = request_toolset(reader)
    forbidden = reader.post(f"toolset/{own['id']}/escalate", {"missing_tool": "update_onto_task"}, **PROJECT)
    assert_refused(forbidden, 403, "scope_missing")


def test_calls_of_a_turn_are_recorded_with_the_cohort_of_its_selection(api: Api, read_events: Any) -> None:
    toolset = request_toolset(api)
    escalated = escalate(api, toolset, "create_onto_goal")
    for id in (toolset["id"], escalated["id"]):
        api.post("exec", {"op": "onto.task.list"}, Gateway_Toolset=id, **PROJECT)

    assert (toolset["cohort"], escalated["cohort"]) == ("lean", "lean")
    assert [event.cohort for event in read_events()] == ["lean"] * 3


def test_tool_that_a_model_made_up_counts_as_an_unknown_name(api: Api, read_events: Any) -> None:
    toolset = request_toolset(api)
    api.post(f"toolset/{toolset['id']}/escalate", {"missing_tool": "close_ticket"}, **PROJECT)

    read_events()
    [event] = OperationEvent.objects.filter(event_filters.UNKNOWN_NAME)
    assert (event.op, event.tool_name, event.release) == ("close_ticket", "", toolset["release"])


def test_tools_that_are_probably_not_needed_are_defined_briefly_also_after_an_escalation(api: Api) -> None:
    toolset = request_toolset(api)
    escalated = escalate(api, toolset, "delete_onto_goal")

    for answer in (toolset, escalated):
        definitions = {tool["function"]["name"]: tool["function"] for tool in answer["tools"]}
        assert "state_key" in definitions["update_onto_task"]["parameters"]["properties"]
        for name in answer["selection"]["optional"]:
            parameters = definitions[name]["parameters"]
            assert parameters["properties"].keys() == set(parameters.get("required", ()))
    assert "delete_onto_goal" in escalated["selection"]["required"]
