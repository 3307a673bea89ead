from functools import partial
from typing import Any

import pytest
from django.db import transaction
from pytest_django.fixtures import DjangoAssertNumQueries

from core.handler_contract import NotFound
from tests.support.concurrency import run_at_once
from tests.support.loops import for_each
from tests.support.rows.factories import MADE_AT, MilestoneFactory, ProfileFactory, ProjectFactory, TaskFactory
from tests.support.values.handler_calls import AT, call_handler, get_field_error
from workspace.entity_types import ENTITY_TYPE_BY_NAME
from workspace.models import Project, Task

pytestmark = pytest.mark.both_databases

NOW = "2026-03-02T12:30:00Z"  # calls.AT


@pytest.fixture
def task(db: None) -> Task:
    task: Task = TaskFactory(title="Old", description="text", props={"a": 1}, due_at=MADE_AT)
    return task


def update(task: Task, **sent: Any) -> Any:
    return call_handler("update_onto_task", task_id=str(task.pk), **sent)


def reload(task: Task) -> Task:
    return Task.objects.get(pk=task.pk)


def test_update_sets_the_sent_fields_and_returns_the_stored_row(task: Task) -> None:
    outcome = update(task, title="New", priority=1, description="text")

    row = reload(task)
    assert (row.title, row.priority, row.description, row.due_at, row.updated_at) == ("New", 1, "text", MADE_AT, AT)
    assert outcome.result == {
        "task": {"id": str(task.pk), "title": "New", "priority": 1},
        "message": "Changed “New”: title Old → New, priority 3 → 1.",
    }
    assert (outcome.entity_id, outcome.entity_name, outcome.warnings) == (str(task.pk), "New", ())


def test_update_returns_the_timestamp_that_a_state_sets(task: Task) -> None:
    done = update(task, state_key="done").result
    assert (done["task"]["completed_at"], done["message"]) == (NOW, "Changed “Old”: state_key todo → done.")
    assert reload(task).completed_at == AT

    reopened = update(task, state_key="todo").result
    assert (reopened["task"]["completed_at"], reload(task).completed_at) == (None, None)


@for_each(
    "kind, label, own",
    [
        (
            "goal",
            "name",
            {"type_key": "goal.outcome.project", "state_key": "draft"}
            | dict.fromkeys(("priority", "target_date", "measurement_criteria")),
        ),
        (
            "plan",
            "name",
            {"type_key": "plan.phase.project", "state_key": "draft"}
            | dict.fromkeys(("plan", "start_date", "end_date")),
        ),
        (
            "milestone",
            "title",
            {"type_key": "milestone.default", "state_key": "pending", "due_at": None, "is_missed": False},
        ),
    ],
    undone=True,
)
def test_create_returns_the_stored_row_with_its_defaults(
    project: Project, kind: str, label: str, own: dict[str, Any]
) -> None:
    sent = {"project_id": str(project.pk), label: "Row", "fields": ["*"]}

    row = call_handler(f"create_onto_{kind}", **sent).result[kind]

    assert row == {
        "id": str(ENTITY_TYPE_BY_NAME[kind].model._default_manager.get().pk),
        "project_id": str(project.pk),
        "project_name": "Launch",
        label: "Row",
        **dict.fromkeys(("description", "completed_at")),
        "props": {},
        "created_by": "owner",
        **dict.fromkeys(("created_at", "updated_at"), NOW),
        **own,
    }
    assert call_handler(f"get_onto_{kind}_details", **{f"{kind}_id": row["id"]}).result[kind] == row


@for_each(
    "kind, label, sent",
    [
        ("goal", "name", {"priority": 2, "target_date": "2026-05-31", "measurement_criteria": "95% of the visits"}),
        ("plan", "name", {"plan": "1. Invite\n2. Decide\n", "start_date": "2026-04-06", "end_date": "2026-04-06"}),
        ("risk", "title", {"probability": 0.25, "content": "Redirect."}),
    ],
    undone=True,
)
def test_fields_of_a_kind_are_stored_and_cleared(project: Project, kind: str, label: str, sent: dict[str, Any]) -> None:
    whole = {"project_id": str(project.pk), label: "Beta", "fields": ["*"]}
    row = call_handler(f"create_onto_{kind}", **whole, **sent).result[kind]
    cleared = call_handler(f"update_onto_{kind}", **{f"{kind}_id": row["id"]}, **dict.fromkeys(sent)).result[kind]

    assert {name: row[name] for name in sent} == sent
    assert {name: cleared[name] for name in sent} == dict.fromkeys(sent)


