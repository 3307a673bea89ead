"""Gateway-Hint: what a model that goes in circles within one turn is told."""

from collections.abc import Callable
from typing import Any

import pytest

from analytics.events import event_log
from analytics.events.models import OperationEvent
from gateway.recording import hints
from registry.catalog import model
from tests.support.clients.api import Api
from workspace.demo import DEMO_TASK_ID

pytestmark = pytest.mark.django_db

TURN = {"Gateway-Turn": "t1"}
UNKNOWN_ID = "00000000-0000-4000-8000-000000000000"


@pytest.fixture(autouse=True)
def _new_server() -> None:
    hints.clear()


def get_hint(api: Api, endpoint: str, body: dict[str, Any], **headers: str) -> str:
    return str(api.post(endpoint, body, **(headers or TURN)).headers.get("Gateway-Hint", ""))


def test_second_identical_help_gets_a_hint(api: Api) -> None:
    body = {"path": "onto.task.update"}

    assert get_hint(api, "help", body) == ""
    assert get_hint(api, "help", {**body, "format": "full"}) == ""
    assert get_hint(api, "help", body) == hints.REPEATED_HELP
    assert get_hint(api, "help", body, **{"Gateway-Turn": "t2"}) == ""
    assert get_hint(api, "discover/discover_project_tools", {}) == ""
    assert get_hint(api, "discover/discover_project_tools", {}) == hints.REPEATED_HELP


def test_help_that_names_an_op_in_two_ways_is_the_same_call(api: Api) -> None:
    assert get_hint(api, "help", {"path": "onto.task.update"}) == ""
    assert get_hint(api, "help", {"path": "update_onto_task"}) == hints.REPEATED_HELP

    event_log.flush()
    assert OperationEvent.objects.values("digest").distinct().count() == 1


def test_second_root_gets_a_hint_however_it_was_asked_for(api: Api) -> None:
    assert get_hint(api, "help", {}) == ""
    assert get_hint(api, "help", {"path": "root", "limit": 5}) == hints.REPEATED_ROOT
    cursor = api.post("help", {"limit": 1}, **TURN).json()["next_cursor"]
    assert get_hint(api, "help", {"limit": 1, "cursor": cursor}) == ""  # the next page


def test_walk_to_an_op_that_a_search_found_gets_a_hint(api: Api) -> None:
    assert get_hint(api, "help", {"query": "finish a task"}) == ""

    for path in ("root", "onto", "onto.task"):
        assert get_hint(api, "help", {"path": path}) == hints.FOUND_BEFORE.format(op="onto.task.update")
    assert get_hint(api, "help", {"path": "util.buildos"}) == ""
    assert get_hint(api, "help", {"path": "onto.task.update"}) == ""


def test_identical_failures_get_a_firmer_answer_and_then_a_hint(api: Api) -> None:
    body = {"op": "onto.task.get", "args": {"task_id": UNKNOWN_ID}}
    first, second, third = (api.post("exec", body, **TURN) for _ in range(3))

    messages = [response.json()["error"]["message"] for response in (first, second, third)]
    assert messages[1] == messages[2] == f"{hints.SAME_FAILURE}{messages[0]}"
    assert [response.headers.get("Gateway-Hint") for response in (first, second, third)] == [
        None,
        None,
        hints.REPEATED_FAILURE.format(count=3),
    ]


def test_trial_before_a_confirmation_does_not_count(live_catalog: model.Catalog, make_key: Callable[..., str]) -> None:
    confirming_api = Api(make_key(confirms=True))
    body = {"op": "onto.task.delete", "args": {"task_id": UNKNOWN_ID}}
    first, second = (confirming_api.post("exec", body, **TURN).json()["error"]["message"] for _ in range(2))

    assert not first.startswith(hints.SAME_FAILURE)
    assert second == f"{hints.SAME_FAILURE}{first}"


def test_other_calls_and_calls_without_a_turn_get_no_hint(api: Api) -> None:
    for number in range(4):
        task = {"op": "onto.task.get", "args": {"task_id": f"{UNKNOWN_ID[:-1]}{number}"}}
        assert get_hint(api, "exec", task) == ""
        assert get_hint(api, "exec", {"op": "onto.task.get", "args": {"task_id": DEMO_TASK_ID}}) == ""
        assert "Gateway-Hint" not in api.post("help", {"path": "root"}).headers


def test_hint_is_in_no_body(api: Api) -> None:
    first, second = (api.post("help", {"path": "onto"}, **TURN) for _ in range(2))

    assert first.content == second.content
    assert first.headers["ETag"] == second.headers["ETag"]


def test_turns_of_two_users_are_two_turns(make_api: Any, live_catalog: Any) -> None:
    api = make_api(subject="")
    first, second = ({**TURN, "Gateway-Subject": subject} for subject in ("one", "two"))

    assert [get_hint(api, "help", {"path": "onto"}, **user) for user in (first, second)] == ["", ""]
    assert get_hint(api, "help", {"path": "onto"}, **first) == hints.REPEATED_HELP
