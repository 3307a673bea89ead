"""Moving a task with its subtasks and events to another project."""

from typing import cast
from uuid import UUID

from django.db.models import Q

from workspace.contract import Outcome, Request
from workspace.errors import Conflict, FieldError, invalid
from workspace.handlers.reads import outcome
from workspace.kinds import TASK
from workspace.models import Edge, Task
from workspace.services import access, task_events


def move(request: Request) -> Outcome:
    """Move a task with its subtasks, all or none. No link between two projects remains.

    The parent task and linked rows stay behind; links to them are removed with a warning.
    Raises NotFound and Forbidden for the task and for the project, Conflict if the task has moved meanwhile, Invalid.
    """
    task = cast("Task", access.changeable_row(TASK, subject=request.subject, id=request.args["task_id"]))
    source = task.project_id
    if source != UUID(request.args["expected_project_id"]):
        message = "The task is no longer in expected_project_id; read it with onto.task.get and decide again."
        raise Conflict(message, reason="moved_elsewhere")
    project = access.changeable_project(subject=request.subject, id=request.args["project_id"])
    if project.pk == source:
        message = "The task is already in project_id; send the id of another project."
        raise invalid([FieldError(path="/project_id", code="same_project", message=message)])
    warnings = _loosened(task)
    moved = [task.pk, *_subtasks(task)]
    warnings += _dropped_edges(moved, source=source, request=request)
    Task.objects.filter(pk__in=moved).update(project=project, updated_at=request.at)
    task_events.move(moved, project=project.pk)
    # A deleted subtask stays behind. If restored, it must not become a subtask of a task in another project.
    Task.objects.filter(parent_task__in=moved).exclude(pk__in=moved).update(parent_task=None)
    Edge.objects.filter(project=source, src_id__in=moved, dst_id__in=moved).update(project=project)
    return _moved(request, subtasks=len(moved) - 1, warnings=tuple(warnings))


def _loosened(task: Task) -> list[str]:
    if task.parent_task_id is None:
        return []
    Task.objects.filter(pk=task.pk).update(parent_task=None)
    return ["The task is no longer a subtask: its parent stays in the old project."]


def _subtasks(task: Task) -> list[UUID]:
    """Lock all subtasks and return their ids; one query per level."""
    found: list[UUID] = []
    level = [task.pk]
    while level:
        below = Task.objects.alive().filter(parent_task__in=level).exclude(pk__in=[task.pk, *found])
        level = list(below.select_for_update(of=("self",), no_key=True).values_list("pk", flat=True))
        found += level
    return found


def _dropped_edges(moved: list[UUID], *, source: UUID, request: Request) -> list[str]:
    """Mark edges that would cross projects as deleted, and return a warning with their number."""
    touching = Edge.objects.filter(Q(src_id__in=moved) | Q(dst_id__in=moved), project=source, deleted_at=None)
    number = touching.exclude(src_id__in=moved, dst_id__in=moved).update(deleted_at=request.at)
    if not number:
        return []
    links = "1 link" if number == 1 else f"{number} links"
    return [f"Removed {links} between moved rows and rows that stay in the old project."]


def _moved(request: Request, *, subtasks: int, warnings: tuple[str, ...]) -> Outcome:
    task = access.visible_row(TASK, subject=request.subject, id=request.args["task_id"])
    with_them = f" with its {subtasks} subtasks" if subtasks > 1 else " with its subtask" if subtasks else ""
    return outcome(
        task, kind=TASK, at=request.at, message=f"Moved the task{with_them} to the other project.", warnings=warnings
    )