@for_each(
    "kind, label, final, other, stamp",
    [
        ("goal", "name", "achieved", "abandoned", "completed_at"),
        ("plan", "name", "completed", "active", "completed_at"),
        ("milestone", "title", "completed", "in_progress", "completed_at"),
        ("risk", "title", "mitigated", "identified", "mitigated_at"),
    ],
    undone=True,
)
def test_final_state_sets_its_time_and_any_other_clears_it(
    db: None, kind: str, label: str, final: str, other: str, stamp: str
) -> None:
    sent = {"project_id": str(ProjectFactory().pk), label: "Row", "state_key": final, "fields": [stamp]}

    row = call_handler(f"create_onto_{kind}", **sent).result[kind]
    reopened = call_handler(f"update_onto_{kind}", **{f"{kind}_id": row["id"]}, state_key=other).result[kind]

    assert (row[stamp], reopened[stamp]) == (NOW, None)


def test_update_returns_the_new_is_missed(project: Project, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    id = str(MilestoneFactory(project=project, title="Live", due_at=MADE_AT).pk)

    def update(**sent: Any) -> tuple[bool, str]:
        with django_assert_num_queries(3):
            result = call_handler("update_onto_milestone", milestone_id=id, fields=["is_missed"], **sent).result
        return result["milestone"]["is_missed"], result["message"]

    assert update(state_key="in_progress") == (False, "Changed “Live”: state_key pending → in_progress.")
    assert update(state_key="pending") == (True, "Changed “Live”: state_key in_progress → pending.")
    assert update(due_at=None) == (False, "Changed “Live”: due_at 2026-03-01T09:00:00Z → none.")


def test_update_merges_props(task: Task) -> None:
    result = update(task, props={"b": {"c": [True, None]}, "a": None}).result

    assert result["task"]["props"] == reload(task).props == {"b": {"c": [True, None]}}
    assert result["message"] == "Changed “Old”: props (a, b)."
    one_new = update(task, title="Old", props={"b": True})
    assert (one_new.warnings, one_new.result["message"]) == ((), "Changed “Old”: props (b).")
    assert update(task, description=None).result["task"]["description"] is None
    assert update(task, description="").warnings == ("unchanged",)  # it also clears


@for_each(
    "same",
    [
        {"title": "Old"},
        {"due_at": "2026-03-01T10:00:00+01:00"},  # the same time in another notation
        {"start_at": None},
        {"props": {"a": 1}},
        {"props": {"gone": None}},
        {"title": "Old", "description": "text", "state_key": "todo", "priority": 3, "type_key": "task.execute"},
    ],
    undone=True,
)
def test_update_that_changes_nothing_succeeds_with_a_warning(
    task: Task, same: dict[str, Any], django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(1):
        outcome = update(task, **same)

    assert outcome.warnings == ("unchanged",)
    assert outcome.result["task"] == {"id": str(task.pk), "title": "Old"}
    assert outcome.result["message"] == "Nothing changed: the task already has these values."
    assert reload(task).updated_at == MADE_AT


def test_update_that_is_refused_changes_nothing(task: Task) -> None:
    error = get_field_error(lambda: update(task, title="New", start_at="2026-03-05T00:00:00Z"))

    assert (error.path, error.code) == ("/start_at", "out_of_order")
    assert error.message == "due_at is before start_at; send a later due_at or an earlier start_at."
    assert reload(task).title == "Old"


@for_each("text", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"], undone=True)
def test_update_stores_the_earliest_and_latest_time(task: Task, text: str) -> None:
    start, due = (None, text) if text.startswith("9") else (text, None)

    update(task, start_at=start, due_at=due)

    row = call_handler("get_onto_task_details", task_id=str(task.pk)).result["task"]
    assert text in (row["start_at"], row["due_at"])


def test_update_stores_numbers_as_sent(task: Task) -> None:
    props = {"n": 2**53 - 1, "m": -(2**53) + 1, "large": 1e20, "larger": -1.5e308, "small": 5e-324, "deep": [[[{}]]]}

    assert update(task, props=props).result["task"]["props"] == {"a": 1} | props

    stored_props = call_handler("get_onto_task_details", task_id=str(task.pk)).result["task"]["props"]
    assert stored_props == {"a": 1} | props
    assert {name: type(value) for name, value in stored_props.items()} == {
        name: type(value) for name, value in ({"a": 1} | props).items()
    }
    assert update(task, props=props).warnings == ("unchanged",)


def test_project_update_returns_the_row_with_its_counts(task: Task) -> None:
    id = str(task.project_id)

    result = call_handler(
        "update_onto_project", project_id=id, name="Renamed", state_key="completed", fields=["*"]
    ).result

    assert result["message"] == (
        f"Changed “Renamed”: name “{task.project.name}” → Renamed, state_key planning → completed."
    )
    assert result["project"] == call_handler("get_onto_project_details", project_id=id).result["project"]
    assert (result["project"]["task_count"], result["project"]["completed_at"]) == (1, NOW)


def test_delete_is_soft_and_final_for_every_op(task: Task) -> None:
    outcome = call_handler("delete_onto_task", task_id=str(task.pk), task_title="Old")

    assert outcome.result == {"task": {"id": str(task.pk)}, "message": "Deleted the task “Old”; ops no longer find it."}
    assert (outcome.entity_id, outcome.entity_name) == (str(task.pk), "Old")
    assert reload(task).deleted_at == AT
    assert (
        call_handler("list_onto_tasks").result["total"]
        == call_handler("search_onto_tasks", query="old").result["total"]
        == 0
    )
    for tool in ("get_onto_task_details", "update_onto_task", "delete_onto_task"):
        with pytest.raises(NotFound):
            call_handler(tool, task_id=str(task.pk), title="New")


@pytest.mark.django_db(transaction=True)
def test_concurrent_updates_of_one_row_lose_nothing() -> None:
    task = TaskFactory()

    def merge(number: int) -> None:
        with transaction.atomic():
            update(task, props={f"key {number}": number})

    run_at_once([partial(merge, number) for number in range(4)])

    assert reload(task).props == {f"key {number}": number for number in range(4)}
    assert Project.objects.count() == 1


@pytest.fixture
def berlin(db: None) -> None:
    ProfileFactory(subject="owner", time_zone="Europe/Berlin")


@for_each(
    "sent, stored, warning",
    [
        ({"due_at": "2026-07-01T14:00:00-05:00"}, "2026-07-01T19:00:00Z", ""),
        ({"due_at": "2026-07-01T14:00"}, "2026-07-01T12:00:00Z", ""),
        ({"due_at": "2026-07-01 14:00"}, "2026-07-01T12:00:00Z", ""),
        (
            {"due_at": "2026-10-25T02:30"},
            "2026-10-25T00:30:00Z",
            "The clocks of Europe/Berlin show due_at twice that day; took the first, 2026-10-25T02:30:00+02:00.",
        ),
        (
            {"due_at": "2026-07-01"},
            "2026-07-01T08:00:00Z",
            "Read due_at as 2026-07-01T10:00:00+02:00, that day at the old time, in Europe/Berlin.",
        ),
        (
            {"start_at": "2026-01-15", "due_at": None},
            "2026-01-14T23:00:00Z",
            "Read start_at as 2026-01-15T00:00:00+01:00, the start of that day in Europe/Berlin.",
        ),
    ],
    undone=True,
)
def test_time_without_offset_is_in_the_zone_of_the_user(
    berlin: None, task: Task, sent: dict[str, Any], stored: str, warning: str
) -> None:
    outcome = update(task, **sent)

    name = next(iter(sent))
    assert outcome.result["task"][name] == stored
    assert outcome.warnings == ((warning,) if warning else ())


def test_date_alone_keeps_the_time_of_day_that_a_field_has(berlin: None, task: Task) -> None:
    update(task, due_at="2026-07-01T17:30")

    moved = update(task, due_at="2026-12-04")
    again = update(task, due_at=None, start_at="2026-12-04")

    assert moved.result["task"]["due_at"] == "2026-12-04T16:30:00Z"
    assert moved.warnings == ("Read due_at as 2026-12-04T17:30:00+01:00, that day at the old time, in Europe/Berlin.",)
    assert again.result["task"]["start_at"] == "2026-12-03T23:00:00Z"  # the field was empty


def test_last_day_of_a_series_counts_as_a_whole(berlin: None, task: Task) -> None:
    update(task, due_at="2026-07-01T17:30", recurrence="daily", recurrence_until="2026-07-10T09:00")

    longer = update(task, recurrence_until="2026-07-20")

    assert longer.result["task"]["recurrence_until"] == "2026-07-20T21:59:00Z"


def test_new_row_takes_times_without_offset(berlin: None, task: Task) -> None:
    outcome = call_handler("create_onto_milestone", project_id=str(task.project_id), title="Live", due_at="2026-07-01")

    assert outcome.result["milestone"]["due_at"] == "2026-07-01T21:59:00Z"
    assert outcome.warnings == ("Read due_at as 2026-07-01T23:59:00+02:00, the end of that day in Europe/Berlin.",)
