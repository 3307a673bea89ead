"""Moving the dates of many tasks by some days at once."""

from datetime import datetime, timedelta
from typing import cast
from zoneinfo import ZoneInfo

from workspace import policies
from workspace.contract import OpOutcome, OpRequest
from workspace.entity_types import TASK
from workspace.errors import ArgumentError, Forbidden, NotFound, build_invalid_args
from workspace.handlers.generic import generic_reads
from workspace.models import EntityQuerySet, Task, TaskState
from workspace.services.access import access, profiles
from workspace.services.calendar import task_events
from workspace.services.entities.names import quote_name
from workspace.services.time import times

MAX_TASKS = 200
MAX_SHOWN = 50  # rows in the answer
DATE_COLUMNS = ("start_at", "due_at", "recurrence_until")
FILTERS = ("task_ids", "project_id", "state_key", "due_after", "due_before", "overdue")


def shift_tasks(request: OpRequest) -> OpOutcome:
    """Move the dates of the chosen tasks by some days, all or none; local times stay the same.

    Done tasks stay as they are, unless they are asked for by state or id.
    Raises NotFound for project_id and unknown ids, Forbidden for ids, InvalidArgs.
    """
    days = request.args["days"]
    if days == 0:
        message = "days is 0, which moves nothing; send 1 or more for later, -1 or less for earlier."
        raise build_invalid_args([ArgumentError(path="/days", code="no_change", message=message)])
    tasks, warnings = _lock_tasks(request)
    if not tasks:
        return OpOutcome(
            result={"tasks": [], "total": 0, "message": "No task with a date matches, so nothing changed."},
            warnings=warnings,
        )
    zone = profiles.get_zone(request.subject)
    for task in tasks:
        _shift(task, days, zone)
        task.updated_at = request.at
    Task.objects.bulk_update(tasks, [*DATE_COLUMNS, "updated_at"], batch_size=100)
    task_events.sync_events(tasks, by=request.subject, at=request.at)
    return OpOutcome(
        result={
            "tasks": [_serialize(task, zone) for task in tasks[:MAX_SHOWN]],
            "total": len(tasks),
            "message": _build_message(tasks, days),
        },
        warnings=warnings,
    )


def _lock_tasks(request: OpRequest) -> tuple[list[Task], tuple[str, ...]]:
    """Return the chosen tasks with a date, earliest first and locked, and a warning if some cannot be changed."""
    if not any(request.args.get(name) not in (None, []) for name in FILTERS):
        message = f"Say which tasks: send one or more of {', '.join(FILTERS)}."
        raise build_invalid_args([ArgumentError(path="", code="no_filter", message=message)])
    if project_id := request.args.get("project_id"):
        access.require_project(subject=request.subject, id=project_id)
    queryset = generic_reads.filter_rows(request, TASK)
    ids = request.args.get("task_ids")
    if ids:
        queryset = queryset.filter(pk__in=ids)
        _check_ids(set(ids), list(queryset))
    elif not request.args.get("state_key"):
        queryset = queryset.exclude(state_key=TaskState.DONE)
    tasks = cast("list[Task]", list(_lock(queryset.exclude(start_at=None, due_at=None))[: MAX_TASKS + 1]))
    if len(tasks) > MAX_TASKS:
        message = f"More than {MAX_TASKS} tasks match. Narrow the filters, and move the rest with another call."
        raise build_invalid_args([ArgumentError(path="", code="too_many", message=message)])
    changeable = [task for task in tasks if _may_change(task)]
    left_out = len(tasks) - len(changeable)
    return changeable, (_describe_left_out(left_out),) if left_out else ()


def _check_ids(ids: set[str], tasks: list[Task]) -> None:
    """Raise NotFound or Forbidden unless the subject may change all tasks that were named."""
    if unknown := len(ids) - len(tasks):
        message = f"{unknown} of task_ids name no task that you can see and that matches; find ids with onto.task.list."
        raise NotFound(message)
    if refused := [task for task in tasks if not _may_change(task)]:
        message = (
            f"You can see {len(refused)} of task_ids but not change them; ask an owner or editor of their projects."
        )
        raise Forbidden(message, reason="viewer_may_not_change")


def _may_change(task: Task) -> bool:
    return policies.check_change(role=task.subject_role).allowed


def _lock(queryset: EntityQuerySet[Task]) -> EntityQuerySet[Task]:
    return queryset.with_context().select_for_update(of=("self",), no_key=True).order_by("due_at", "start_at", "pk")


def _shift(task: Task, days: int, zone: ZoneInfo) -> None:
    """Move a task's dates. The end of a recurrence moves along, so that it recurs as often as before."""
    for name in DATE_COLUMNS:
        moment: datetime | None = getattr(task, name)
        if moment is None:
            continue
        try:
            local = moment.astimezone(zone).replace(tzinfo=None) + timedelta(days=days)
            setattr(task, name, times.localize(local, zone))
        except (OverflowError, ValueError):
            message = f"{name} of {quote_name(task.title)} would be outside the years 1 to 9999; send fewer days."
            raise build_invalid_args([ArgumentError(path="/days", code="impossible_time", message=message)]) from None


def _serialize(task: Task, zone: ZoneInfo) -> dict[str, str]:
    dates = {name: moment for name in ("start_at", "due_at") if (moment := getattr(task, name))}
    shown = {name: times.format_time(moment, zone=zone) for name, moment in dates.items()}
    return {"id": str(task.pk), "title": task.title, **shown}


def _build_message(tasks: list[Task], days: int) -> str:
    count = "1 task" if len(tasks) == 1 else f"{len(tasks)} tasks"
    way = f"{abs(days)} day{'' if abs(days) == 1 else 's'} {'later' if days > 0 else 'earlier'}"
    message = f"Moved the dates of {count} {way}; tasks has the new ones."
    recurring = sum(1 for task in tasks if task.recurrence)
    if recurring:
        message += f" {recurring} of them recur{'s' if recurring == 1 else ''}, so all later ones move, too."
    if len(tasks) > MAX_SHOWN:
        message += f" Only the first {MAX_SHOWN} are shown."
    return message


def _describe_left_out(count: int) -> str:
    tasks = "1 task is" if count == 1 else f"{count} tasks are"
    return f"{tasks} left out: you can see but not change them; ask an owner or editor of their projects."
