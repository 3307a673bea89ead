from datetime import timedelta
from typing import Any

from pytest_django.fixtures import DjangoAssertNumQueries

from core.text import json_text, token_budget
from tests.support.loops import for_each
from tests.support.rows.factories import MADE_AT, TaskFactory
from tests.support.rows.project_graph import create_edge
from tests.support.values.handler_calls import AT, call_handler, get_field_error, list_field_errors
from workspace.models import Plan, Project, Task

NOW = "2026-03-02T12:30:00Z"  # calls.AT


def create(project: Project, **sent: Any) -> Any:
    return call_handler("create_onto_task", project_id=str(project.pk), **sent)


def test_create_returns_the_stored_row_with_its_defaults(project: Project) -> None:
    outcome = create(project, title="Write", fields=["*"])

    task = Task.objects.get()
    assert outcome.result["task"] == {
        "id": str(task.pk),
        "project_id": str(project.pk),
        "project_name": "Launch",
        "title": "Write",
        **dict.fromkeys(("description", "details", "start_at", "due_at", "recurrence", "recurrence_until")),
        "parent_task_id": None,
        "completed_at": None,
        "type_key": "task.execute",
        "state_key": "todo",
        "priority": 3,
        "duration_minutes": 60,
        "props": {},
        **dict.fromkeys(("has_subtasks", "has_dependencies", "is_recurring", "is_overdue"), False),
        "created_by": "owner",
        "created_at": NOW,
        "updated_at": NOW,
    }
    assert outcome.result["message"] == "Created the task “Write”."
    assert (outcome.entity_id, outcome.entity_name) == (str(task.pk), "Write")
    assert (task.created_at, task.updated_at) == (AT, AT)


def test_create_tells_the_id_and_what_was_sent_as_it_is_stored(project: Project) -> None:
    sent = {"description": "Long", "due_at": "2026-03-05", "details": "", "props": {}}

    result = create(project, title="Write", **sent).result

    task = Task.objects.get()
    assert result["task"] == {
        "id": str(task.pk),
        "title": "Write",
        "state_key": "todo",
        "due_at": "2026-03-05T23:59:00Z",
    }
    assert token_budget.count(json_text.dump(create(project, title="Write").result).decode()) <= 70


def get(task: Task, **sent: Any) -> Any:
    return call_handler("get_onto_task_details", task_id=str(task.pk), **sent).result


def update(task: Task, **sent: Any) -> Any:
    return call_handler("update_onto_task", task_id=str(task.pk), **sent)


def test_get_lists_subtasks_most_urgent_first(project: Project) -> None:
    task = TaskFactory(project=project)
    for priority in (4, 1):
        TaskFactory(project=project, parent_task=task, title=f"Part {priority}", priority=priority)
    TaskFactory(project=project, parent_task=task, deleted_at=MADE_AT)
    TaskFactory(parent_task=task)  # of another project: no op creates this, and no op shows it

    result = get(task, include_subtasks=True)["task"]

    assert [row["title"] for row in result["subtasks"]] == ["Part 1", "Part 4"]
    assert result["has_subtasks"] is True
    assert "subtasks" not in get(task)["task"]


def test_get_returns_whole_subtasks_without_what_the_task_says(project: Project) -> None:
    task = TaskFactory(project=project)
    part = TaskFactory(project=project, parent_task=task, description="d" * 600, details="n" * 300)

    [row] = get(task, include_subtasks=True, max_chars=20_000)["task"]["subtasks"]

    assert (row["id"], row["description"], row["details"]) == (str(part.pk), "d" * 600, "n" * 300)
    assert (row["duration_minutes"], row["type_key"]) == (part.duration_minutes, part.type_key)
    assert not {"project_id", "project_name", "parent_task_id", "due_at"} & set(row)


def test_get_shares_the_characters_among_the_subtasks(project: Project) -> None:
    task = TaskFactory(project=project)
    for priority in (1, 2):
        TaskFactory(project=project, parent_task=task, priority=priority, description="d" * 800)

    result = get(task, include_subtasks=True, max_chars=1_000)

    first, second = result["task"]["subtasks"]
    assert (len(first["description"]), len(second["description"])) == (800, 500)
    assert second["truncated"] == {"description": {"shown": 500, "length": 800, "next_offset": 500}}
    assert "Cut in subtasks: description; onto.task.get with field and offset returns the rest." in result["message"]


def test_get_shows_the_parent_as_a_row_unless_it_is_deleted(project: Project) -> None:
    parent = TaskFactory(project=project, title="All", state_key="in_progress")
    part = TaskFactory(project=project, parent_task=parent)

    assert get(part)["task"]["parent_task"] == {"id": str(parent.pk), "title": "All", "state_key": "in_progress"}
    assert "parent_task" not in get(parent)["task"]

    Task.objects.filter(pk=parent.pk).update(deleted_at=MADE_AT)
    assert "parent_task" not in get(part)["task"]


