"""Moving a task with its subtasks and events to another project."""

from dataclasses import replace
from typing import Any, cast
from uuid import UUID

from django.db.models import Q

from workspace.contract import OpOutcome, OpRequest
from workspace.entity_types import TASK
from workspace.errors import ArgumentError, StateConflict, build_invalid_args
from workspace.handlers.generic.row_outcomes import build_change_outcome
from workspace.models import Edge, Task
from workspace.services.access import access
from workspace.services.calendar import task_events
from workspace.services.entities import serialization
from workspace.services.entities.names import quote_name


def move_task(request: OpRequest) -> OpOutcome:
    """Move a task with its subtasks, all or none. No link between two projects remains.

    The parent task and linked rows stay behind; links to them are removed with a warning.
    Raises NotFound and Forbidden for the task and for the project, StateConflict if the task has moved meanwhile,
    InvalidArgs.
    """
    task = cast("Task", access.lock_changeable_row(TASK, subject=request.subject, id=request.args["task_id"]))
    source = task.project_id
    if source != UUID(request.args["expected_project_id"]):
        message = "The task is no longer in expected_project_id; read it with onto.task.get and decide again."
        raise StateConflict(message, reason="moved_elsewhere")
    project = access.get_changeable_project(subject=request.subject, id=request.args["project_id"])
    if project.pk == source:
        message = "The task is already in project_id; send the id of another project."
        raise build_invalid_args([ArgumentError(path="/project_id", code="same_project", message=message)])
    warnings = _detach_from_parent(task)
    task_ids = [task.pk, *_lock_subtasks(task)]
    warnings += _delete_crossing_edges(task_ids, source=source, request=request)
    Task.objects.filter(pk__in=task_ids).update(project=project, updated_at=request.at)
    task_events.move_events(task_ids, project=project.pk)
    # A deleted subtask stays behind. If restored, it must not become a subtask of a task in another project.
    Task.objects.filter(parent_task__in=task_ids).exclude(pk__in=task_ids).update(parent_task=None)
    Edge.objects.filter(project=source, src_id__in=task_ids, dst_id__in=task_ids).update(project=project)
    outcome = _build_outcome(request, subtasks=len(task_ids) - 1, warnings=tuple(warnings))
    return replace(outcome, changed_ids=tuple(map(str, task_ids)))


def _detach_from_parent(task: Task) -> list[str]:
    if task.parent_task_id is None:
        return []
    Task.objects.filter(pk=task.pk).update(parent_task=None)
    return ["The task is no longer a subtask: its parent stays in the old project."]


def _lock_subtasks(task: Task) -> list[UUID]:
    """Lock all subtasks and return their ids; one query per level."""
    subtask_ids: list[UUID] = []
    level = [task.pk]
    while level:
        children = Task.objects.alive().filter(parent_task__in=level).exclude(pk__in=[task.pk, *subtask_ids])
        level = list(children.select_for_update(of=("self",), no_key=True).values_list("pk", flat=True))
        subtask_ids += level
    return subtask_ids


def _delete_crossing_edges(task_ids: list[UUID], *, source: UUID, request: OpRequest) -> list[str]:
    """Mark edges that would cross projects as deleted, and return a warning with their number."""
    touching = Edge.objects.filter(Q(src_id__in=task_ids) | Q(dst_id__in=task_ids), project=source, deleted_at=None)
    edge_count = touching.exclude(src_id__in=task_ids, dst_id__in=task_ids).update(deleted_at=request.at)
    if not edge_count:
        return []
    links = "1 link" if edge_count == 1 else f"{edge_count} links"
    return [f"Removed {links} between moved rows and rows that stay in the old project."]


def _build_outcome(request: OpRequest, *, subtasks: int, warnings: tuple[str, ...]) -> OpOutcome:
    task: Any = access.get_visible_row(TASK, subject=request.subject, id=request.args["task_id"])
    subtask_note = f" with its {subtasks} subtasks" if subtasks > 1 else " with its subtask" if subtasks else ""
    return build_change_outcome(
        task,
        kind=TASK,
        request=request,
        changed=serialization.PROJECT_FIELDS,
        message=f"Moved {quote_name(task.title)}{subtask_note} to the project {quote_name(task.project_name)}.",
        warnings=warnings,
    )
