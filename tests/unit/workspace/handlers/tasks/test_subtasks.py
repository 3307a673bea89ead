from functools import partial
from typing import Any

import pytest
from django.db import transaction

from core.handler_contract import InvalidArgs
from tests.support.concurrency import run_at_once
from tests.support.loops import for_each
from tests.support.rows.factories import MADE_AT, ProjectFactory, TaskFactory
from tests.support.values.handler_calls import call_handler, get_field_error
from workspace.models import Project, Task

pytestmark = pytest.mark.both_databases


def set_parent(task: Task, parent: Any) -> Any:
    return call_handler("update_onto_task", task_id=str(task.pk), parent_task_id=parent and str(parent))


def get_refusal(task: Task, parent: Any) -> tuple[str, str, str]:
    error = get_field_error(lambda: set_parent(task, parent))
    return error.path, error.code, error.message


def test_parent_is_set_shown_and_cleared(project: Project) -> None:
    whole, part = TaskFactory.create_batch(2, project=project)

    result = set_parent(part, str(whole.pk).upper()).result
    expected = (str(whole.pk), f"Changed “{part.title}”: parent_task_id none → {whole.pk}.")
    assert (result["task"]["parent_task_id"], result["message"]) == expected
    assert set_parent(part, whole.pk).warnings == ("unchanged",)

    assert set_parent(part, None).result["task"]["parent_task_id"] is None
    assert Task.objects.get(pk=part.pk).parent_task is None


def test_missing_and_foreign_parent_tasks_are_refused_alike(project: Project) -> None:
    task = TaskFactory(project=project)
    others = [
        TaskFactory().pk,  # of another project that the subject can see
        TaskFactory(project__created_by="someone else").pk,
        TaskFactory(project=project, deleted_at=MADE_AT).pk,
        "00000000-0000-4000-8000-000000000000",
    ]

    results = {get_refusal(task, other) for other in others}

    assert results == {
        (
            "/parent_task_id",
            "no_such_task",
            "parent_task_id is not a task of this project; take the id from onto.task.list with its project_id.",
        )
    }
    with pytest.raises(InvalidArgs):
        call_handler("create_onto_task", project_id=str(project.pk), title="Part", parent_task_id=str(others[0]))
    assert not Task.objects.exclude(parent_task=None).exists()


@for_each("depth", [0, 1, 2, 9], undone=True)
def test_parent_circle_is_refused(project: Project, depth: int) -> None:
    top = task = TaskFactory(project=project)
    for _ in range(depth):
        task = TaskFactory(project=project, parent_task=task)

    assert get_refusal(top, task.pk)[:2] == ("/parent_task_id", "circle")
    assert Task.objects.get(pk=top.pk).parent_task is None


def test_task_can_be_created_in_a_tree_and_move_below_another_task_of_it(project: Project) -> None:
    top = TaskFactory(project=project)
    one = TaskFactory(project=project, parent_task=top)
    sent = {"project_id": str(project.pk), "title": "Part", "parent_task_id": str(top.pk)}
    two = Task.objects.get(pk=call_handler("create_onto_task", **sent).result["task"]["id"])
    assert two.parent_task == top

    set_parent(two, one.pk)

    assert Task.objects.get(pk=two.pk).parent_task == one


@pytest.mark.django_db(transaction=True)
def test_concurrent_moves_create_no_circle() -> None:
    one, two = TaskFactory.create_batch(2, project=ProjectFactory())
    refused: list[InvalidArgs] = []

    def move(task: Task, parent: Task) -> None:
        try:
            with transaction.atomic():
                set_parent(task, parent.pk)
        except InvalidArgs as error:
            refused.append(error)

    run_at_once([partial(move, one, two), partial(move, two, one)])

    assert [error.field_errors[0].code for error in refused] == ["circle"]
    assert Task.objects.filter(parent_task=None).count() == 1
