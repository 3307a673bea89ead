"""Validation of parent tasks."""

from collections.abc import Mapping
from typing import Any, cast

from workspace.errors import ArgumentError
from workspace.models import Entity, Project, Task


def check_parent_task(row: Entity, sent: Mapping[str, Any]) -> list[ArgumentError]:
    """Return the errors of the parent task that was sent. The message does not reveal why a task is not visible.

    Locks the project's row until the transaction ends, because two valid concurrent moves could form a cycle.
    """
    task = cast("Task", row)
    if sent.get("parent_task_id") is None or task.parent_task_id is None:
        return []
    Project.objects.select_for_update(no_key=True).get(pk=task.project_id)
    if not Task.objects.filter(pk=task.parent_task_id, project=task.project_id, deleted_at=None).exists():
        message = "parent_task_id is not a task of this project; take the id from onto.task.list with its project_id."
        return [ArgumentError(path="/parent_task_id", code="no_such_task", message=message)]
    if _is_own_ancestor(task):
        message = "parent_task_id is this task or one of its subtasks; send another task, or null for none."
        return [ArgumentError(path="/parent_task_id", code="circle", message=message)]
    return []


def _is_own_ancestor(task: Task) -> bool:
    """Whether the task is among the ancestors of its parent. Deleted tasks count, because they can be restored."""
    subtasks = Task.objects.filter(project=task.project_id).exclude(parent_task=None)
    parents = dict(subtasks.values_list("pk", "parent_task_id"))
    task_id, seen = task.parent_task_id, set[Any]()
    while task_id is not None and task_id not in seen:
        if task_id == task.pk:
            return True
        seen.add(task_id)
        task_id = parents.get(task_id)
    return False
