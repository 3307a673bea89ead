"""Dynamic selection in a conversation: what messages, recent tools and rows of the body change."""

import json
from typing import Any

import pytest

from analytics.flags import FlagKey
from analytics.rollout import assignment
from analytics.rollout.models import Cohort
from core.text import token_budget
from gateway.toolset import legacy_selection
from tests.support.chat.fake_llm import FakeLlm, build_chat_completion
from tests.support.clients.api import Api, assert_refused
from workspace.demo import DEMO_PROJECT_ID

pytestmark = pytest.mark.django_db

PROJECT = {"Gateway-Context": f'type=project, project_id="{DEMO_PROJECT_ID}"'}
ASKED = [
    {"role": "user", "content": "Which risks are open?"},
    {"role": "assistant", "content": "Two: the printer is late, and rain."},
]


@pytest.fixture(autouse=True)
def _dynamic(db: None) -> None:
    legacy_selection.analyzer.clear()
    Cohort.objects.create(name="lean", flag_id=FlagKey.SELECTION, variant="dynamic", percentage=100)
    assignment.refresh_rollout()


def request_toolset(api: Api, context: dict[str, str] = PROJECT, **body: Any) -> dict[str, Any]:
    response = api.post("toolset", {"format": "openai", **body}, **context)
    assert response.status_code == 200, response.content
    return response.json()


def list_names(api: Api, context: dict[str, str] = PROJECT, **body: Any) -> set[str]:
    return {tool["function"]["name"] for tool in request_toolset(api, context, **body)["tools"]}


def test_message_that_continues_another_gets_the_tools_of_that_one(api: Api) -> None:
    message = "set the second to low"

    def find_rank(**body: Any) -> int:
        names = [tool["function"]["name"] for tool in request_toolset(api, message=message, **body)["tools"]]
        return names.index("update_onto_risk") if "update_onto_risk" in names else 1_000

    assert find_rank(messages=ASKED) < find_rank()
    assert find_rank(recent_tools=["list_onto_risks"]) < find_rank()


def test_decision_keeps_the_tools_of_the_turn_that_asked(api: Api) -> None:
    asked = {"role": "user", "content": "Delete the risk about rain"}
    question = {"role": "assistant", "content": "Shall I delete it?"}

    first = list_names(api, message=asked["content"], messages=ASKED)
    decided = list_names(api, messages=[*ASKED, asked, question], recent_tools=["delete_onto_risk"])

    assert "delete_onto_risk" in first
    assert decided == first


def test_newest_message_is_not_counted_twice(api: Api) -> None:
    newest = {"role": "user", "content": "and the goals?"}

    with_it = list_names(api, message=newest["content"], messages=[*ASKED, newest])

    assert with_it == list_names(api, message=newest["content"], messages=ASKED)
    assert with_it == list_names(api, messages=[*ASKED, newest])


def test_tasks_can_be_updated_in_the_global_place(api: Api) -> None:
    everywhere = {"Gateway-Context": "type=global"}

    assert "update_onto_task" in list_names(api, everywhere, message="Mark the printer task as done")


def test_row_that_the_message_names_says_its_kind(api: Api) -> None:
    message = "Is Harvest Supper done?"
    row = {"id": "1b0c", "name": "Harvest Supper", "entity": "milestone"}

    assert "get_onto_milestone_details" not in list_names(api, message=message)
    assert "get_onto_milestone_details" in list_names(api, message=message, rows=[row])


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"messages": [*ASKED * 3, ASKED[0]]}, "/messages"),
        ({"messages": [{"role": "user", "content": "x" * 2_001}]}, "/messages/0/content"),
        ({"messages": [{"role": "system", "content": "x"}]}, "/messages/0/role"),
        ({"rows": [{"id": "1", "name": "x"}] * 51}, "/rows"),
        ({"rows": [{"id": "1"}]}, "/rows/0/name"),
        ({"recent_tools": "list_onto_tasks"}, "/recent_tools"),
    ],
)
def test_malformed_conversation_is_refused_with_what_to_send(api: Api, body: dict[str, Any], path: str) -> None:
    response = api.post("toolset", {"format": "openai", **body})

    problem = assert_refused(response, 400, "malformed_call")["details"]["field_errors"][0]
    assert problem["path"] == path
    assert problem["message"]


def test_model_gets_the_conversation_within_its_limit(api: Api, llm: FakeLlm) -> None:
    llm.answers = [build_chat_completion("{}")]
    long_text = "お願いします " * 1_500
    rows = [{"id": f"{number}", "name": "name " * 40, "entity": "task"} for number in range(50)]

    list_names(api, message=long_text, messages=ASKED * 3, rows=rows, recent_tools=["list_onto_risks"])

    [body] = llm.bodies
    question = json.loads(body["messages"][1]["content"])
    assert sum(token_budget.count(each["content"]) for each in body["messages"]) <= 2_500
    assert question["earlier"][0] == "user: Which risks are open?"
    assert question["recent_tools"] == ["list_onto_risks"]
    assert len(question["tools"]) > 20
