"""Move the dates of many tasks by some days."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import cast
from uuid import UUID
from zoneinfo import ZoneInfo

from core.handler_contract import (
    ArgumentError,
    Forbidden,
    InvalidArgs,
    NotFound,
    OpOutcome,
    OpRequest,
    build_invalid_args,
)
from workspace.entity_types import TASK
from workspace.handlers.generic import generic_reads
from workspace.models import EntityQuerySet, Task, TaskState
from workspace.services import access
from workspace.services.calendar import task_events
from workspace.services.entities.serialization import quote_name
from workspace.services.time import times

MAX_TASKS = 200
MAX_SHOWN = 50  # rows in the answer
MAX_NAMED = 20  # ids in an error
DATE_COLUMNS = ("start_at", "due_at", "recurrence_until")
SKIP = "skip"  # a value of recurring
FILTERS = ("task_ids", "project_id", "state_key", "due_after", "due_before", "overdue")


def shift_tasks(request: OpRequest) -> OpOutcome:
    """Move the dates of the chosen tasks by some days, all or none; local times stay the same.

    Done tasks do not move, unless they are requested by state or id.
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
            changed_ids=(),
        )
    zone = access.get_zone(request.subject)
    for task in tasks:
        _shift(task, days, zone)
        task.updated_at = request.at
    Task.objects.bulk_update(tasks, [*DATE_COLUMNS, "updated_at"], batch_size=100)
    task_events.sync_events(tasks, by=request.subject, at=request.at)
    return OpOutcome(
        result={
            "tasks": [_serialize(task, zone) for task in tasks[:MAX_SHOWN]],
            "total": len(tasks),
            "message": _build_message(tasks, days) + generic_reads.describe_bounds(request, TASK),
        },
        warnings=warnings,
        changed_ids=tuple(str(task.pk) for task in tasks),
    )


def _lock_tasks(request: OpRequest) -> tuple[list[Task], tuple[str, ...]]:
    """Return the chosen tasks with a date, earliest first and locked, and a warning if some cannot be changed."""
    queryset = _choose_tasks(request).exclude(start_at=None, due_at=None)
    tasks = cast("list[Task]", list(_lock(queryset)[: MAX_TASKS + 1]))
    if len(tasks) > MAX_TASKS:
        raise _build_too_many_error(queryset, days=request.args["days"], zone=access.get_zone(request.subject))
    changeable = [task for task in tasks if _may_change(task)]
    left_out = len(tasks) - len(changeable)
    return changeable, (_describe_left_out(left_out),) if left_out else ()


def _choose_tasks(request: OpRequest) -> EntityQuerySet[Task]:
    """Return the tasks that match every filter, without done ones unless state_key or task_ids ask for them."""
    # overdue: false means that it does not matter, not that overdue tasks stay.
    args = {name: value for name, value in request.args.items() if name != "overdue" or value}
    if not any(args.get(name) not in (None, []) for name in FILTERS):
        message = f"Say which tasks: send one or more of {', '.join(FILTERS)}."
        raise build_invalid_args([ArgumentError(path="", code="no_filter", message=message)])
    if project_id := args.get("project_id"):
        access.require_project(subject=request.subject, id=project_id)
    queryset = generic_reads.filter_rows(replace(request, args=args), TASK)
    if args.get("recurring") == SKIP:
        queryset = queryset.filter(recurrence="")
    if "task_ids" in args:
        ids = [UUID(id) for id in args["task_ids"]]
        queryset = queryset.filter(pk__in=ids)
        _check_ids(ids, list(queryset), request)
    elif not args.get("state_key"):
        queryset = queryset.exclude(state_key=TaskState.DONE)
    return queryset


def _check_ids(ids: Sequence[UUID], tasks: Sequence[Task], request: OpRequest) -> None:
    """Raise an error unless all ids are of tasks that match and that the subject can change.

    NotFound if the subject cannot see one, InvalidArgs if another filter leaves one out, Forbidden.
    """
    missing = set(ids) - {task.pk for task in tasks}
    if missing:
        rows = TASK.get_rows().visible_to(request.subject).filter(pk__in=missing)
        projects: dict[UUID, UUID] = dict(rows.values_list("pk", "project_id"))
        unknown = [index for index, id in enumerate(ids) if id in missing and id not in projects]
        errors = [*_describe_unknown(unknown), *_describe_unmatched(projects, request.args.get("project_id"))]
        if not unknown:
            raise build_invalid_args(errors)
        what = "1 of task_ids is not a task" if len(unknown) == 1 else f"{len(unknown)} of task_ids are not tasks"
        raise NotFound(f"{what} that you can see; field_errors says which.", field_errors=errors)
    if refused := [task for task in tasks if not _may_change(task)]:
        message = (
            f"You can see {len(refused)} of task_ids but not change them; ask an owner or editor of their projects."
        )
        raise Forbidden(message, reason="viewer_may_not_change")


