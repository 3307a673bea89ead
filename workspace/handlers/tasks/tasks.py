"""Read, change and move tasks and their subtasks."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, cast
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db import transaction
from django.db.models import Q

from core.handler_contract import ArgumentError, OpOutcome, OpRequest, StateConflict, build_invalid_args
from workspace.entity_types import PROJECT, TASK
from workspace.handlers.generic import generic_reads, generic_writes
from workspace.handlers.generic.row_outcomes import build_change_outcome, build_cut_note
from workspace.models import CalendarEvent, Edge, Entity, Project, Task
from workspace.services import access
from workspace.services.calendar import series, series_scope, task_events, task_series
from workspace.services.calendar.series import SeriesPart
from workspace.services.documents import outline
from workspace.services.entities import pagination, serialization
from workspace.services.entities.serialization import quote_name
from workspace.services.time import times

MAX_SUBTASKS = 50
BY_PRIORITY = pagination.Listing.from_args(TASK, {"sort_by": "priority"})
SERIES_ENDED = "The task recurs, and no later occurrence remains."
SERIES_MOVED = (
    "The task recurs, so all later occurrences also move. To move only one, send scope this with its occurrence_start."
)
SERIES_CHANGED = "The task recurs, so all its occurrences changed."
PARENT_FIELDS = ("id", "title", "state_key")
SHARED_FIELDS = ("project_id", "project_name", "parent_task_id")  # of subtasks: the fields of the task say the same

# The project fields that include_project_context adds.
PROJECT_CONTEXT = ("id", "name", "state_key", "executive_summary", "context")


def move_task(request: OpRequest) -> OpOutcome:
    """Move a task with its subtasks, all or none. No link between two projects remains.

    The parent task and linked rows stay behind; links to them are removed with a warning.
    Raises NotFound and Forbidden for the task and for the project, StateConflict if the task has moved in the meantime,
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


def get_task(request: OpRequest) -> OpOutcome:
    """Return the complete task with its parent and, if requested, its first subtasks, links and project's context.

    Raises NotFound.
    """
    outcome = generic_reads.get_row(request, kind=TASK)
    if request.args.get("field") is not None:
        return outcome
    task: dict[str, Any] = dict(outcome.result["task"])
    message = outcome.result["message"]
    if parent := _find_parent(task, request):
        task["parent_task"] = parent
    if request.args.get("include_subtasks"):
        task["subtasks"], note = _list_subtasks(task, request)
        message += note
    if request.args.get("include_project_context"):
        context = _get_project_context(task, request)
        task["project_context"] = context.row
        message += build_cut_note(context, kind=PROJECT, place=" in project_context")
    return replace(outcome, result={"task": task, "message": message})


def update_task(request: OpRequest) -> OpOutcome:
    """Update a task, or with a scope one occurrence of it or one and all later ones, which become a separate task.

    Raises NotFound, Forbidden, InvalidArgs.
    """
    update = partial(generic_writes.update_row, kind=TASK, check=partial(_check_update, request), then=_finish_change)
    found = _find_part(request)
    args = {name: value for name, value in request.args.items() if name not in series.ARGUMENTS}
    if found is None:
        return update(replace(request, args=args))
    task, event, part, zone = found
    if not part.following:
        series.refuse_recurrence(args)
    with transaction.atomic():
        new, is_left = task_series.split_off(task, event, part, by=request.subject, at=request.at)
        outcome = update(replace(request, args=args | {"task_id": str(new.pk)}))
        if generic_writes.UNCHANGED in outcome.warnings:
            transaction.set_rollback(True)
    if generic_writes.UNCHANGED in outcome.warnings:
        row = access.get_visible_row(TASK, subject=request.subject, id=str(task.pk))
        message, warnings = outcome.result["message"], outcome.warnings
        return build_change_outcome(row, kind=TASK, request=request, changed=(), message=message, warnings=warnings)
    split = part.describe_split(task.title, zone, f"the task {new.pk}", is_left=is_left)
    result = outcome.result | {"message": f"{split} {outcome.result['message']}"}
    return replace(outcome, result=result, changed_ids=(str(task.pk), str(new.pk)))


def delete_task(request: OpRequest) -> OpOutcome:
    """Delete a task, or with a scope one occurrence of it or one and all later ones.

    Raises NotFound, Forbidden, InvalidArgs.
    """
    found = _find_part(request)
    if found is None:
        require = series_scope.require_scope_to_delete
        return generic_writes.delete_row(request, kind=TASK, check=partial(_require_scope, request, require=require))
    task, event, part, zone = found
    is_left = task_series.remove_part(task, event, part, by=request.subject, at=request.at)
    id, message = str(task.pk), part.describe_removal(task.title, zone, is_left=is_left)
    return OpOutcome(result={"task": {"id": id}, "message": message}, entity_id=id, entity_name=task.title)


