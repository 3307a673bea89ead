"""Scheduling a task: when it is worked on, for how long and how often."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, cast

from core.handler_contract import OpOutcome, OpRequest, StateConflict
from workspace.entity_types import TASK
from workspace.handlers.generic.generic_writes import UNCHANGED
from workspace.handlers.generic.row_outcomes import build_change_outcome
from workspace.models import CalendarEvent, Task, TaskEventKind, TaskState
from workspace.models.calendar_event import LATEST
from workspace.models.working_week import WEEKDAYS
from workspace.services import access
from workspace.services.calendar import event_list, event_times, events, free_time, task_events
from workspace.services.calendar.event_list import Occurrence
from workspace.services.entities import changes, serialization
from workspace.services.entities.serialization import quote_name
from workspace.services.time import recurrence, times
from workspace.services.time.times import EXPECTED_LOCAL, LocalTimeParser

COLUMN_ARGUMENTS = (
    "duration_minutes",
    "recurrence",
)  # set like any column; the times are parsed in the user's time zone
END_ARGUMENTS = ("recurrence_until", "recurrence_count")  # the two ways to end a recurrence


def schedule_task(request: OpRequest) -> OpOutcome:
    """Set when a task is worked on, for how long and how often, and update its events.

    Raises NotFound, Forbidden, InvalidArgs, and StateConflict for a task that is done.
    """
    task = cast("Task", access.lock_changeable_row(TASK, subject=request.subject, id=request.args["task_id"]))
    if task.state_key == TaskState.DONE:
        message = "The task is done; to schedule it, reopen it with onto.task.update and state_key todo."
        raise StateConflict(message, reason="task_done")
    before, clock = serialization.serialize_columns(task, kind=TASK), times.from_request(request)
    was_scheduled = task.is_scheduled
    _assign_schedule(task, request, clock)
    after = serialization.serialize_columns(task, kind=TASK)
    changed = [name for name in changes.get_changed_fields(before, after) if name in TASK.columns]
    is_new = bool(changed) or task.is_scheduled != was_scheduled
    if is_new:
        task.updated_at = request.at
        task.save(update_fields=[*changed, "is_scheduled", "updated_at"])
        # A recurring task repeats at the local time of the user who scheduled it.
        task_events.sync_events([task], by=request.subject, at=request.at, zone=clock.zone)
    return _build_outcome(task, request, clock, before if is_new else None)


def _assign_schedule(task: Task, request: OpRequest, clock: LocalTimeParser) -> None:
    """Set the fields that were sent and those derived from them. Raises InvalidArgs with all errors."""
    deadline = _find_deadline(task)
    sent = {name: value for name, value in request.args.items() if name in COLUMN_ARGUMENTS}
    clock.errors += changes.assign_fields(task, kind=TASK, sent=sent, at=request.at)
    start = clock.parse(request.args, "start_at")
    if start is not None:
        _set_times(task, cast("datetime", start), deadline, request.args, clock)
        _check_start(task, clock)
        _set_recurrence_end(task, request.args, clock)
    clock.raise_errors()


def _find_deadline(task: Task) -> datetime | None:
    """Return the due date, unless it is only the end of the time for which the task is scheduled."""
    if task.due_at and task.start_at and not task.is_scheduled:
        is_end = task.due_at == task.start_at + timedelta(minutes=task.duration_minutes)
        return None if is_end else task.due_at
    return task.due_at


def _set_times(
    task: Task, start: datetime, deadline: datetime | None, args: Mapping[str, Any], clock: LocalTimeParser
) -> None:
    """Set the start, and the due date: the one sent, else the deadline that it had, else the end of the work.

    A recurring task has a deadline for each time, so it moves with the start.
    """
    end = start + timedelta(minutes=task.duration_minutes)
    if "due_at" in args:
        deadline = cast("datetime | None", clock.parse(args, "due_at"))
    elif deadline and task.start_at and task.recurrence:
        deadline += start - task.start_at
    task.start_at, task.due_at = start, deadline or end
    task.is_scheduled = deadline is not None and end - start <= task_events.MAX_RANGE
    due = times.format_time(task.due_at, zone=clock.zone)
    if task.due_at < start and "due_at" in args:
        clock.add_error("due_at", "out_of_order", "due_at is before start_at; send a later due_at, or null for none.")
    elif task.due_at < start:
        message = f"The task is due {due}, before start_at; send an earlier start_at, or due_at to move the deadline."
        clock.add_error("start_at", "after_due", message)
    elif task.due_at < end:
        clock.warnings.append(f"The task is due {due}, before it ends.")


def _check_start(task: Task, clock: LocalTimeParser) -> None:
    if task.due_at and task.due_at > LATEST:
        clock.add_error(
            "start_at", "impossible_time", f"The task would end too far in the future; send {EXPECTED_LOCAL}."
        )
    day = cast("datetime", task.start_at).astimezone(clock.zone).date()
    event_times.refuse_weekend(task.recurrence, day, clock)


def _set_recurrence_end(task: Task, args: Mapping[str, Any], clock: LocalTimeParser) -> None:
    """Set when the recurrence ends, if that was sent, as a time or as a number of times."""
    start = cast("datetime", task.start_at)
    until, number = clock.parse(args, "recurrence_until"), args.get("recurrence_count")
    end_names = [name for name in END_ARGUMENTS if args.get(name) is not None]
    if end_names and not task.recurrence:
        message = f"{end_names[0]} is for a recurring task; also send recurrence, or leave out {end_names[0]}."
        clock.add_error(end_names[0], "no_recurrence", message)
    elif len(end_names) > 1:
        message = "recurrence_until and recurrence_count both end the recurrence; send only one."
        clock.add_error("recurrence_count", "two_ends", message)
    elif number is not None:
        task.recurrence_until = recurrence.get_nth_start(task.recurrence, first=start, zone=clock.zone, number=number)
    elif "recurrence_until" in args and not clock.errors:
        task.recurrence_until = until and event_times.to_end_moment(until, clock.zone)
    if task.recurrence_until and task.recurrence_until < start and not clock.errors:
        argument = "recurrence_until" if end_names else "start_at"
        clock.add_error(argument, "out_of_order", "start_at is after recurrence_until; send a later recurrence_until.")


def _build_outcome(
    task: Task, request: OpRequest, clock: LocalTimeParser, before: Mapping[str, Any] | None
) -> OpOutcome:
    """Return the outcome. `before` has the columns as they were, or is None if nothing changed."""
    start = cast("datetime", task.start_at)
    end = start + timedelta(minutes=task.duration_minutes)
    changed = _list_changed_fields(task, before) if before is not None else []
    overlaps = free_time.find_overlaps_of_task(task, zone=clock.zone, subject=request.subject, at=request.at)
    warnings = [*clock.warnings, *overlaps.warnings]
    if before is not None:
        message = f"Scheduled {quote_name(task.title)} for {_format_time(task, clock)}."
        message += _describe_changes(task, before, changed, clock)
    else:
        warnings.append(UNCHANGED)
        message = f"Nothing changed: {quote_name(task.title)} is already scheduled for {_format_time(task, clock)}."
    if task.is_scheduled:
        message += f" It is due {times.format_time(cast('datetime', task.due_at), zone=clock.zone)}."
    if end <= request.at and not task.recurrence:
        message += " That time is in the past."
    message += overlaps.note
    task_outcome = build_change_outcome(
        task, kind=TASK, request=request, changed=changed, message=message, warnings=tuple(warnings)
    )
    return replace(task_outcome, result=task_outcome.result | {"events": _list_events(task, clock)})


def _list_changed_fields(task: Task, before: Mapping[str, Any]) -> list[str]:
    after = serialization.serialize_columns(task, kind=TASK)
    return [name for name in changes.get_changed_fields(before, after) if name in TASK.fields]


def _describe_changes(task: Task, before: Mapping[str, Any], changed: Iterable[str], clock: LocalTimeParser) -> str:
    """Return the former values of the task that changed, with times in the zone of the call."""
    names = [name for name in changed if before[name] is not None]
    if not names:
        return ""
    after = serialization.serialize_columns(task, kind=TASK)
    text = f" Changed {changes.describe_changes(before, after, names, zone=clock.zone)}."
    return text + (" It recurs, so all its times moved." if task.recurrence and "start_at" in names else "")


def _format_time(task: Task, clock: LocalTimeParser) -> str:
    start = cast("datetime", task.start_at)
    end = start + timedelta(minutes=task.duration_minutes)
    day = WEEKDAYS[start.astimezone(clock.zone).weekday()].title()
    text = f"{day} {times.format_time(start, zone=clock.zone)} to {times.format_time(end, zone=clock.zone)}"
    text += f", {task.recurrence}" if task.recurrence else ""
    return text + (
        f" until {times.format_time(task.recurrence_until, zone=clock.zone)}" if task.recurrence_until else ""
    )


def _list_events(task: Task, clock: LocalTimeParser) -> list[dict[str, Any]]:
    """Return the events of the task's work in list form, each with its first occurrence.

    That of the deadline says what `due_at` of the task says. It is only there where no other is.
    """
    own = task_events.filter_task_events(task).order_by("start_at")
    own = own.exclude(task_event_kind=TaskEventKind.DUE) or own
    occurrences = [Occurrence(each.start_at, each.pk, each.end_at) for each in own if each.start_at and each.end_at]
    events_by_id: dict[Any, CalendarEvent] = event_list.load_events(occurrences)
    return [events.serialize_occurrence(events_by_id[each.id], each, zone=clock.zone) for each in occurrences]
