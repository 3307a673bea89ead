from typing import Any

import pytest
from pytest_django.fixtures import DjangoAssertNumQueries

from tests.factories import ProjectFactory
from tests.unit.workspace.calls import AT, call
from workspace.errors import Invalid
from workspace.models import Project, Task

NOW = "2026-03-02T12:30:00Z"  # calls.AT


@pytest.fixture
def project(db: None) -> Project:
    project: Project = ProjectFactory(name="Launch")
    return project


def create(project: Project, **sent: Any) -> Any:
    return call("create_onto_task", project_id=str(project.pk), **sent)


def test_create_answers_the_stored_row_with_its_defaults(project: Project) -> None:
    outcome = create(project, title="Write")

    task = Task.objects.get()
    assert outcome.result["task"] == {
        "id": str(task.pk),
        "project_id": str(project.pk),
        "project_name": "Launch",
        "title": "Write",
        "description": None,
        "type_key": "task.execute",
        "state_key": "todo",
        "priority": 3,
        "start_at": None,
        "due_at": None,
        "completed_at": None,
        "props": {},
        "created_by": "owner",
        "created_at": NOW,
        "updated_at": NOW,
    }
    assert outcome.result["message"] == "Created the task."
    assert (outcome.entity_id, outcome.entity_name) == (str(task.pk), "Write")
    assert (task.created_at, task.updated_at) == (AT, AT)


def test_create_stores_what_was_sent_as_get_then_tells_it(project: Project) -> None:
    sent = {
        "title": "Write",
        "description": "Two pages",
        "type_key": "task.create.text",
        "state_key": "in_progress",
        "priority": 1,
        "start_at": "2026-03-01T09:00:00+01:00",
        "due_at": "2026-03-04T17:00:00.25Z",
        "props": {"words": 800, "nothing": None},
    }

    row = create(project, **sent).result["task"]

    assert row == call("get_onto_task_details", task_id=row["id"]).result["task"]
    assert row["start_at"] == "2026-03-01T08:00:00Z"
    assert row["due_at"] == "2026-03-04T17:00:00.250000Z"
    assert row["props"] == {"words": 800}
    assert {name: row[name] for name in ("description", "type_key", "state_key", "priority")} == {
        name: sent[name] for name in ("description", "type_key", "state_key", "priority")
    }


def test_create_as_done_is_completed_at_once(project: Project) -> None:
    assert create(project, title="Write", state_key="done").result["task"]["completed_at"] == NOW


@pytest.mark.parametrize(
    ("sent", "path", "code"),
    [
        ({"title": "  "}, "/title", "blank"),
        ({"start_at": "2026-03-04T00:00:00Z", "due_at": "2026-03-03T00:00:00Z"}, "/due_at", "out_of_order"),
        ({"due_at": "0000-12-31T00:00:00Z"}, "/due_at", "impossible_time"),
        ({"start_at": "2016-12-31T23:59:60Z"}, "/start_at", "impossible_time"),
    ],
)
def test_create_is_refused_at_its_pointer(project: Project, sent: dict[str, str], path: str, code: str) -> None:
    with pytest.raises(Invalid) as refused:
        create(project, **{"title": "Write"} | sent)

    assert [(error.path, error.code) for error in refused.value.field_errors] == [(path, code)]
    assert not Task.objects.exists()


def test_create_costs_two_queries(project: Project, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    with django_assert_num_queries(2):
        create(project, title="Write")
