"""Events as ops: one event of a calendar, and the task whose dates it shows."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, cast
from uuid import UUID
from zoneinfo import ZoneInfo

from workspace.contract import Outcome, Request
from workspace.errors import FieldError, invalid
from workspace.handlers.writes import UNCHANGED
from workspace.kinds import EVENT, TASK
from workspace.models import CalendarEvent, Project, Task, TaskEventKind
from workspace.services import access, changes, event_times, events, scopes, task_events, times, wallclock
from workspace.services.access import Named
from workspace.services.wallclock import Wallclock

# What an event that shows a task's dates has of the task, and what it has of its own beside the times.
OF_THE_TASK = ("title", "recurrence", "recurrence_until")
OWN = ("description", "location", "attendees", "time_zone", "updated_at")

MERGED = "The task's start and due date are within 10 hours now, so one event shows both: this one."


def get(request: Request) -> Outcome:
    """Answer the complete event. Raises NotFound."""
    events.refuse_external(request.args.get("calendar_id"))
    event = events.visible(subject=request.subject, id=request.args["event_id"])
    return _outcome(event, zone=wallclock.of(request).zone, message="The complete event.")


def create(request: Request) -> Outcome:
    """Add an event to the subject's own calendar or to a project's. Raises NotFound, Forbidden, Conflict, Invalid."""
    events.refuse_external(request.args.get("calendar_id"))
    clock = wallclock.of(request)
    event = CalendarEvent(
        created_by=request.subject, created_at=request.at, updated_at=request.at, time_zone=clock.zone.key
    )
    unused = _place(event, request)
    _assign(event, request, clock)
    event.save(force_insert=True)
    event.project_name = event.project.name if event.project else None
    where = "the project's calendar" if event.project else "the user's own calendar"
    made = _outcome(event, zone=clock.zone, message=f"Created the event in {where}.")
    return _synced(replace(made, warnings=(*clock.warnings, *unused)), request)


def update(request: Request) -> Outcome:
    """Set what was sent and no more; where the event shows dates of a task, the task's with it.

    Raises NotFound, Forbidden, Conflict, Invalid.
    """
    events.refuse_external(request.args.get("calendar_id"))
    clock = wallclock.of(request)
    event, task = events.changeable(subject=request.subject, id=request.args["event_id"])
    before = events.whole(event, zone=clock.zone)
    if task:
        _refuse_what_is_the_tasks(request.args)
    _assign(event, request, clock)
    if events.whole(event, zone=clock.zone) == before:
        made = _outcome(event, zone=clock.zone, message="Nothing changed: the event has these values already.")
        return _synced(replace(made, warnings=(*clock.warnings, UNCHANGED)), request)
    event.updated_at = request.at
    event.save(update_fields=OWN if task else None)
    warnings, dates = tuple(clock.warnings), dict[str, Any]()
    if task:
        dates = _changed_dates(event, task)
        shown = _follow(event, task, dates, request)
        warnings += (MERGED,) if shown.pk != event.pk else ()
        event = shown
    after = events.whole(event, zone=clock.zone)
    changed = [name for name in after if after[name] != before[name] and name not in ("id", "props", "updated_at")]
    told = f"Changed {', '.join(changed)}."
    if event.recurrence and not {"start_at", "end_at"}.isdisjoint(changed):
        told += f" It comes again, so all its times changed; the first is {after['start_at']}."
    told += f" Its task follows: changed {' and '.join(dates)} of the task." if dates else ""
    return _synced(replace(_outcome(event, zone=clock.zone, message=told), warnings=warnings), request)


def delete(request: Request) -> Outcome:
    """Mark the event deleted; where it shows dates of a task, clear these. Raises NotFound, Forbidden, Conflict."""
    events.refuse_external(request.args.get("calendar_id"))
    event, task = events.changeable(subject=request.subject, id=request.args["event_id"])
    if task:
        dates = task_events.DATES[TaskEventKind(event.task_event_kind)]
        _set_dates(task, dict.fromkeys(dates), request)
        message = f"Deleted the event, and cleared {' and '.join(dates)} of its task, which it showed."
    else:
        event.deleted_at = request.at
        event.save(update_fields=["deleted_at"])
        message = f"Deleted the event{' with all its times' if event.recurrence else ''}; no op finds it any more."
    id = str(event.pk)
    return _synced(
        Outcome(result={"event": {"id": id}, "message": message}, entity_id=id, entity_name=event.title), request
    )


def _place(event: CalendarEvent, request: Request) -> tuple[str, ...]:
    """Put a new event into its calendar and return what is to be said of it. Raises NotFound, Forbidden, Invalid."""
    args = request.args
    if "task_id" in args:
        event.task = task = _task(request)
        event.project = Project.objects.get(pk=task.project_id)
        if args.get("project_id") and UUID(args["project_id"]) != task.project_id:
            access.require_project(subject=request.subject, id=args["project_id"])
            return ("Did not use project_id: the event is in the project of its task.",)
        return ()
    scope = scopes.read(args)
    if scope.project_id is not None:
        event.project = access.changeable_project(subject=request.subject, id=scope.project_id)
    else:
        event.subject = request.subject
    return scope.warnings


def _task(request: Request) -> Task:
    """Return the task that a new event is time for, locked. Raises NotFound, Forbidden, Invalid."""
    if request.args.get("calendar_scope", scopes.PROJECT) != scopes.PROJECT or "calendar_id" in request.args:
        message = "An event of a task is in its project's calendar; leave out calendar_scope and calendar_id."
        raise invalid([FieldError(path="/task_id", code="other_calendar", message=message)])
    named = Named(TASK.name, UUID(request.args["task_id"]), TASK.id_argument)
    return cast("Task", access.named_rows([named], subject=request.subject)[0])


def _assign(event: CalendarEvent, request: Request, clock: Wallclock) -> None:
    """Set what was sent. Raises Invalid with all that is wrong with it."""
    sent = dict(request.args)
    if "attendees" in sent:  # as for all lists: an empty one is no change, and null clears it
        named = sent["attendees"]
        sent["attendees"] = [] if named is None else list(dict.fromkeys(named)) or event.attendees
    clock.errors += changes.assign(event, kind=EVENT, sent=sent, at=request.at)
    if "time_zone" in sent:
        event_times.change_zone(event, clock.zone)
    event_times.assign(event, sent, clock)
    clock.check()


def _refuse_what_is_the_tasks(args: Mapping[str, Any]) -> None:
    errors = [
        FieldError(
            path=f"/{name}",
            code="of_the_task",
            message=f"{name} is the task's, whose dates this event shows; change the task with {TASK.path('update')}.",
        )
        for name in OF_THE_TASK
        if name in args
    ]
    if errors:
        raise invalid(errors)


def _changed_dates(event: CalendarEvent, task: Task) -> dict[str, datetime]:
    """Return the dates of the task that are others now."""
    meant = task_events.meant(event, cast("datetime", event.start_at), cast("datetime", event.end_at))
    return {name: moment for name, moment in meant.items() if moment != getattr(task, name)}


def _follow(event: CalendarEvent, task: Task, dates: Mapping[str, datetime], request: Request) -> CalendarEvent:
    """Set the dates of the task and return the event that shows them now, which may be another one."""
    if dates:
        _set_dates(task, dates, request)
    shown = CalendarEvent.objects.visible_to(request.subject).with_context().filter(task=task)
    found = shown.filter(pk=event.pk).first() or shown.exclude(task_event_kind="").first()
    if found is None:
        message = "The task was done before; reopen it with onto.task.update, then move its event."
        raise invalid([FieldError(path="/start_at", code="after_it_was_done", message=message)])
    return found


def _set_dates(task: Task, dates: Mapping[str, datetime | None], request: Request) -> None:
    """Set dates of a locked task under its own checks, and its events with them. Raises Invalid."""
    sent = {name: moment and times.write(moment) for name, moment in dates.items()}
    path = "/start_at" if "start_at" in request.args else "/end_at"
    if errors := changes.assign(task, kind=TASK, sent=sent, at=request.at):
        message = "The task would be due before it starts; send another time, or change both with onto.task.update."
        raise invalid([FieldError(path=path, code=errors[0].code, message=message)])
    if errors := task_events.problems(task, sent):
        message = "The task does not come again that late; send an earlier time, or a later recurrence_until with "
        raise invalid([FieldError(path=path, code=errors[0].code, message=f"{message}{TASK.path('update')} first.")])
    task.updated_at = request.at
    task.save(update_fields=[*dates, "updated_at"])
    task_events.sync([task], by=request.subject, at=request.at)


def _outcome(event: CalendarEvent, *, zone: ZoneInfo, message: str) -> Outcome:
    result = {"event": events.whole(event, zone=zone), "message": message}
    return Outcome(result=result, entity_id=str(event.pk), entity_name=event.title)


def _synced(made: Outcome, request: Request) -> Outcome:
    """Tell how it stands with the copy in an external calendar, where one was asked for: it never fails a write."""
    if not request.args.get("sync_to_calendar"):
        return made
    return replace(made, result=made.result | {"sync": events.NOT_CONNECTED})
