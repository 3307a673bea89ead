"""Data flow: what a call may send on after earlier calls of its turn, in each mode, and what its event says."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.utils import timezone

from analytics.events import event_log
from analytics.events.models import OperationEvent
from gateway.data_flow import turn_labels
from gateway.models import Client, TurnLabel
from tests.support.clients.api import Api, assert_refused
from tests.support.clients.batches import get_reasons
from tests.support.loops import for_each
from tests.support.upstreams.http_upstream import READ, WRITE, HttpUpstream, build_read, build_write, publish_ops
from workspace.demo import DEMO_TASK_TO_DELETE_ID

READ_PRIVATE = {"op": "onto.task.list", "args": {}}
READ_UNTRUSTED = {"op": READ, "args": {"order_id": "7"}}
SEND = {"op": WRITE, "args": {"product": "pen"}}
DELETE = {"op": "onto.task.delete", "args": {"task_id": DEMO_TASK_TO_DELETE_ID}}
PRIVATE_RULE = "after private, refuse outbound to another service"
ASK_RULE = "after untrusted, ask before outbound"


@pytest.fixture
def post_office(live_catalog: object, http_upstream: HttpUpstream) -> HttpUpstream:
    """Publish an op that reads what strangers wrote and one that sends, both of one service."""
    read, write = build_read(flow_labels=["untrusted"]), build_write(flow_labels=["outbound"])
    publish_ops(read, write, base_url=http_upstream.base_url)
    return http_upstream


@pytest.fixture
def strict_api(post_office: HttpUpstream, make_key: Callable[..., str]) -> Api:
    return Api(make_key(data_flow="enforce"))


def read_flow_of_last_event() -> tuple[str, bool]:
    event_log.flush()
    event = OperationEvent.objects.filter(op=WRITE).latest("id")
    return event.data_flow, event.ok


def test_private_data_is_not_sent_to_another_service(strict_api: Api, post_office: HttpUpstream) -> None:
    read = strict_api.post("exec", READ_PRIVATE, Gateway_Turn="t1").json()

    error = assert_refused(strict_api.post("exec", SEND, Gateway_Turn="t1"), 403, "data_flow")

    assert error["details"]["data_flow"] == {
        "rule": PRIVATE_RULE,
        "label": "private",
        "op": "onto.task.list",
        "connection": "workspace",
        "trace_id": read["meta"]["trace_id"],
    }
    assert f"onto.task.list, brought in data of the user, and {WRITE} sends data out" in error["message"]
    assert post_office.requests == []
    assert read_flow_of_last_event() == (f"enforce: {PRIVATE_RULE}", False)


def test_sending_after_text_from_strangers_asks_the_user(strict_api: Api, post_office: HttpUpstream) -> None:
    strict_api.post("exec", READ_UNTRUSTED, Gateway_Turn="t1")

    error = assert_refused(strict_api.post("exec", SEND, Gateway_Turn="t1"), 409, "confirmation_required")
    token = error["details"]["confirmation"]["token"]
    done = strict_api.post("exec", SEND, Gateway_Turn="t1", Gateway_Confirm=token)
    again = strict_api.post("exec", SEND, Gateway_Turn="t1", Gateway_Confirm=token)

    assert error["details"]["data_flow"]["op"] == READ
    assert f"Rule: {ASK_RULE}." in error["message"]
    assert done.json()["ok"] is True
    assert_refused(again, 409, "confirmation_used")
    assert len(post_office.requests) == 2  # one read, one write


def test_destroying_after_text_from_strangers_asks_a_client_that_asks_by_itself(strict_api: Api) -> None:
    strict_api.post("exec", READ_UNTRUSTED, Gateway_Turn="t1")

    assert_refused(strict_api.post("exec", DELETE, Gateway_Turn="t1"), 409, "confirmation_required")
    assert strict_api.post("exec", DELETE, Gateway_Turn="t2").json()["ok"] is True


def test_a_read_that_sends_data_out_asks_the_user(strict_api: Api, post_office: HttpUpstream) -> None:
    read = build_read(flow_labels=["untrusted", "outbound"])
    publish_ops(read, build_write(), base_url=post_office.base_url)
    assert strict_api.post("exec", READ_UNTRUSTED, Gateway_Turn="t1").json()["ok"] is True

    error = assert_refused(strict_api.post("exec", READ_UNTRUSTED, Gateway_Turn="t1"), 409, "confirmation_required")
    token = error["details"]["confirmation"]["token"]

    assert strict_api.post("exec", READ_UNTRUSTED, Gateway_Turn="t1", Gateway_Confirm=token).json()["ok"] is True
    used = strict_api.post("exec", READ_UNTRUSTED, Gateway_Turn="t1", Gateway_Confirm=token)
    assert_refused(used, 409, "confirmation_used")


@for_each(
    "first, then",
    [
        ({"Gateway_Turn": "t1"}, {"Gateway_Turn": "t2"}),
        ({"Gateway_Turn": "t1", "Gateway_Session": "a"}, {"Gateway_Turn": "t1", "Gateway_Session": "b"}),
        ({"Gateway_Turn": "t1"}, {}),
        ({"Gateway_Subject": "other"}, {}),
    ],
)
def test_other_turns_and_users_are_not_affected(strict_api: Api, first: dict[str, str], then: dict[str, str]) -> None:
    strict_api.post("exec", READ_PRIVATE, **first)

    assert strict_api.post("exec", SEND, **then).json()["ok"] is True


def test_calls_without_a_turn_are_one_turn_for_ten_minutes(strict_api: Api) -> None:
    now = timezone.now()
    with time_machine.travel(now, tick=False):
        strict_api.post("exec", READ_PRIVATE)
    with time_machine.travel(now + timedelta(minutes=9), tick=False):
        assert_refused(strict_api.post("exec", SEND), 403, "data_flow")
    with time_machine.travel(now + timedelta(minutes=11), tick=False):
        assert strict_api.post("exec", SEND).json()["ok"] is True


def test_a_turn_is_remembered_in_the_database(strict_api: Api) -> None:
    strict_api.post("exec", READ_PRIVATE, Gateway_Turn="t1")
    row = TurnLabel.objects.get()
    strict_api.post("exec", READ_PRIVATE, Gateway_Turn="t1")
    turn_labels.clear()  # as in another process

    assert_refused(strict_api.post("exec", SEND, Gateway_Turn="t1"), 403, "data_flow")
    assert TurnLabel.objects.get().trace_id == row.trace_id


def test_shadow_only_says_what_would_have_been_refused(post_office: HttpUpstream, make_key: Callable[..., str]) -> None:
    api = Api(make_key())
    api.post("exec", READ_PRIVATE, Gateway_Turn="t1")

    assert api.post("exec", SEND, Gateway_Turn="t1").json()["ok"] is True
    assert read_flow_of_last_event() == (f"shadow: {PRIVATE_RULE}", True)


def test_mode_off_costs_nothing(post_office: HttpUpstream, make_key: Callable[..., str]) -> None:
    api = Api(make_key(data_flow="off"))
    api.post("exec", READ_PRIVATE, Gateway_Turn="t1")

    assert api.post("exec", SEND, Gateway_Turn="t1").json()["ok"] is True
    assert read_flow_of_last_event() == ("", True)
    assert not TurnLabel.objects.exists()


def test_a_client_has_its_own_rules(strict_api: Api) -> None:
    Client.objects.update(data_flow_rules="after private, ask before outbound\n", updated_at=timezone.now())
    strict_api.post("exec", READ_PRIVATE, Gateway_Turn="t1")

    assert_refused(strict_api.post("exec", SEND, Gateway_Turn="t1"), 409, "confirmation_required")


def test_labels_of_a_connection_count_for_its_ops(strict_api: Api, post_office: HttpUpstream) -> None:
    labels = ["untrusted", "outbound"]
    publish_ops(build_read(), build_write(), base_url=post_office.base_url, flow_labels=labels)

    assert strict_api.post("exec", SEND, Gateway_Turn="t1").json()["ok"] is True  # a write brings no text in
    strict_api.post("exec", READ_UNTRUSTED, Gateway_Turn="t1")

    assert_refused(strict_api.post("exec", SEND, Gateway_Turn="t1"), 409, "confirmation_required")


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("embedded_worker", "wait_for_running_entries")
def test_order_within_a_batch_counts(strict_api: Api) -> None:
    def run(*ops: dict[str, Any]) -> list[Any]:
        entries = [{"type": "exec", **op} for op in ops]
        batch = strict_api.post("batch", {"ops": entries, "mode": "sequential"}, Gateway_Turn=str(len(batches)))
        batches.append(batch.json())
        return get_reasons(batches[-1])

    batches: list[dict[str, Any]] = []
    assert run(SEND, READ_PRIVATE) == ["", ""]
    assert run(READ_PRIVATE, SEND) == ["", "data_flow"]
    assert run(READ_UNTRUSTED, SEND) == ["", "confirmation_required"]


def test_a_dry_run_sends_nothing_and_is_not_refused(strict_api: Api) -> None:
    strict_api.post("exec", READ_PRIVATE, Gateway_Turn="t1")

    assert strict_api.post("exec", SEND | {"dry_run": True}, Gateway_Turn="t1").json()["ok"] is True


def test_nothing_is_remembered_if_no_op_could_be_refused(live_catalog: object, make_key: Callable[..., str]) -> None:
    Api(make_key(data_flow="enforce")).post("exec", READ_PRIVATE, Gateway_Turn="t1")

    assert not TurnLabel.objects.exists()
