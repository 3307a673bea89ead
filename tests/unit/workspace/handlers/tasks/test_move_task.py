import uuid
from typing import Any

import pytest
from pytest_django.fixtures import DjangoAssertNumQueries

from core.handler_contract import Forbidden, NotFound, OpOutcome, StateConflict
from tests.support.loops import for_each
from tests.support.rows.factories import MADE_AT, EdgeFactory, MembershipFactory, ProjectFactory, TaskFactory
from tests.support.values.handler_calls import AT, call_handler, list_field_errors
from workspace.models import Edge, MemberRole, Project, Task


@pytest.fixture
def destination(db: None) -> Project:
    project: Project = ProjectFactory(name="Destination")
    return project


def move(task: Task, to: Any, *, expected: Any = None, subject: str = "owner") -> OpOutcome:
    ids = {"task_id": task.pk, "project_id": to, "expected_project_id": expected or task.project_id}
    return call_handler("move_onto_task", subject=subject, **{name: str(id) for name, id in ids.items()})


def test_move_keeps_all_fields_of_the_task(destination: Project) -> None:
    task = TaskFactory(title="T", state_key="done", props={"a": 1})

    outcome = move(task, destination.pk)

    task.refresh_from_db()
    expected = {"id": str(task.pk), "title": "T", "project_id": str(destination.pk), "project_name": "Destination"}
    assert outcome.result["task"] == expected
    assert (task.state_key, task.props, task.updated_at) == ("done", {"a": 1}, AT)
    assert (outcome.warnings, outcome.entity_id) == ((), str(task.pk))
    assert outcome.result["message"] == "Moved “T” to the project “Destination”."


def test_move_includes_subtasks_of_every_level(destination: Project) -> None:
    task = TaskFactory()
    child = TaskFactory(project=task.project, parent_task=task)
    grandchild = TaskFactory(project=task.project, parent_task=child)
    deleted = TaskFactory(project=task.project, parent_task=task, deleted_at=MADE_AT)
    other = TaskFactory(project=task.project)

    outcome = move(task, destination.pk)

    assert set(Task.objects.filter(project=destination)) == {task, child, grandchild}
    for row in (grandchild, deleted, other):
        row.refresh_from_db()
    assert (grandchild.parent_task_id, grandchild.updated_at) == (child.pk, AT)
    assert (deleted.project_id, deleted.parent_task_id) == (task.project_id, None)
    assert (other.project_id, other.updated_at) == (task.project_id, MADE_AT)
    assert outcome.result["message"] == f"Moved “{task.title}” with its 2 subtasks to the project “Destination”."


def test_moved_subtask_leaves_its_parent_with_a_warning(destination: Project) -> None:
    parent = TaskFactory()
    task = TaskFactory(project=parent.project, parent_task=parent)

    outcome = move(task, destination.pk)

    assert Task.objects.get(pk=task.pk).parent_task_id is None
    assert outcome.warnings == ("The task is no longer a subtask: its parent stays in the old project.",)


def test_move_removes_links_to_rows_that_stay_and_keeps_links_between_moved_rows(destination: Project) -> None:
    task = TaskFactory()
    child = TaskFactory(project=task.project, parent_task=task)
    other = TaskFactory(project=task.project)
    inside = EdgeFactory(project=task.project, src_id=task.pk, dst_id=child.pk)
    out = EdgeFactory(project=task.project, src_id=child.pk, dst_id=other.pk)
    into = EdgeFactory(project=task.project, src_kind="project", src_id=task.project_id, rel="has_task", dst_id=task.pk)
    gone = EdgeFactory(project=task.project, src_id=other.pk, dst_id=task.pk, deleted_at=MADE_AT)
    apart = EdgeFactory(project=task.project)

    outcome = move(task, destination.pk)

    edges = Edge.objects.in_bulk()
    assert (edges[inside.pk].project_id, edges[inside.pk].deleted_at) == (destination.pk, None)
    assert [edges[each.pk].deleted_at for each in (out, into, gone, apart)] == [AT, AT, MADE_AT, None]
    assert {edges[each.pk].project_id for each in (out, into, gone, apart)} == {task.project_id}
    assert outcome.warnings == ("Removed 2 links between moved rows and rows that stay in the old project.",)


def test_move_of_a_task_that_was_moved_is_a_conflict(destination: Project) -> None:
    task = TaskFactory()

    assert list_field_errors(lambda: move(task, task.project_id)) == [("/project_id", "same_project")]
    for expected in (destination.pk, uuid.uuid4()):
        with pytest.raises(StateConflict) as refused:
            move(task, destination.pk, expected=expected)
        assert refused.value.reason == "moved_elsewhere"

    move(task, destination.pk)
    with pytest.raises(StateConflict):
        move(task, destination.pk)  # the same call again: the task is in another project now
    assert Task.objects.get().project_id == destination.pk


@for_each(
    "here, there, refusal",
    [
        (MemberRole.EDITOR, MemberRole.EDITOR, None),
        (MemberRole.EDITOR, MemberRole.VIEWER, Forbidden),  # may not write to the destination
        (MemberRole.VIEWER, MemberRole.OWNER, Forbidden),  # may not write to the source
        (MemberRole.EDITOR, None, NotFound),
        (None, MemberRole.EDITOR, NotFound),
    ],
    undone=True,
)
def test_move_requires_write_permission_in_both_projects(
    destination: Project, here: MemberRole | None, there: MemberRole | None, refusal: type[Exception] | None
) -> None:
    task = TaskFactory()
    for project, role in ((task.project, here), (destination, there)):
        if role:
            MembershipFactory(project=project, subject="mover", role=role)

    if refusal is None:
        move(task, destination.pk, subject="mover")
    else:
        with pytest.raises(refusal):
            move(task, destination.pk, subject="mover")

    assert (Task.objects.get().project_id == destination.pk) is (refusal is None)


def test_move_costs_one_query_per_level_of_subtasks(
    destination: Project, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    task = TaskFactory()
    TaskFactory.create_batch(30, project=task.project, parent_task=task)

    with django_assert_max_num_queries(17):
        move(task, destination.pk)

    assert Task.objects.filter(project=destination).count() == 31
