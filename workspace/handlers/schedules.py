"""Scheduling a task: when it is worked on, for how long and how often."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, cast

from workspace.contract import Outcome, Request
from workspace.errors import Conflict
from workspace.handlers.reads import outcome
from workspace.handlers.writes import UNCHANGED
from workspace.kinds import TASK
from workspace.models import CalendarEvent, Task, TaskState
from workspace.models.calendar_event import LATEST
from workspace.models.week import WEEKDAYS
from workspace.services import (
    access,
    agenda,
    changes,
    clashes,
    event_times,
    events,
    recurrence,
    rows,
    task_events,
    times,
    wallclock,
)
from workspace.services.agenda import Span, Time
from workspace.services.wallclock import EXPECTED, Wallclock

AS_SENT = ("duration_minutes", "recurrence")  # set like any column; the times are parsed in the user's time zone
ENDS = ("recurrence_until", "recurrence_count")  # the two ways to end a recurrence


def schedule(request: Request) -> Outcome:
    """Set when a task is worked on, for how long and how often, and update its events.

    Raises NotFound, Forbidden, Invalid, and Conflict for a task that is done.
    """
    task = cast("Task", access.changeable_row(TASK, subject=request.subject, id=request.args["task_id"]))
    if task.state_key == TaskState.DONE:
        message = "The task is done; to schedule it, reopen it with onto.task.update and state_key todo."
        raise Conflict(message, reason="task_done")
    before, clock = rows.columns(task, kind=TASK), wallclock.of(request)
    _plan(task, request, clock)
    after = rows.columns(task, kind=TASK)
    changed = [name for name in changes.changed(before, after) if name in TASK.columns]
    if changed:
        task.updated_at = request.at
        task.save(update_fields=[*changed, "updated_at"])
        task_events.sync([task], by=request.subject, at=request.at)
        # A recurring task repeats at the local time of the user who scheduled it.
        task_events.of(task).update(time_zone=clock.zone.key)
    return _told(task, request, clock, changed=bool(changed))


def _plan(task: Task, request: Request, clock: Wallclock) -> None:
    """Set the fields that were sent and those derived from them. Raises Invalid with all errors."""
    sent = {name: value for name, value in request.args.items() if name in AS_SENT}
    clock.errors += changes.assign(task, kind=TASK, sent=sent, at=request.at)
    start = clock.read(request.args, "start_at")
    if start is not None:
        task.start_at = cast("datetime", start)
        task.due_at = task.start_at + timedelta(minutes=task.duration_minutes)
        _check_start(task, clock)
        _set_end(task, request.args, clock)
    clock.check()


def _check_start(task: Task, clock: Wallclock) -> None:
    if task.due_at and task.due_at > LATEST:
        clock.refuse("start_at", "impossible_time", f"The task would end too far in the future; send {EXPECTED}.")
    day = cast("datetime", task.start_at).astimezone(clock.zone).date()
    event_times.refuse_weekend(task.recurrence, day, clock)


def _set_end(task: Task, args: Mapping[str, Any], clock: Wallclock) -> None:
    """Set when the recurrence ends, if that was sent, as a time or as a number of times."""
    start = cast("datetime", task.start_at)
    until, number = clock.read(args, "recurrence_until"), args.get("recurrence_count")
    named = [name for name in ENDS if args.get(name) is not None]
    if named and not task.recurrence:
        message = f"{named[0]} is for a recurring task; send recurrence too, or leave {named[0]} out."
        clock.refuse(named[0], "no_recurrence", message)
    elif len(named) > 1:
        message = "recurrence_until and recurrence_count both end the recurrence; send only one."
        clock.refuse("recurrence_count", "two_ends", message)
    elif number is not None:
        task.recurrence_until = recurrence.nth(task.recurrence, first=start, zone=clock.zone, number=number)
    elif "recurrence_until" in args and not clock.errors:
        task.recurrence_until = until and event_times.end_of(until, clock.zone)
    if task.recurrence_until and task.recurrence_until < start and not clock.errors:
        culprit = "recurrence_until" if named else "start_at"
        clock.refuse(culprit, "out_of_order", "start_at is after recurrence_until; send a later recurrence_until.")


def _told(task: Task, request: Request, clock: Wallclock, *, changed: bool) -> Outcome:
    start, end = cast("datetime", task.start_at), cast("datetime", task.due_at)
    since = max(start, request.at) if task.recurrence else start
    span = Span(since, since + clashes.AHEAD if task.recurrence else end, clock.zone)
    warnings = [*clock.warnings, *clashes.warnings(task, span, subject=request.subject)]
    said = f"Scheduled the task for {_when(task, clock)}."
    if not changed:
        warnings.append(UNCHANGED)
        said = f"Nothing changed: the task is already scheduled for {_when(task, clock)}."
    if end <= request.at and not task.recurrence:
        said += " That time is in the past."
    made = outcome(task, kind=TASK, at=request.at, message=said, warnings=tuple(warnings))
    return replace(made, result=made.result | {"events": _events(task, clock)})


def _when(task: Task, clock: Wallclock) -> str:
    start, end = cast("datetime", task.start_at), cast("datetime", task.due_at)
    day = WEEKDAYS[start.astimezone(clock.zone).weekday()].title()
    told = f"{day} {times.write(start, zone=clock.zone)} to {times.write(end, zone=clock.zone)}"
    told += f", {task.recurrence}" if task.recurrence else ""
    return told + (f" until {times.write(task.recurrence_until, zone=clock.zone)}" if task.recurrence_until else "")


def _events(task: Task, clock: Wallclock) -> list[dict[str, Any]]:
    """Return the task's events in list form, each with its first occurrence."""
    own = task_events.of(task).order_by("start_at").values_list("start_at", "pk", "end_at")
    shown = [Time(start, id, end) for start, id, end in own if start and end]
    found: dict[Any, CalendarEvent] = agenda.rows(shown)
    return [events.abbreviated(found[each.id], each, zone=clock.zone) for each in shown]
