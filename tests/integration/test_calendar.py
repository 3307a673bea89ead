"""A user's calendar as their agent meets it: through the API, in their own zone."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from tests.support.api import Api, refused
from workspace.demo import DEMO_PROJECT_ID, DEMO_SUBJECT
from workspace.models import Profile

pytestmark = pytest.mark.both_databases

EVENT = "b07cd3e6-8b9d-4fc6-8af7-c6d47fdbac01"


def exec_(api: Api, op: str, **args: Any) -> dict[str, Any]:
    """Return the result of a call that must succeed."""
    answer = api.exec(op, args)
    assert answer["ok"], answer
    return dict(answer["result"])


def test_deadline_is_set_seen_moved_and_cleared_in_the_calendar(api: Api) -> None:
    Profile.objects.update_or_create(subject=DEMO_SUBJECT, defaults={"time_zone": "America/New_York"})
    day = (timezone.now() + timedelta(days=3)).date().isoformat()
    task = exec_(api, "onto.task.create", project_id=DEMO_PROJECT_ID, title="Sign", due_at=f"{day}T17:00:00-05:00")[
        "task"
    ]

    seen = exec_(api, "cal.event.list", query="sign", time_min=day, time_max=day)["events"]
    assert [(row["title"], row["linked_task_id"]) for row in seen] == [("Due: Sign", task["id"])]

    moved = exec_(api, "cal.event.update", event_id=seen[0]["id"], end_at=f"{day}T15:00")
    due = exec_(api, "onto.task.get", task_id=task["id"])["task"]["due_at"]
    local = moved["event"]["end_at"]
    assert local.startswith(f"{day}T15:00:00-0")
    assert due == f"{day}T{15 + int(local[-4:-3])}:00:00Z"

    exec_(api, "cal.event.delete", event_id=seen[0]["id"])
    assert exec_(api, "onto.task.get", task_id=task["id"])["task"]["due_at"] is None
    assert exec_(api, "cal.event.list", query="sign", time_min=day, time_max=day)["total"] == 0


@pytest.mark.parametrize("form", [{"timeMin": "2026-03-02", "timeMax": "2026-03-02"}, {"time_min": "2026-03-02T00:00"}])
def test_times_are_taken_as_models_write_them(api: Api, form: dict[str, str]) -> None:
    assert api.exec("cal.event.list", form)["ok"]


def test_time_in_words_is_refused_with_what_to_send(api: Api) -> None:
    answer = api.post("exec", {"op": "cal.event.create", "args": {"title": "T", "start_at": "tomorrow at 9"}})

    error = refused(answer, 400, "invalid_args")
    [wrong] = error["details"]["field_errors"]
    assert wrong["path"] == "/start_at"
    assert "2026-03-01" in wrong["message"]


def test_external_calendar_tells_what_the_user_must_do(api: Api) -> None:
    answer = api.post("exec", {"op": "cal.event.list", "args": {"calendar_id": "lena@example.com"}})

    error = refused(answer, 409, "connection_required")
    assert error["code"] == "CONFLICT"
    assert error["details"]["requires_user_action"] is True
    assert error["details"]["how_to_connect"]
    assert refused(api.post("exec", {"op": "cal.event.list", "args": {"calendar_id": "lena"}}), 400, "invalid_args")


def test_event_is_what_the_operation_was_about(api: Api) -> None:
    told = api.exec("cal.event.update", {"event_id": EVENT, "location": "Roof"})["meta"]["operation"]
    made = api.exec("cal.project.set", {"project_id": DEMO_PROJECT_ID, "color_id": "red"})

    assert told == {"entity": "event", "action": "update", "entity_id": EVENT, "entity_name": "Website round"}
    assert made["meta"]["operation"]["entity"] == "calendar"
    assert made["result"]["calendar"]["color_id"] == "11"


def test_get_needs_its_id(api: Api) -> None:
    error = refused(api.post("exec", {"op": "cal.event.get", "args": {}}), 400, "invalid_args")

    assert "event_id" in error["message"]


def test_project_of_the_context_is_the_one_whose_calendar_is_meant(api: Api) -> None:
    context = {"Gateway-Context": f'type=project, project_id="{DEMO_PROJECT_ID}"'}
    listed = api.post("exec", {"op": "cal.event.list"}, **context).json()

    assert listed["meta"]["applied_defaults"] == {"project_id": DEMO_PROJECT_ID}
    assert {row["project_id"] for row in listed["result"]["events"]} == {DEMO_PROJECT_ID}
    everything = api.post("exec", {"op": "cal.event.list", "args": {"calendar_scope": "user"}}, **context).json()
    assert everything["result"]["total"] > listed["result"]["total"]
