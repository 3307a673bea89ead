"""Validation of parent tasks."""

from collections.abc import Mapping
from typing import Any, cast

from workspace.errors import FieldError
from workspace.models import Entity, Project, Task


def problems(row: Entity, sent: Mapping[str, Any]) -> list[FieldError]:
    """Return the errors of the parent task that was sent. The message does not reveal why a task is not visible.

    Locks the project's row until the transaction ends, because two valid concurrent moves could form a cycle.
    """
    task = cast("Task", row)
    if sent.get("parent_task_id") is None or task.parent_task_id is None:
        return []
    Project.objects.select_for_update(no_key=True).get(pk=task.project_id)
    if not Task.objects.filter(pk=task.parent_task_id, project=task.project_id, deleted_at=None).exists():
        message = "parent_task_id is not a task of this project; take the id from onto.task.list with its project_id."
        return [FieldError(path="/parent_task_id", code="no_such_task", message=message)]
    if _is_below(task):
        message = "parent_task_id is this task or one of its subtasks; send another task, or null for none."
        return [FieldError(path="/parent_task_id", code="circle", message=message)]
    return []


def _is_below(task: Task) -> bool:
    """Whether the task is among the ancestors of its parent. Deleted tasks count, because they can be restored."""
    linked = Task.objects.filter(project=task.project_id).exclude(parent_task=None)
    parents = dict(linked.values_list("pk", "parent_task_id"))
    place, seen = task.parent_task_id, set[Any]()
    while place is not None and place not in seen:
        if place == task.pk:
            return True
        seen.add(place)
        place = parents.get(place)
    return False