def _finish_change(row: Entity, changed: Collection[str], /, *, by: str, at: datetime) -> tuple[str, ...]:
    """Update the events of a changed task. Warn if it recurs: all of it was changed, instead of one occurrence."""
    task_events.sync_after_change(row, changed, by=by, at=at)
    task = cast("Task", row)
    if not task.is_recurring:
        return ()
    if task.completed_at:
        return (SERIES_ENDED,) if "state_key" in changed else ()
    return (SERIES_MOVED,) if not {"start_at", "due_at"}.isdisjoint(changed) else (SERIES_CHANGED,)


def _check_update(request: OpRequest, row: Entity, sent: Mapping[str, Any]) -> list[ArgumentError]:
    """Return the errors of a changed task. Raise InvalidArgs if it is done, recurs, and the call has no scope."""
    errors = check_task(row, sent)
    if not errors and _is_being_finished(cast("Task", row)):
        _require_scope(request, row, series_scope.require_scope_to_finish)
    return errors


def _is_being_finished(task: Task) -> bool:
    """Return whether a recurring task, changed but not saved yet, is done now and was not before."""
    is_done = bool(task.recurrence and task.completed_at)
    return is_done and Task.objects.filter(pk=task.pk, completed_at=None).exists()


def _require_scope(request: OpRequest, row: Entity, require: Callable[..., None]) -> None:
    """Raise InvalidArgs if the task has occurrences, and the call does not say which ones it means."""
    task = cast("Task", row)
    if task.recurrence and (event := task_series.find_event(task)):
        require(event, request.args, times.from_request(request), at=request.at)


def _find_part(request: OpRequest) -> tuple[Task, CalendarEvent, SeriesPart, ZoneInfo] | None:
    """Return the part of a recurring task that a call is about, with the task and its event; None for all of it."""
    if request.args.get("scope", series.ALL) == series.ALL and request.args.get(series.ARGUMENT) is None:
        return None
    task = cast("Task", access.lock_changeable_row(TASK, subject=request.subject, id=request.args["task_id"]))
    event = task_series.find_event(task) if task.recurrence else None
    if task.recurrence and event is None:
        message = "The task has no start or due date, so it has no occurrences; leave out scope."
        if task.completed_at:
            message = "The task is done, so it has no occurrences; set its state back first, or leave out scope."
        raise build_invalid_args([ArgumentError(path="/scope", code="no_dates", message=message)])
    clock = times.from_request(request)
    part = series.parse_part(event, request.args, clock, at=request.at) if event else None
    return (task, event, part, clock.zone) if event and part else None


def check_task(row: Entity, sent: Mapping[str, Any]) -> list[ArgumentError]:
    """Return the errors that no single column can show: those of the parent task and the recurrence."""
    return check_parent_task(row, sent) + task_events.check_recurrence_end(row, sent)


def _find_parent(task: dict[str, Any], request: OpRequest) -> dict[str, Any] | None:
    """Return the parent task in brief; None if there is none, or it is deleted."""
    rows = TASK.get_rows().visible_to(request.subject).filter(pk=task["parent_task_id"])
    parent = rows.values(*PARENT_FIELDS).first() if task["parent_task_id"] else None
    return parent and parent | {"id": str(parent["id"])}


def _list_subtasks(task: dict[str, Any], request: OpRequest) -> tuple[list[dict[str, Any]], str]:
    """Return the whole subtasks, most urgent first, without empty fields, and what the message says about them.

    Their texts together have as many characters as those of the task itself may have.
    """
    queryset = TASK.get_rows().visible_to(request.subject).filter(parent_task=task["id"], project=task["project_id"])
    rows = pagination.list_first(queryset, listing=BY_PRIORITY, limit=MAX_SUBTASKS + 1, is_whole=True)
    remaining, subtasks, truncated_fields = generic_reads.get_max_chars(request), [], set[str]()
    for row in rows[:MAX_SUBTASKS]:
        whole = serialization.drop_empty(serialization.serialize_row(row, kind=TASK, at=request.at))
        excerpt = outline.truncate_row(serialization.leave_out(whole, SHARED_FIELDS), kind=TASK, max_chars=remaining)
        remaining -= sum(len(excerpt.row.get(name, "")) for name in TASK.long_texts)
        subtasks.append(excerpt.row)
        truncated_fields.update(excerpt.truncated_fields)
    note = ""
    if len(rows) > MAX_SUBTASKS:
        note += generic_reads.build_more_note(MAX_SUBTASKS, "subtasks", path=TASK.get_op_path("list"))
    cut = outline.Excerpt({}, tuple(name for name in TASK.long_texts if name in truncated_fields))
    return subtasks, note + build_cut_note(cut, kind=TASK, place=" in subtasks")


def _get_project_context(task: dict[str, Any], request: OpRequest) -> outline.Excerpt:
    """Return the context of the task's project, cut to the characters that the task's own texts leave."""
    project = access.get_visible_row(PROJECT, subject=request.subject, id=task["project_id"])
    columns = serialization.serialize_columns(project, kind=PROJECT)
    remaining = generic_reads.get_max_chars(request) - sum(len(task[name] or "") for name in TASK.long_texts)
    return outline.truncate_row({name: columns[name] for name in PROJECT_CONTEXT}, kind=PROJECT, max_chars=remaining)