def test_get_lists_at_most_fifty_subtasks_and_says_so(
    project: Project, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    task = TaskFactory(project=project)
    TaskFactory.create_batch(51, project=project, parent_task=task)

    with django_assert_num_queries(2):
        result = get(task, include_subtasks=True)

    assert len(result["task"]["subtasks"]) == 50
    assert result["message"] == (
        "The complete task. Only the first 50 subtasks are included; onto.task.list returns the others."
    )


def test_get_lists_linked_rows(project: Project, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    task, first = TaskFactory(project=project), TaskFactory(project=project, title="First", state_key="done")
    gone = TaskFactory(project=project, deleted_at=MADE_AT)
    plan = Plan.objects.create(project=project, name="Phase")
    later = TaskFactory(project=project, title="Later")
    create_edge(plan, "has_task", task)
    create_edge(task, "depends_on", first)
    create_edge(task, "depends_on", gone)
    create_edge(later, "depends_on", task, created_at=AT)
    create_edge(project, "has_task", task)

    with django_assert_num_queries(3):
        result = get(task, include_links=True)["task"]["links"]

    links = [
        {"kind": "task", "title": "First", "state_key": "done", "rel": "depends_on", "direction": "outgoing"},
        {"kind": "task", "title": "Later", "state_key": "todo", "rel": "depends_on", "direction": "incoming"},
        {"kind": "plan", "name": "Phase", "state_key": "draft", "rel": "has_task", "direction": "incoming"},
    ]
    ids = [str(row.pk) for row in (first, later, plan)]
    assert result == [{"id": id} | link for id, link in zip(ids, links, strict=True)]
    assert "links" not in get(task)["task"]


def test_get_lists_at_most_twenty_links_and_says_so(project: Project) -> None:
    task = TaskFactory(project=project)
    for other in TaskFactory.create_batch(21, project=project):
        create_edge(task, "depends_on", other)

    result = get(task, include_links=True)

    assert len(result["task"]["links"]) == 20
    assert result["message"] == (
        "The complete task. Only the first 20 links are included; onto.entity.links.get returns the others."
    )


def test_get_fits_the_project_context_into_the_remaining_characters(project: Project) -> None:
    Project.objects.update(context="c" * 900, executive_summary="s" * 200, description="never")
    task = TaskFactory(project=project, description="d" * 300)

    result = get(task, include_project_context=True, max_chars=1000)["task"]["project_context"]

    assert result == {
        "id": str(project.pk),
        "name": "Launch",
        "state_key": "planning",
        "executive_summary": "s" * 200,
        "context": "c" * 500,
        "truncated": {"context": {"shown": 500, "length": 900, "next_offset": 500}},
    }
    Project.objects.update(executive_summary="")
    Task.objects.update(description="d" * 700)
    assert get(task, include_project_context=True, max_chars=500)["message"] == (
        "The complete task. Cut: description; onto.task.get with field and offset returns the rest. "
        "Cut in project_context: context; onto.project.get with field and offset returns the rest."
    )


def test_get_with_field_returns_only_the_text(project: Project) -> None:
    task = TaskFactory(project=project, title="Write", details="e" * 700)

    result = get(task, field="details", offset=100, max_chars=500, include_subtasks=True)

    assert result["task"].keys() == {"id", "title", "details", "truncated"}
    assert result["message"] == "details of the task, characters 100 to 600."
    assert get(task, field="details", offset=600)["message"] == "details of the task, characters 600 to 700, the end."
    assert list_field_errors(lambda: get(task, offset=0)) == [("/offset", "no_field")]


def test_update_adds_to_the_description_and_reports_it(project: Project) -> None:
    task = TaskFactory(project=project, title="Old", description="old")

    assert list_field_errors(lambda: update(task, title="New", update_strategy="append")) == [
        ("/update_strategy", "no_content")
    ]
    assert (Task.objects.get().title, Task.objects.get().description) == ("Old", "old")
    outcome = update(task, description="new", update_strategy="merge_llm")
    assert Task.objects.get().description == "old\n\nnew"
    assert outcome.result["message"] == "Changed “Old”: description (3 → 8 characters, old text kept)."
    assert outcome.warnings == ("No model is configured to merge texts, so description was appended.",)


def test_clearing_recurrence_clears_its_end(project: Project) -> None:
    end = MADE_AT + timedelta(days=90)
    task = TaskFactory(project=project, recurrence="weekly", recurrence_until=end)

    update(task, recurrence="daily")
    task.refresh_from_db()
    kept = task.recurrence_until
    once = update(task, recurrence=None)
    error = get_field_error(lambda: update(task, recurrence_until="2026-05-30T09:00:00Z"))

    assert kept == end
    assert once.result["task"]["recurrence_until"] is None
    assert "recurrence_until" in once.result["message"]
    assert (error.path, error.code) == ("/recurrence_until", "no_recurrence")
    assert "also send recurrence" in error.message


@for_each(
    "dates, sent, path",
    [
        ({"start_at": MADE_AT}, {"start_at": "2026-05-31T09:00:00Z"}, "/start_at"),
        ({"start_at": MADE_AT}, {"recurrence_until": "2026-02-28T09:00:00Z"}, "/recurrence_until"),
        ({"due_at": MADE_AT}, {"due_at": "2026-05-31T09:00:00Z"}, "/due_at"),
    ],
    undone=True,
)
def test_update_refuses_a_start_after_the_recurrence_end(
    project: Project, dates: dict[str, Any], sent: dict[str, str], path: str
) -> None:
    task = TaskFactory(project=project, recurrence="weekly", recurrence_until=MADE_AT + timedelta(days=90), **dates)

    error = get_field_error(lambda: update(task, **sent))

    assert (error.path, error.code) == (path, "out_of_order")
    assert "recurrence_until" in error.message
    # An old error does not block changes of other fields.
    Task.objects.update(recurrence_until=MADE_AT - timedelta(days=1))
    assert update(task, title="New").warnings == ("The task recurs, so all its occurrences changed.",)
