"""Entries that need the end user's agreement: asked for once, then run, and nothing else runs twice."""

from collections.abc import Callable
from typing import Any

import pytest

from gateway.clients import api_keys
from gateway.models import Batch, BatchEntry
from tests.support.api import Api
from tests.support.batches import LIST, batch, create, reasons, until_done
from tests.support.concurrency import at_once
from workspace.demo import DEMO_TASK_ID
from workspace.models import Task

pytestmark = [
    pytest.mark.both_databases,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("quiet", "live_catalog"),
]

DELETE = {"type": "exec", "op": "onto.task.delete", "args": {"task_id": DEMO_TASK_ID}}


@pytest.fixture
def asking(another: Callable[..., Api]) -> Api:
    """A service that leaves asking its users to the gateway."""
    return another(confirms=True)


def token(answer: dict[str, Any], index: int = 0) -> str:
    error = answer["results"][index]["error"]
    assert error["details"]["reason"] == "confirmation_required"
    assert error["help_path"] == "onto.task.delete"
    confirmation: str = error["details"]["confirmation"]["token"]
    return confirmation


def is_there(id: str = DEMO_TASK_ID) -> bool:
    return Task.objects.filter(pk=id, deleted_at=None).exists()


def test_an_entry_runs_with_its_token(asking: Api, workers: None) -> None:
    asked = batch(asking, DELETE, LIST, mode="parallel")
    confirmed = asking.post("batch", {"ops": [DELETE, LIST], "mode": "parallel"}, Gateway_Confirm=token(asked)).json()

    assert reasons(asked) == ["confirmation_required", ""]
    assert confirmed["ok"]
    assert not is_there()


@pytest.mark.parametrize("mode", ["sequential", "parallel"])
def test_a_keyed_batch_goes_on_once_the_user_has_agreed(asking: Api, workers: None, mode: str) -> None:
    after = {"type": "help", "path": "onto", "depends_on": [1]}
    body = {"ops": [create("Once"), DELETE, after], "mode": mode, "idempotency_key": "one"}

    asked = asking.post("batch", body).json()
    again = asking.post("batch", body)
    confirmed = asking.post("batch", body, Gateway_Confirm=token(asked, 1))
    replayed = asking.post("batch", body).json()

    assert reasons(asked) == reasons(again.json()) == ["", "confirmation_required", "dependency_failed"]
    assert again.headers["Idempotent-Replayed"] == "true"
    assert confirmed.json()["ok"], confirmed.content
    assert "Idempotent-Replayed" not in confirmed.headers
    assert confirmed.json()["results"][0] == asked["results"][0]
    assert (replayed["results"], replayed["meta"]["replayed"]) == (confirmed.json()["results"], True)
    assert len({each["batch_id"] for each in (asked, confirmed.json(), replayed)}) == 1
    assert not is_there()
    assert Task.objects.filter(title="Once").count() == 1


def test_each_entry_asks_by_itself(asking: Api) -> None:
    other = batch(asking, create("Other"))["results"][0]["result"]["task"]["id"]
    also = {**DELETE, "args": {"task_id": other}}
    body = {"ops": [DELETE, also, LIST], "stop_on_error": True, "idempotency_key": "two"}

    asked = asking.post("batch", body).json()
    first = asking.post("batch", body, Gateway_Confirm=token(asked)).json()
    second = asking.post("batch", body, Gateway_Confirm=token(first, 1)).json()

    assert reasons(asked) == ["confirmation_required", "skipped", "skipped"]
    assert reasons(first) == ["", "confirmation_required", "skipped"]
    assert second["ok"], second
    assert not is_there(other)


def test_a_token_of_another_call_has_it_ask_again(asking: Api) -> None:
    other = batch(asking, create("Other"))["results"][0]["result"]["task"]["id"]
    body = {"ops": [DELETE], "idempotency_key": "mine"}
    asking.post("batch", body)

    answer = asking.post("batch", body, Gateway_Confirm=token(batch(asking, {**DELETE, "args": {"task_id": other}})))

    assert token(answer.json())
    assert "another call" in answer.json()["results"][0]["error"]["message"]
    assert is_there()


def test_twins_that_bring_one_token_have_one_effect(asking: Api, workers: None) -> None:
    body = {"ops": [DELETE, create("Beside")], "mode": "parallel", "idempotency_key": "twins"}
    confirmation = token(asking.post("batch", body).json())

    answers = at_once([lambda: asking.post("batch", body, Gateway_Confirm=confirmation)] * 4)

    assert [answer.json()["ok"] for answer in answers] == [True] * 4
    assert sorted(BatchEntry.objects.values_list("attempts", flat=True)) == [1, 1]
    assert Task.objects.filter(title="Beside").count() == 1


def test_a_batch_in_the_background_goes_on_too_and_a_cancelled_one_does_not(asking: Api, workers: None) -> None:
    asked: dict[str, str] = {}
    for key in ("goes on", "cancelled"):
        body = {"ops": [DELETE], "idempotency_key": key.replace(" ", "-")}
        id = asking.post("batch", body, Prefer="respond-async").json()["batch_id"]
        until_done(asking, id, within=5)
        asked[id] = token(asking.get(f"batches/{id}").json())
    goes_on, cancelled = asked
    Batch.objects.filter(pk=cancelled).update(cancelled_at="2026-01-01T00:00:00Z")

    stays = asking.post("batch", {"ops": [DELETE], "idempotency_key": "cancelled"}, Gateway_Confirm=asked[cancelled])
    body = {"ops": [DELETE], "idempotency_key": "goes-on"}
    taken = asking.post("batch", body, Prefer="respond-async", Gateway_Confirm=asked[goes_on])

    assert token(stays.json())
    assert (taken.status_code, taken.json()["batch_id"]) == (202, goes_on)
    until_done(asking, goes_on, within=5)
    assert asking.get(f"batches/{goes_on}").json()["ok"]


def test_a_key_that_may_not_run_it_brings_no_token(asking: Api) -> None:
    body = {"ops": [DELETE], "idempotency_key": "rights"}
    confirmation = token(asking.post("batch", body).json())
    _, reads = api_keys.issue(client=Batch.objects.get().client, by="tests", scopes=["batch", "exec:read"])

    denied = Api(reads).post("batch", body, Gateway_Confirm=confirmation).json()
    confirmed = asking.post("batch", body, Gateway_Confirm=confirmation).json()

    assert token(denied)
    assert denied["meta"]["replayed"] is True
    assert confirmed["ok"]
