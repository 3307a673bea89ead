"""Confirmation: what an end user must agree to first, and what their agreement covers."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.utils import timezone

from gateway.models import IdempotencyRecord
from registry.catalog import model
from tests.support.api import Api, refused
from workspace.demo import DEMO_TASK_ID, DEMO_TASK_TO_DELETE_ID
from workspace.models import Task

DELETE = {"op": "onto.task.delete", "args": {"task_id": DEMO_TASK_TO_DELETE_ID}}


@pytest.fixture
def asking(live_catalog: model.Catalog, make_key: Callable[..., str]) -> Api:
    """A chat service that leaves it to the gateway to have its users asked."""
    return Api(make_key(confirms=True))


def asked(api: Api, body: dict[str, Any] = DELETE, **headers: str) -> dict[str, Any]:
    """Return the confirmation that a call is answered with."""
    error = refused(api.post("exec", body, **headers), 409, "confirmation_required")
    confirmation: dict[str, Any] = error["details"]["confirmation"]
    return confirmation


def is_there(task_id: str = DEMO_TASK_TO_DELETE_ID) -> bool:
    return Task.objects.filter(pk=task_id, deleted_at=None).exists()


def test_delete_runs_once_the_end_user_agreed(asking: Api) -> None:
    confirmation = asked(asking)
    assert confirmation["would"]["task"] == {"id": DEMO_TASK_TO_DELETE_ID}
    assert confirmation["operation"]["entity_id"] == DEMO_TASK_TO_DELETE_ID
    assert confirmation["operation"]["entity_name"] == Task.objects.get(pk=DEMO_TASK_TO_DELETE_ID).title
    assert confirmation["expires_in"] == 300
    assert is_there()

    done = asking.post("exec", DELETE, Gateway_Confirm=confirmation["token"])

    assert done.json()["ok"] is True
    assert not is_there()


def test_token_holds_for_the_same_call_spelt_otherwise(asking: Api) -> None:
    token = asked(asking)["token"]
    spelt = {"op": "delete_onto_task", "args": {"task_id": f" {DEMO_TASK_TO_DELETE_ID} ", "task_title": "Old"}}

    assert asking.post("exec", spelt, Gateway_Confirm=token).json()["ok"] is True


def test_token_is_for_one_row(asking: Api) -> None:
    token = asked(asking)["token"]
    other = {"op": "onto.task.delete", "args": {"task_id": DEMO_TASK_ID}}

    again = asked(asking, other, Gateway_Confirm=token)

    assert again["token"] != token
    assert is_there(DEMO_TASK_ID)


def test_token_is_for_one_client(asking: Api, make_key: Callable[..., str]) -> None:
    token = asked(asking)["token"]

    asked(Api(make_key(confirms=True)), Gateway_Confirm=token)

    assert is_there()


def test_token_is_good_for_five_minutes(asking: Api) -> None:
    now = timezone.now()
    with time_machine.travel(now, tick=False):
        token = asked(asking)["token"]
    with time_machine.travel(now + timedelta(seconds=301), tick=False):
        asked(asking, Gateway_Confirm=token)

    assert is_there()


@pytest.mark.parametrize("token", ["", "x", "eyJ:bad:token", "a" * 5000])
def test_made_up_token_confirms_nothing(asking: Api, token: str) -> None:
    asked(asking, Gateway_Confirm=token)

    assert is_there()


def test_token_in_the_body_is_the_models_and_refused(asking: Api) -> None:
    token = asked(asking)["token"]

    refused(asking.post("exec", {**DELETE, "confirm": token}), 400, "malformed_call")

    assert is_there()


def test_dry_run_asks_nobody(asking: Api) -> None:
    assert asking.exec("onto.task.delete", DELETE["args"], dry_run=True)["ok"] is True
    assert is_there()


def test_call_that_would_be_refused_is_refused_at_once(asking: Api) -> None:
    body = {"op": "onto.task.delete", "args": {"task_id": "00000000-0000-4000-8000-000000000000"}}

    refused(asking.post("exec", body), 404, "not_found")


def test_question_uses_up_no_idempotency_key(asking: Api) -> None:
    body = {**DELETE, "idempotency_key": "once"}

    token = asked(asking, body)["token"]
    assert not IdempotencyRecord.objects.exists()

    first = asking.post("exec", body, Gateway_Confirm=token).json()
    second = asking.post("exec", body).json()  # sent again without the token: the answer is known
    assert first["ok"] is True
    assert second["meta"]["replayed"] is True


def test_service_that_asks_by_itself_is_not_asked(api: Api) -> None:
    assert api.exec("onto.task.delete", DELETE["args"])["ok"] is True
