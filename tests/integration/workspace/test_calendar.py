"""A user's calendar through the API, in the user's time zone."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from tests.support.clients.api import Api, assert_refused
from tests.support.loops import for_each
from workspace.demo import DEMO_PROJECT_ID, DEMO_SUBJECT
from workspace.models import Profile

pytestmark = pytest.mark.both_databases

EVENT = "b07cd3e6-8b9d-4fc6-8af7-c6d47fdbac01"


def run_op(api: Api, op: str, **args: Any) -> dict[str, Any]:
    """Run an op and return its result. Fails if the call fails."""
    response = api.exec(op, args)
    assert response["ok"], response
    return dict(response["result"])


def test_task_deadline_and_its_event_stay_in_sync(api: Api) -> None:
    Profile.objects.update_or_create(subject=DEMO_SUBJECT, defaults={"time_zone": "America/New_York"})
    day = (timezone.now() + timedelta(days=3)).date().isoformat()
    task = run_op(api, "onto.task.create", project_id=DEMO_PROJECT_ID, title="Sign", due_at=f"{day}T17:00:00-05:00")[
        "task"
    ]

    events = run_op(api, "cal.event.list", query="sign", time_min=day, time_max=day)["events"]
    assert [(row["title"], row["linked_task_id"]) for row in events] == [("Due: Sign", task["id"])]

    update = run_op(api, "cal.event.update", event_id=events[0]["id"], end_at=f"{day}T15:00")
    due = run_op(api, "onto.task.get", task_id=task["id"])["task"]["due_at"]
    local = update["event"]["end_at"]
    assert local.startswith(f"{day}T15:00:00-0")
    assert due == f"{day}T{15 + int(local[-4:-3])}:00:00Z"

    run_op(api, "cal.event.delete", event_id=events[0]["id"])
    assert run_op(api, "onto.task.get", task_id=task["id"])["task"]["due_at"] is None
    assert run_op(api, "cal.event.list", query="sign", time_min=day, time_max=day)["total"] == 0


@for_each("args", [{"timeMin": "2026-03-02", "timeMax": "2026-03-02"}, {"time_min": "2026-03-02T00:00"}])
def test_event_list_accepts_dates_and_local_times(api: Api, args: dict[str, str]) -> None:
    assert api.exec("cal.event.list", args)["ok"]


def test_external_calendar_error_explains_how_to_connect(api: Api) -> None:
    response = api.post("exec", {"op": "cal.event.list", "args": {"calendar_id": "lena@example.com"}})

    error = assert_refused(response, 409, "connection_required")
    assert error["code"] == "CONFLICT"
    assert error["details"]["requires_user_action"] is True
    assert error["details"]["how_to_connect"]
    assert assert_refused(
        api.post("exec", {"op": "cal.event.list", "args": {"calendar_id": "lena"}}), 400, "invalid_args"
    )


def test_operation_names_the_event_or_calendar(api: Api) -> None:
    operation = api.exec("cal.event.update", {"event_id": EVENT, "location": "Roof"})["meta"]["operation"]
    calendar = api.exec("cal.project.set", {"project_id": DEMO_PROJECT_ID, "color_id": "red"})

    assert operation == {"entity": "event", "action": "update", "entity_id": EVENT, "entity_name": "Website round"}
    assert calendar["meta"]["operation"]["entity"] == "calendar"
    assert calendar["result"]["calendar"]["color_id"] == "11"


def test_event_list_uses_the_project_of_the_context(api: Api) -> None:
    context = {"Gateway-Context": f'type=project, project_id="{DEMO_PROJECT_ID}"'}
    project_events = api.post("exec", {"op": "cal.event.list"}, **context).json()

    assert project_events["meta"]["applied_defaults"] == {"project_id": DEMO_PROJECT_ID}
    assert project_events["result"]["project_id"] == DEMO_PROJECT_ID
    all_events = api.post("exec", {"op": "cal.event.list", "args": {"calendar_scope": "user"}}, **context).json()
    assert all_events["result"]["total"] > project_events["result"]["total"]