def _describe_unknown(indexes: Sequence[int]) -> Iterator[ArgumentError]:
    message = "No task that you can see has this id; find it with onto.task.list."
    for index in indexes[:MAX_NAMED]:
        yield ArgumentError(f"/task_ids/{index}", NotFound.reason, message)


def _describe_unmatched(projects: dict[UUID, UUID], project_id: str | None) -> Iterator[ArgumentError]:
    """Yield errors for ids of visible tasks that a filter leaves out. `projects` has the project of each."""
    elsewhere = [id for id, project in projects.items() if project_id and project != UUID(project_id)]
    if elsewhere:
        message = f"Not in the project of project_id: {_list_ids(elsewhere)}. Leave out project_id, or these ids."
        yield ArgumentError("/task_ids", "other_project", message)
    if others := projects.keys() - set(elsewhere):
        message = f"The other filters leave these out: {_list_ids(others)}. Leave out the filters, or these ids."
        yield ArgumentError("/task_ids", "no_match", message)


def _list_ids(ids: Collection[UUID]) -> str:
    shown = sorted(str(id) for id in ids)[:MAX_NAMED]
    return ", ".join(shown) + (f" and {len(ids) - len(shown)} more" if len(ids) > len(shown) else "")


def _may_change(task: Task) -> bool:
    return access.check_change(role=task.subject_role).allowed


def _lock(queryset: EntityQuerySet[Task]) -> EntityQuerySet[Task]:
    return queryset.with_context().select_for_update(of=("self",), no_key=True).order_by("due_at", "start_at", "pk")


def _build_too_many_error(queryset: EntityQuerySet[Task], *, days: int, zone: ZoneInfo) -> InvalidArgs:
    """Return an error that says how to split the call so that no task moves twice."""
    advice = "Make one call per project_id or per state_key, or send task_ids, each once, so that no task moves twice."
    cut = _find_cut(queryset, days)
    if cut is not None:
        when = times.format_time(cut, zone=zone)
        first, then = ("due_after", "due_before") if days > 0 else ("due_before", "due_after")
        advice = (
            f"In this order no task moves twice: first this call with {first} {when}, "
            f"then this call with {then} {when} instead."
        )
        if dateless := queryset.filter(due_at=None).count():
            advice += f" {dateless} of them have no due_at, so neither call moves them; send their task_ids, each once."
    return build_invalid_args(
        [ArgumentError(path="", code="too_many", message=f"More than {MAX_TASKS} tasks match. {advice}")]
    )


def _find_cut(queryset: EntityQuerySet[Task], days: int) -> datetime | None:
    """Return a due date that splits the tasks so that the part to move first has at most MAX_TASKS.

    That is the later part if the tasks move to later dates: a moved task must not fall into the part that follows.
    None if too many of them are due at the same time, or none has a due date.
    """
    order = "-due_at" if days > 0 else "due_at"
    rows = queryset.exclude(due_at=None).order_by(order).values_list("due_at", flat=True)
    dues = cast("list[datetime]", list(rows[: MAX_TASKS + 1]))
    if not dues or (len(dues) > MAX_TASKS and dues[0] == dues[-1]):
        return None
    is_first_part_full = days > 0 and len(dues) > MAX_TASKS  # the last one is in the other part
    return min(due for due in dues if due > dues[-1]) if is_first_part_full else dues[-1]


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
    if task.start_at and task.due_at:
        # Two local times can change their order where the clocks change: of 2:30 and 3:15, the first becomes 3:30.
        task.due_at = max(task.due_at, task.start_at)


def _serialize(task: Task, zone: ZoneInfo) -> dict[str, str]:
    dates = {name: moment for name in ("start_at", "due_at") if (moment := getattr(task, name))}
    shown = {name: times.format_time(moment, zone=zone) for name, moment in dates.items()}
    return {"id": str(task.pk), "title": task.title, **shown}


def _build_message(tasks: list[Task], days: int) -> str:
    count = "1 task" if len(tasks) == 1 else f"{len(tasks)} tasks"
    way = f"{abs(days)} day{'' if abs(days) == 1 else 's'} {'later' if days > 0 else 'earlier'}"
    message = f"Moved the dates of {count} {way}; tasks has the new ones."
    message += " Milestones, plans and other events keep theirs."  # than those of the tasks
    recurring = sum(1 for task in tasks if task.recurrence)
    if recurring:
        message += f" {recurring} of them recur{'s' if recurring == 1 else ''}, so all later occurrences also move."
    if len(tasks) > MAX_SHOWN:
        message += f" Only the first {MAX_SHOWN} are shown."
    return message


def _describe_left_out(count: int) -> str:
    tasks = "1 task is" if count == 1 else f"{count} tasks are"
    return f"{tasks} left out: you can see but not change them; ask an owner or editor of their projects."
