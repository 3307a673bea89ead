"""Ops on one calendar event, and on the task whose dates it shows."""

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

# For an event that shows a task's dates: fields that belong to the task, and fields of its own besides the times.
OF_THE_TASK = ("title", "recurrence", "recurrence_until")
OWN = ("description", "location", "attendees", "time_zone", "updated_at")

MERGED = "The task's start and due date are now within 10 hours, so this one event shows both."


def get(request: Request) -> Outcome:
    """Return the complete event. Raises NotFound."""
    events.refuse_external(request.args.get("calendar_id"))
    event = events.visible(subject=request.subject, id=request.args["event_id"])
    return _outcome(event, zone=wallclock.of(request).zone, message="The complete event.")


def create(request: Request) -> Outcome:
    """Create an event in the user's own or a project's calendar. Raises NotFound, Forbidden, Conflict, Invalid."""
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
    """Update the fields that were sent. If the event shows a task's dates, update the task too.

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
        made = _outcome(event, zone=clock.zone, message="Nothing changed: the event already has these values.")
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
        told += f" The event recurs, so all its times changed; the first is {after['start_at']}."
    told += f" Also changed {' and '.join(dates)} of its task." if dates else ""
    return _synced(replace(_outcome(event, zone=clock.zone, message=told), warnings=warnings), request)


def delete(request: Request) -> Outcome:
    """Mark the event as deleted, or clear the task dates that it shows. Raises NotFound, Forbidden, Conflict."""
    events.refuse_external(request.args.get("calendar_id"))
    event, task = events.changeable(subject=request.subject, id=request.args["event_id"])
    if task:
        dates = task_events.DATES[TaskEventKind(event.task_event_kind)]
        _set_dates(task, dict.fromkeys(dates), request)
        message = f"Deleted the event and cleared {' and '.join(dates)} of its task."
    else:
        event.deleted_at = request.at
        event.save(update_fields=["deleted_at"])
        message = f"Deleted the event{' and all its repeats' if event.recurrence else ''}; ops no longer find it."
    id = str(event.pk)
    return _synced(
        Outcome(result={"event": {"id": id}, "message": message}, entity_id=id, entity_name=event.title), request
    )


def _place(event: CalendarEvent, request: Request) -> tuple[str, ...]:
    """Put a new event into its calendar and return the warnings. Raises NotFound, Forbidden, Invalid."""
    args = request.args
    if "task_id" in args:
        event.task = task = _task(request)
        event.project = Project.objects.get(pk=task.project_id)
        if args.get("project_id") and UUID(args["project_id"]) != task.project_id:
            access.require_project(subject=request.subject, id=args["project_id"])
            return ("Ignored project_id: the event is in the project of its task.",)
        return ()
    scope = scopes.read(args)
    if scope.project_id is not None:
        event.project = access.changeable_project(subject=request.subject, id=scope.project_id)
    else:
        event.subject = request.subject
    return scope.warnings


def _task(request: Request) -> Task:
    """Lock and return the task that the new event is for. Raises NotFound, Forbidden, Invalid."""
    if request.args.get("calendar_scope", scopes.PROJECT) != scopes.PROJECT or "calendar_id" in request.args:
        message = "A task's event is in its project's calendar; leave out calendar_scope and calendar_id."
        raise invalid([FieldError(path="/task_id", code="other_calendar", message=message)])
    named = Named(TASK.name, UUID(request.args["task_id"]), TASK.id_argument)
    return cast("Task", access.named_rows([named], subject=request.subject)[0])


def _assign(event: CalendarEvent, request: Request, clock: Wallclock) -> None:
    """Set the fields that were sent. Raises Invalid with all errors."""
    sent = dict(request.args)
    if "attendees" in sent:  # as for all list arguments: an empty list changes nothing, null clears it
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
            message=f"{name} belongs to the task whose dates this event shows; change it with {TASK.path('update')}.",
        )
        for name in OF_THE_TASK
        if name in args
    ]
    if errors:
        raise invalid(errors)


def _changed_dates(event: CalendarEvent, task: Task) -> dict[str, datetime]:
    """Return the task dates that the event's new times change."""
    meant = task_events.meant(event, cast("datetime", event.start_at), cast("datetime", event.end_at))
    return {name: moment for name, moment in meant.items() if moment != getattr(task, name)}


def _follow(event: CalendarEvent, task: Task, dates: Mapping[str, datetime], request: Request) -> CalendarEvent:
    """Set the dates of the task and return the event that now shows them, which may be a different one."""
    if dates:
        _set_dates(task, dates, request)
    shown = CalendarEvent.objects.visible_to(request.subject).with_context().filter(task=task)
    found = shown.filter(pk=event.pk).first() or shown.exclude(task_event_kind="").first()
    if found is None:
        message = "The task was done by then; reopen it with onto.task.update, then move its event."
        raise invalid([FieldError(path="/start_at", code="after_it_was_done", message=message)])
    return found


def _set_dates(task: Task, dates: Mapping[str, datetime | None], request: Request) -> None:
    """Set dates of a locked task with its usual checks and sync its events. Raises Invalid."""
    sent = {name: moment and times.write(moment) for name, moment in dates.items()}
    path = "/start_at" if "start_at" in request.args else "/end_at"
    if errors := changes.assign(task, kind=TASK, sent=sent, at=request.at):
        message = "The task would be due before it starts; send another time, or change both with onto.task.update."
        raise invalid([FieldError(path=path, code=errors[0].code, message=message)])
    if errors := task_events.problems(task, sent):
        message = "The task's recurrence ends before that; send an earlier time, or a later recurrence_until with "
        raise invalid([FieldError(path=path, code=errors[0].code, message=f"{message}{TASK.path('update')} first.")])
    task.updated_at = request.at
    task.save(update_fields=[*dates, "updated_at"])
    task_events.sync([task], by=request.subject, at=request.at)


def _outcome(event: CalendarEvent, *, zone: ZoneInfo, message: str) -> Outcome:
    result = {"event": events.whole(event, zone=zone), "message": message}
    return Outcome(result=result, entity_id=str(event.pk), entity_name=event.title)


def _synced(made: Outcome, request: Request) -> Outcome:
    """Add the state of the external calendar copy if sync was requested. A missing sync never fails a write."""
    if not request.args.get("sync_to_calendar"):
        return made
    return replace(made, result=made.result | {"sync": events.NOT_CONNECTED})
