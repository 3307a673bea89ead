"""Batch entries that need confirmation run once the end user has agreed, and nothing else runs twice."""

from typing import Any

import pytest

from gateway.access import api_keys
from gateway.models import Batch, BatchEntry
from tests.support.clients.api import Api
from tests.support.clients.batches import LIST, build_create_entry, get_reasons, send_batch, wait_until_done
from tests.support.concurrency import run_at_once
from workspace.demo import DEMO_TASK_ID
from workspace.models import Task

pytestmark = [
    pytest.mark.both_databases,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("wait_for_running_entries", "live_catalog"),
]

DELETE = {"type": "exec", "op": "onto.task.delete", "args": {"task_id": DEMO_TASK_ID}}


def get_token(response: dict[str, Any], index: int = 0) -> str:
    error = response["results"][index]["error"]
    assert error["details"]["reason"] == "confirmation_required"
    assert error["help_path"] == "onto.task.delete"
    confirmation: str = error["details"]["confirmation"]["token"]
    return confirmation


def task_exists(id: str = DEMO_TASK_ID) -> bool:
    return Task.objects.filter(pk=id, deleted_at=None).exists()


def test_entry_runs_with_its_confirmation_token(confirming_api: Api, embedded_worker: None) -> None:
    first_response = send_batch(confirming_api, DELETE, LIST, mode="parallel")
    confirmed = confirming_api.post(
        "batch", {"ops": [DELETE, LIST], "mode": "parallel"}, Gateway_Confirm=get_token(first_response)
    ).json()

    assert get_reasons(first_response) == ["confirmation_required", ""]
    assert confirmed["ok"]
    assert not task_exists()


@pytest.mark.parametrize("mode", ["sequential", "parallel"])
def test_keyed_batch_continues_after_confirmation(confirming_api: Api, embedded_worker: None, mode: str) -> None:
    after = {"type": "help", "path": "onto", "depends_on": [1]}
    body = {"ops": [build_create_entry("Once"), DELETE, after], "mode": mode, "idempotency_key": "one"}

    first_response = confirming_api.post("batch", body).json()
    again = confirming_api.post("batch", body)
    confirmed = confirming_api.post("batch", body, Gateway_Confirm=get_token(first_response, 1))
    replayed = confirming_api.post("batch", body).json()

    assert (
        get_reasons(first_response) == get_reasons(again.json()) == ["", "confirmation_required", "dependency_failed"]
    )
    assert again.headers["Idempotent-Replayed"] == "true"
    assert confirmed.json()["ok"], confirmed.content
    assert "Idempotent-Replayed" not in confirmed.headers
    assert confirmed.json()["results"][0] == first_response["results"][0]
    assert (replayed["results"], replayed["meta"]["replayed"]) == (confirmed.json()["results"], True)
    assert len({each["batch_id"] for each in (first_response, confirmed.json(), replayed)}) == 1
    assert not task_exists()
    assert Task.objects.filter(title="Once").count() == 1


def test_each_entry_needs_its_own_confirmation(confirming_api: Api) -> None:
    other = send_batch(confirming_api, build_create_entry("Other"))["results"][0]["result"]["task"]["id"]
    second_delete = {**DELETE, "args": {"task_id": other}}
    body = {"ops": [DELETE, second_delete, LIST], "stop_on_error": True, "idempotency_key": "two"}

    first_response = confirming_api.post("batch", body).json()
    first = confirming_api.post("batch", body, Gateway_Confirm=get_token(first_response)).json()
    second = confirming_api.post("batch", body, Gateway_Confirm=get_token(first, 1)).json()

    assert get_reasons(first_response) == ["confirmation_required", "skipped", "skipped"]
    assert get_reasons(first) == ["", "confirmation_required", "skipped"]
    assert second["ok"], second
    assert not task_exists(other)


def test_token_of_another_call_is_refused_with_a_new_confirmation(confirming_api: Api) -> None:
    other = send_batch(confirming_api, build_create_entry("Other"))["results"][0]["result"]["task"]["id"]
    body = {"ops": [DELETE], "idempotency_key": "mine"}
    confirming_api.post("batch", body)

    response = confirming_api.post(
        "batch", body, Gateway_Confirm=get_token(send_batch(confirming_api, {**DELETE, "args": {"task_id": other}}))
    )

    assert get_token(response.json())
    assert "another call" in response.json()["results"][0]["error"]["message"]
    assert task_exists()


def test_concurrent_duplicates_with_one_token_have_one_effect(confirming_api: Api, embedded_worker: None) -> None:
    body = {"ops": [DELETE, build_create_entry("Other")], "mode": "parallel", "idempotency_key": "once"}
    confirmation = get_token(confirming_api.post("batch", body).json())

    responses = run_at_once([lambda: confirming_api.post("batch", body, Gateway_Confirm=confirmation)] * 4)

    assert [response.json()["ok"] for response in responses] == [True] * 4
    assert sorted(BatchEntry.objects.values_list("attempts", flat=True)) == [1, 1]
    assert Task.objects.filter(title="Other").count() == 1


def test_background_batch_continues_after_confirmation_unless_cancelled(
    confirming_api: Api, embedded_worker: None
) -> None:
    tokens: dict[str, str] = {}
    for key in ("continued", "cancelled"):
        body = {"ops": [DELETE], "idempotency_key": key}
        id = confirming_api.post("batch", body, Prefer="respond-async").json()["batch_id"]
        wait_until_done(confirming_api, id)
        tokens[id] = get_token(confirming_api.get(f"batches/{id}").json())
    continued, cancelled = tokens
    Batch.objects.filter(pk=cancelled).update(cancelled_at="2026-01-01T00:00:00Z")

    cancelled_response = confirming_api.post(
        "batch", {"ops": [DELETE], "idempotency_key": "cancelled"}, Gateway_Confirm=tokens[cancelled]
    )
    body = {"ops": [DELETE], "idempotency_key": "continued"}
    accepted = confirming_api.post("batch", body, Prefer="respond-async", Gateway_Confirm=tokens[continued])

    assert get_token(cancelled_response.json())
    assert (accepted.status_code, accepted.json()["batch_id"]) == (202, continued)
    wait_until_done(confirming_api, continued)
    assert confirming_api.get(f"batches/{continued}").json()["ok"]


def test_token_is_ignored_when_the_key_lacks_the_scope(confirming_api: Api) -> None:
    body = {"ops": [DELETE], "idempotency_key": "rights"}
    confirmation = get_token(confirming_api.post("batch", body).json())
    _, read_only_key = api_keys.issue(client=Batch.objects.get().client, by="tests", scopes=["batch", "exec:read"])

    denied = Api(read_only_key).post("batch", body, Gateway_Confirm=confirmation).json()
    confirmed = confirming_api.post("batch", body, Gateway_Confirm=confirmation).json()

    assert get_token(denied)
    assert denied["meta"]["replayed"] is True
    assert confirmed["ok"]
