"""A get without its id: the list runs, and says so."""

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from analytics.models import OperationEvent
from core import poller
from registry.models import Op
from registry.releases import publishing
from tests.support.api import Api, refused
from workspace.demo import DEMO_PROJECT_ID, DEMO_TASK_ID

IN_PROJECT = f'type=project, project_id="{DEMO_PROJECT_ID}"'
LISTED = ("task", "goal", "plan", "document", "milestone", "risk")


def publish() -> None:
    publishing.publish_draft(
        note="Changed by hand", by="tests", at=timezone.now(), accepted="Texts name what is retired"
    )
    poller.refresh()


def test_gets_that_list_are_those_of_the_issue(live_catalog: Any) -> None:
    found = {path: op.without_id for path, op in live_catalog.ops.items() if op.without_id}

    assert found == {f"onto.{e}.get": f"onto.{e}.list" for e in LISTED if f"onto.{e}.get" in live_catalog.ops}


@pytest.mark.parametrize("entity", LISTED)
def test_get_without_its_id_lists(api: Api, live_catalog: Any, entity: str) -> None:
    if f"onto.{entity}.get" not in live_catalog.ops:
        pytest.skip("by design: the op is not shipped yet")

    answer = api.exec(f"onto.{entity}.get")

    listed = api.exec(f"onto.{entity}.list")
    assert (answer["op"], answer["ok"]) == (f"onto.{entity}.get", True)
    assert answer["result"] == listed["result"]
    assert answer["result"]["total"] > 0
    assert answer["meta"]["executed_op"] == f"onto.{entity}.list"
    assert answer["meta"]["operation"] == {"entity": entity, "action": "list"}
    assert answer["meta"]["warnings"] == [
        f"{entity}_id is missing, so onto.{entity}.list ran instead; send {entity}_id for one complete row."
    ]


@pytest.mark.parametrize("args", [{"task_id": ""}, {"task_id": "  "}, {"task_id": None}, {"id": ""}, {"taskId": None}])
def test_blank_and_null_ids_are_missing(api: Api, args: dict[str, Any]) -> None:
    answer = api.exec("onto.task.get", args)

    assert answer["meta"]["executed_op"] == "onto.task.list"


def test_limit_project_and_context_are_carried_over(api: Api) -> None:
    named = api.exec("get_task", {"projectId": DEMO_PROJECT_ID, "limit": 2})
    response = api.post("exec", {"op": "onto.task.get", "args": {"limit": 2}}, Gateway_Context=IN_PROJECT)

    assert len(named["result"]["tasks"]) == 2
    assert {row["project_id"] for row in named["result"]["tasks"]} == {DEMO_PROJECT_ID}
    assert response.json()["result"] == named["result"]
    assert response.json()["meta"]["applied_defaults"] == {"project_id": DEMO_PROJECT_ID}
    assert "Read projectId as project_id." in named["meta"]["warnings"]


def test_what_only_a_row_has_is_left_out_with_a_warning(api: Api) -> None:
    op = Op.objects.get(op="onto.task.get")
    op.parameters_schema["properties"]["deep"] = {"type": "boolean", "default": True}
    op.save()
    publish()

    answer = api.exec("onto.task.get", {"deep": False})
    without = api.exec("onto.task.get")

    assert answer["meta"]["executed_op"] == without["meta"]["executed_op"] == "onto.task.list"
    assert "Ignored deep: it applies to one row." in answer["meta"]["warnings"]
    assert len(without["meta"]["warnings"]) == 1  # a default was not sent


def test_id_that_is_there_is_used(api: Api) -> None:
    answer = api.exec("onto.task.get", {"task_id": DEMO_TASK_ID})

    assert answer["result"]["task"]["id"] == DEMO_TASK_ID
    assert "executed_op" not in answer["meta"]


@pytest.mark.parametrize("args", [{"task_id": "7e3b9f20"}, {"task_id": 5}, {"tsk_id": DEMO_TASK_ID}, {"query": "x"}])
def test_malformed_and_misspelt_ids_are_told_and_not_taken_for_missing_ones(api: Api, args: dict[str, Any]) -> None:
    response = api.post("exec", {"op": "onto.task.get", "args": args})

    refused(response, 400, "invalid_args")
    assert "executed_op" not in response.json()["meta"]


def test_wrong_args_of_the_list_are_refused(api: Api) -> None:
    error = refused(api.post("exec", {"op": "onto.task.get", "args": {"limit": 500}}), 400, "invalid_args")

    assert [each["path"] for each in error["details"]["field_errors"]] == ["/limit"]


@pytest.mark.parametrize("op", ["onto.project.get", "onto.requirement.get"])
def test_other_gets_need_their_id(api: Api, op: str) -> None:
    error = refused(api.post("exec", {"op": op, "args": {}}), 400, "invalid_args")

    assert [each["code"] for each in error["details"]["field_errors"]] == ["required"]


def test_list_that_the_client_may_not_run_does_not_run(live_catalog: Any, another: Callable[..., Api]) -> None:
    api = another(op_patterns=["onto.task.get"])

    error = refused(api.post("exec", {"op": "onto.task.get", "args": {}}), 400, "invalid_args")

    assert "onto.task.list" not in error["message"]


def test_list_that_is_retired_does_not_run(api: Api) -> None:
    Op.objects.filter(op="onto.task.list").update(status=Op.Status.RETIRED)
    publish()

    refused(api.post("exec", {"op": "onto.task.get", "args": {}}), 400, "invalid_args")


def test_event_is_of_the_op_that_was_asked_for(api: Api, told: Callable[[], list[OperationEvent]]) -> None:
    api.exec("onto.task.get", {}, dry_run=True, idempotency_key="k")

    [event] = told()
    assert (event.op, event.kind, event.ok, event.entity, event.entity_id) == (
        "onto.task.get",
        "read",
        True,
        "task",
        "",
    )
