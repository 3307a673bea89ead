"""onto.entity.history: the calls that changed a row, from the operation events."""

from collections.abc import Callable
from typing import Any

import pytest

from analytics.events import event_log
from analytics.events.models import OperationEvent
from tests.support.clients.api import Api
from tests.support.rows.analytics_rows import store_contents
from workspace.demo import DEMO_PROJECT_ID, DEMO_TASK_ID
from workspace.models import Task

pytestmark = pytest.mark.both_databases

TASK = {"entity_kind": "task", "entity_id": DEMO_TASK_ID}


def read_history(api: Api, **args: Any) -> dict[str, Any]:
    event_log.flush()
    response = api.exec("onto.entity.history", TASK | args)
    assert response["ok"], response
    result: dict[str, Any] = response["result"]
    return result


def test_each_change_tells_its_time_user_and_op(api: Api) -> None:
    assert read_history(api)["message"].startswith("No call changed this row in the last 90 days")
    api.exec("onto.task.update", {"task_id": DEMO_TASK_ID.upper(), "priority": 3})
    api.exec("onto.task.update", {"task_id": DEMO_TASK_ID, "title": "Other"})

    result = read_history(api)

    subject = OperationEvent.objects.filter(op="onto.task.update").values_list("subject", flat=True).first()
    assert [(change["op"], change["by"]) for change in result["changes"]] == [("onto.task.update", subject)] * 2
    assert result["changes"] == sorted(result["changes"], key=lambda change: change["at"], reverse=True)
    assert (result["has_more"], result["message"]) == (False, "2 changes in the last 90 days, newest first.")
    assert read_history(api, limit=1)["has_more"] is True
    assert read_history(api, entity_id=DEMO_TASK_ID.upper())["changes"] == result["changes"]


def test_change_is_told_if_events_store_answers(api: Api) -> None:
    api.exec("onto.task.update", {"task_id": DEMO_TASK_ID, "priority": 3})
    store_contents(7)
    message = api.exec("onto.task.update", {"task_id": DEMO_TASK_ID, "priority": 4})["result"]["message"]

    assert [change.get("change") for change in read_history(api)["changes"]] == [message, None]


def test_reads_failures_dry_runs_replays_and_other_rows_are_no_changes(api: Api) -> None:
    api.exec("onto.task.get", {"task_id": DEMO_TASK_ID})
    api.exec("onto.task.update", {"task_id": DEMO_TASK_ID, "priority": 9})
    api.exec("onto.task.update", {"task_id": DEMO_TASK_ID, "priority": 2}, dry_run=True)
    api.exec("onto.project.update", {"project_id": DEMO_PROJECT_ID, "description": "Other"})
    for _ in range(2):
        api.exec("onto.task.update", {"task_id": DEMO_TASK_ID, "priority": 2}, idempotency_key="once")

    assert len(read_history(api)["changes"]) == 1
    assert len(read_history(api, entity_kind="project", entity_id=DEMO_PROJECT_ID)["changes"]) == 1


def test_updates_that_changed_nothing_are_no_changes(api: Api) -> None:
    for _ in range(2):
        api.exec("onto.task.update", {"task_id": DEMO_TASK_ID, "priority": 3})
    plan = {"nodes": [{"id": DEMO_TASK_ID, "kind": "task", "connections": []}], "options": {"dry_run": True}}
    planned = api.exec("onto.project.graph.reorganize", {"project_id": DEMO_PROJECT_ID, **plan})
    assert planned["ok"], planned

    assert len(read_history(api)["changes"]) == 1
    assert read_history(api, entity_kind="project", entity_id=DEMO_PROJECT_ID)["changes"] == []


def test_shift_of_many_tasks_is_a_change_of_each(api: Api) -> None:
    dated = Task.objects.filter(project_id=DEMO_PROJECT_ID).exclude(due_at=None).order_by("pk")
    *ids, other = [str(task.pk) for task in dated[:3]]
    api.exec("onto.task.shift", {"days": 1, "task_ids": ids}, dry_run=True)
    shifted = api.exec("onto.task.shift", {"days": 1, "task_ids": ids})
    assert shifted["result"]["total"] == 2, shifted

    for id in ids:
        assert [change["op"] for change in read_history(api, entity_id=id)["changes"]] == ["onto.task.shift"]
    assert read_history(api, entity_id=other)["changes"] == []
    stored = OperationEvent.objects.filter(op="onto.task.shift").order_by("pk")
    assert [sorted(event.changed_ids or ()) for event in stored] == [[], sorted(ids)]


def test_row_that_the_subject_cannot_see_has_no_history(api: Api, make_api: Callable[..., Api]) -> None:
    api.exec("onto.task.update", {"task_id": DEMO_TASK_ID, "priority": 3})
    event_log.flush()

    error = make_api(acts_for="stranger").exec("onto.entity.history", TASK)["error"]

    assert (error["code"], error["details"]["reason"]) == ("NOT_FOUND", "not_found")
