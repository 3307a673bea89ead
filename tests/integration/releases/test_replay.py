"""Recorded calls that worked are tried on a draft before it is published."""

import copy
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.test import Client as HttpClient

from analytics.events import event_log
from analytics.events.models import OperationEvent
from registry.models import Op
from tests.support.clients.api import Api
from tests.support.rows.analytics_rows import store_contents
from workspace.demo import DEMO_PROJECT_ID, DEMO_TASK_ID

pytestmark = pytest.mark.django_db

REVIEW = "/admin/registry/release/review/"
LIST, GET, UPDATE = "onto.task.list", "onto.task.get", "onto.task.update"


@pytest.fixture(autouse=True)
def _stored_content(db: None) -> None:
    store_contents(7)


@pytest.fixture
def read_review(admin_client: HttpClient) -> Callable[[], str]:
    """Return a function that returns what the review says about recorded calls, as text without line breaks."""

    def read() -> str:
        event_log.flush()
        text = " ".join(unescape(admin_client.get(REVIEW).content.decode()).split())
        assert "cannot be published" not in text
        return text.partition('id="replay-heading"')[2].partition("</section>")[0]

    return read


def change_schema(op: str, change: Callable[[dict[str, Any]], object]) -> None:
    row = Op.objects.get(op=op)
    row.parameters_schema = copy.deepcopy(row.parameters_schema)
    change(row.parameters_schema)
    row.save()


@pytest.mark.both_databases
def test_calls_that_would_fail_are_counted_with_their_reason_and_events(
    api: Api, read_review: Callable[[], str]
) -> None:
    for limit in (3, 30, 40):
        api.exec(LIST, {"limit": limit})
    api.exec(LIST, {"limit": "many"})  # did not work before either
    api.exec(GET, {"task_id": DEMO_TASK_ID})  # its schema stays
    change_schema(LIST, lambda schema: schema["properties"]["limit"].update(maximum=20))

    text = read_review()

    assert "2 of 3 recorded calls that worked would now fail." in text
    assert "<code>/limit</code> maximum in 2 calls" in text
    failing = OperationEvent.objects.filter(op=LIST, ok=True, content__args__limit__gt=20).values_list("pk", flat=True)
    assert len(failing) == 2
    for pk in failing:
        assert f"/admin/analytics/operationevent/{pk}/change/" in text


def test_args_are_read_as_exec_reads_them(api: Api, read_review: Callable[[], str]) -> None:
    assert api.exec(GET, {"taskId": f" {DEMO_TASK_ID} "})["ok"]
    change_schema(GET, lambda schema: schema["properties"]["task_id"].update(description="Which task."))

    assert "would still be accepted" in read_review()


def test_op_that_is_gone_fails_all_its_calls(api: Api, read_review: Callable[[], str]) -> None:
    api.exec(GET, {"task_id": DEMO_TASK_ID})
    Op.objects.filter(op=GET).update(status="retired")

    text = read_review()

    assert "1 of 1 recorded call" in text
    assert "retired in 1 call" in text


def test_call_that_the_context_completed_is_left_out(api: Api, read_review: Callable[[], str]) -> None:
    context = f'type="project", project_id="{DEMO_PROJECT_ID}"'
    body = {"op": "onto.task.create", "args": {"title": "Call the printers"}}
    assert api.post("exec", body, Gateway_Context=context).status_code == 200
    change_schema("onto.task.create", lambda schema: schema["properties"]["title"].update(description="A few words."))

    assert "nothing could be tried" in read_review()


def test_redacted_values_are_not_blamed(api: Api, read_review: Callable[[], str]) -> None:
    api.exec(UPDATE, {"task_id": DEMO_TASK_ID, "title": "A new title"})
    event_log.flush()
    event = OperationEvent.objects.get(op=UPDATE)
    event.content["args"]["title"] = "[redacted]"
    event.save()
    change_schema(UPDATE, lambda schema: schema["properties"]["title"].update(minLength=50))

    assert "would still be accepted" in read_review()


def test_copy_alone_replays_nothing(api: Api, read_review: Callable[[], str]) -> None:
    api.exec(LIST, {"limit": 3})
    Op.objects.filter(op=LIST).update(summary="List the tasks of a project, newest first")

    assert read_review() == ""


def test_review_says_how_args_come_to_be_stored(api: Api, read_review: Callable[[], str]) -> None:
    store_contents(0)
    api.exec(LIST, {"limit": 30})
    change_schema(LIST, lambda schema: schema["properties"]["limit"].update(maximum=20))

    assert "stored: <a href=" in read_review()
