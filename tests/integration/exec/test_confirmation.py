"""Confirmation: which calls need the end user's agreement, and what a confirmation token covers."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import time_machine
from django.utils import timezone

from gateway.models import IdempotencyRecord
from registry.catalog import model
from tests.support.clients.api import Api, assert_refused
from tests.support.loops import for_each
from workspace.demo import DEMO_TASK_ID, DEMO_TASK_TO_DELETE_ID
from workspace.models import Task

DELETE = {"op": "onto.task.delete", "args": {"task_id": DEMO_TASK_TO_DELETE_ID}}


def request_confirmation(api: Api, body: dict[str, Any] = DELETE, **headers: str) -> dict[str, Any]:
    """Send a call that needs confirmation and return the confirmation."""
    error = assert_refused(api.post("exec", body, **headers), 409, "confirmation_required")
    confirmation: dict[str, Any] = error["details"]["confirmation"]
    return confirmation


def task_exists(task_id: str = DEMO_TASK_TO_DELETE_ID) -> bool:
    return Task.objects.filter(pk=task_id, deleted_at=None).exists()


def test_delete_runs_after_confirmation(confirming_api: Api) -> None:
    confirmation = request_confirmation(confirming_api)
    assert confirmation["would"]["task"] == {"id": DEMO_TASK_TO_DELETE_ID}
    assert confirmation["operation"]["entity_id"] == DEMO_TASK_TO_DELETE_ID
    assert confirmation["operation"]["entity_name"] == Task.objects.get(pk=DEMO_TASK_TO_DELETE_ID).title
    assert confirmation["expires_in"] == 300
    assert task_exists()

    done = confirming_api.post("exec", DELETE, Gateway_Confirm=confirmation["token"])

    assert done.json()["ok"] is True
    assert not task_exists()


def test_token_is_valid_for_the_same_call_in_another_spelling(confirming_api: Api) -> None:
    token = request_confirmation(confirming_api)["token"]
    body = {"op": "delete_onto_task", "args": {"task_id": f" {DEMO_TASK_TO_DELETE_ID} ", "task_title": "Old"}}

    assert confirming_api.post("exec", body, Gateway_Confirm=token).json()["ok"] is True


def test_a_service_can_ask_to_be_asked_whatever_its_client_says(live_catalog: model.Catalog, api: Api) -> None:
    confirmation = request_confirmation(api, Gateway_Confirm="ask")
    assert task_exists()

    assert api.post("exec", DELETE, Gateway_Confirm=confirmation["token"]).json()["ok"] is True
    assert not task_exists()


def test_token_is_valid_for_one_row_and_one_client_only(confirming_api: Api, make_key: Callable[..., str]) -> None:
    token = request_confirmation(confirming_api)["token"]
    other = {"op": "onto.task.delete", "args": {"task_id": DEMO_TASK_ID}}

    again = request_confirmation(confirming_api, other, Gateway_Confirm=token)
    request_confirmation(Api(make_key(confirms=True)), Gateway_Confirm=token)

    assert again["token"] != token
    assert task_exists(DEMO_TASK_ID)
    assert task_exists()


def test_token_expires_after_five_minutes(confirming_api: Api) -> None:
    now = timezone.now()
    with time_machine.travel(now, tick=False):
        token = request_confirmation(confirming_api)["token"]
    with time_machine.travel(now + timedelta(seconds=301), tick=False):
        request_confirmation(confirming_api, Gateway_Confirm=token)

    assert task_exists()


def test_token_confirms_one_call(confirming_api: Api) -> None:
    token = request_confirmation(confirming_api)["token"]
    other_token = request_confirmation(confirming_api)["token"]
    assert confirming_api.post("exec", DELETE, Gateway_Confirm=token).json()["ok"] is True
    Task.objects.filter(pk=DEMO_TASK_TO_DELETE_ID).update(deleted_at=None)

    error = assert_refused(confirming_api.post("exec", DELETE, Gateway_Confirm=token), 409, "confirmation_used")
    assert "nothing was done" in error["message"]
    assert task_exists()

    assert confirming_api.post("exec", DELETE, Gateway_Confirm=other_token).json()["ok"] is True
    assert not task_exists()


def test_refused_call_leaves_its_token_unused(confirming_api: Api) -> None:
    token = request_confirmation(confirming_api)["token"]
    Task.objects.filter(pk=DEMO_TASK_TO_DELETE_ID).update(deleted_at=timezone.now())
    assert_refused(confirming_api.post("exec", DELETE, Gateway_Confirm=token), 404, "not_found")
    Task.objects.filter(pk=DEMO_TASK_TO_DELETE_ID).update(deleted_at=None)

    assert confirming_api.post("exec", DELETE, Gateway_Confirm=token).json()["ok"] is True


def test_used_token_leaves_the_idempotency_key_unused(confirming_api: Api) -> None:
    token = request_confirmation(confirming_api)["token"]
    assert confirming_api.post("exec", DELETE, Gateway_Confirm=token).json()["ok"] is True
    Task.objects.filter(pk=DEMO_TASK_TO_DELETE_ID).update(deleted_at=None)
    body = {**DELETE, "idempotency_key": "again"}

    assert_refused(confirming_api.post("exec", body, Gateway_Confirm=token), 409, "confirmation_used")

    token = request_confirmation(confirming_api, body)["token"]
    assert confirming_api.post("exec", body, Gateway_Confirm=token).json()["ok"] is True


@for_each("token", ["", "x", "eyJ:bad:token", "a" * 5000])
def test_invalid_token_confirms_nothing(confirming_api: Api, token: str) -> None:
    request_confirmation(confirming_api, Gateway_Confirm=token)

    assert task_exists()


def test_token_in_the_body_is_refused(confirming_api: Api) -> None:
    token = request_confirmation(confirming_api)["token"]

    assert_refused(confirming_api.post("exec", {**DELETE, "confirm": token}), 400, "malformed_call")

    assert task_exists()


def test_dry_run_and_a_call_that_cannot_run_need_no_confirmation(confirming_api: Api) -> None:
    unknown = {"op": "onto.task.delete", "args": {"task_id": "00000000-0000-4000-8000-000000000000"}}

    assert confirming_api.exec("onto.task.delete", DELETE["args"], dry_run=True)["ok"] is True
    assert task_exists()
    assert_refused(confirming_api.post("exec", unknown), 404, "not_found")


def test_confirmation_request_does_not_use_the_idempotency_key(confirming_api: Api) -> None:
    body = {**DELETE, "idempotency_key": "once"}

    token = request_confirmation(confirming_api, body)["token"]
    assert not IdempotencyRecord.objects.exists()

    first = confirming_api.post("exec", body, Gateway_Confirm=token).json()
    second = confirming_api.post("exec", body).json()  # a repeated call needs no token
    assert first["ok"] is True
    assert second["meta"]["replayed"] is True


def test_client_that_asks_its_users_itself_needs_no_confirmation(api: Api) -> None:
    assert api.exec("onto.task.delete", DELETE["args"])["ok"] is True
