"""Ops on one calendar event, and on the task whose dates it shows."""

import copy
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, cast
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db import transaction

from core.handler_contract import ArgumentError, OpOutcome, OpRequest, build_invalid_args
from workspace.entity_types import EVENT, TASK
from workspace.handlers.generic.generic_writes import UNCHANGED
from workspace.models import CalendarEvent, Project, Task, TaskEventKind
from workspace.services import access
from workspace.services.access import NamedRow
from workspace.services.calendar import (
    attendees,
    event_list,
    event_times,
    events,
    free_time,
    series,
    series_scope,
    task_events,
    task_series,
)
from workspace.services.calendar.series import SeriesPart
from workspace.services.entities import changes, serialization
from workspace.services.entities.serialization import quote_name
from workspace.services.time import times
from workspace.services.time.times import LocalTimeParser

# For an event that shows a task's dates: fields that belong to the task, and its own fields besides the times.
TASK_FIELDS = ("title", *series.RECURRENCE_FIELDS)
OWN_FIELDS = ("description", "location", "attendees", "time_zone", "updated_at")

TIME_FIELDS = frozenset({"start_at", "end_at", "recurrence", "time_zone"})  # when they change, overlaps are searched

MERGED_WARNING = "The task's start and due date are now within 10 hours, so this one event shows both."


def get_event(request: OpRequest) -> OpOutcome:
    """Return the complete event. Raises NotFound."""
    events.refuse_external_calendar(request.args.get("calendar_id"))
    event = events.get_visible_event(subject=request.subject, id=request.args["event_id"])
    return _build_outcome(event, zone=times.from_request(request).zone, message="The complete event.")


def create_event(request: OpRequest) -> OpOutcome:
    """Create an event in the user's own or a project's calendar.

    Raises NotFound, Forbidden, StateConflict, InvalidArgs.
    """
    events.refuse_external_calendar(request.args.get("calendar_id"))
    clock = times.from_request(request)
    event = CalendarEvent(
        created_by=request.subject, created_at=request.at, updated_at=request.at, time_zone=clock.zone.key
    )
    calendar_warnings = _assign_calendar(event, request)
    _assign_fields(event, request, clock)
    event.save(force_insert=True)
    event.project_name = event.project.name if event.project else None
    where = "the project's calendar" if event.project else "the user's own calendar"
    overlaps = free_time.find_overlaps_of_event(event, zone=clock.zone, subject=request.subject, at=request.at)
    sent = [
        name for name in ("location", "attendees", "time_zone", *series.RECURRENCE_FIELDS) if request.args.get(name)
    ]
    return _build_change_outcome(
        event,
        request,
        clock,
        changed=("start_at", "end_at", *sent),
        message=f"Created the event {quote_name(event.title)} in {where}.{overlaps.note}",
        warnings=(*clock.warnings, *calendar_warnings, *overlaps.warnings),
    )


def update_event(request: OpRequest) -> OpOutcome:
    """Update the fields that were sent. If the event shows a task's dates, also update the task.

    Raises NotFound, Forbidden, StateConflict, InvalidArgs.
    """
    events.refuse_external_calendar(request.args.get("calendar_id"))
    clock = times.from_request(request)
    event, task = events.lock_changeable_event(subject=request.subject, id=request.args["event_id"])
    before = events.serialize_event(event, zone=clock.zone)
    if task:
        _refuse_task_fields(request.args)
    series_scope.require_scope_to_move(event, request.args, clock, at=request.at)
    if part := series.parse_part(event, request.args, clock, at=request.at):
        update = partial(_update_task_part, task) if task else _update_part
        return update(event, part, request, clock)
    _assign_fields(event, request, clock)
    if events.serialize_event(event, zone=clock.zone) == before:
        message = "Nothing changed: the event already has these values."
        return _build_change_outcome(
            event, request, clock, changed=(), message=message, warnings=(*clock.warnings, UNCHANGED)
        )
    event.updated_at = request.at
    event.save(update_fields=OWN_FIELDS if task else None)
    warnings, dates = tuple(clock.warnings), dict[str, Any]()
    if task:
        dates = _get_changed_dates(event, task)
        current_event = _update_task(event, task, dates, request)
        warnings += (MERGED_WARNING,) if current_event.pk != event.pk else ()
        event = current_event
    after = events.serialize_event(event, zone=clock.zone)
    changed = [name for name in after if after[name] != before[name] and name not in ("id", "props", "updated_at")]
    message = f"Changed {quote_name(event.title)}: {changes.describe_changes(before, after, changed)}."
    if event.recurrence:
        message += " It recurs, so all its occurrences changed"
        is_moved = not {"start_at", "end_at"}.isdisjoint(changed)
        message += f"; the first is {after['start_at']}." if is_moved else "."
    if task and dates:
        message += f" Also changed {' and '.join(dates)} of its task {quote_name(task.title)}."
    if not TIME_FIELDS.isdisjoint(changed):
        overlaps = free_time.find_overlaps_of_event(event, zone=clock.zone, subject=request.subject, at=request.at)
        message, warnings = message + overlaps.note, (*warnings, *overlaps.warnings)
    return _build_change_outcome(event, request, clock, changed=changed, message=message, warnings=warnings)


def delete_event(request: OpRequest) -> OpOutcome:
    """Mark the event as deleted, or clear the task dates that it shows. Raises NotFound, Forbidden, StateConflict."""
    events.refuse_external_calendar(request.args.get("calendar_id"))
    clock = times.from_request(request)
    event, task = events.lock_changeable_event(subject=request.subject, id=request.args["event_id"])
    series_scope.require_scope_to_delete(event, request.args, clock, at=request.at)
    if part := series.parse_part(event, request.args, clock, at=request.at):
        is_left = True
        if task:
            is_left = task_series.remove_part(task, event, part, by=request.subject, at=request.at)
        else:
            series.remove_part(event, part, at=request.at)
        message = part.describe_removal(event.title, clock.zone, is_left=is_left)
    elif task:
        dates = task_events.DATES_BY_KIND[TaskEventKind(event.task_event_kind)]
        _set_task_dates(task, dict.fromkeys(dates), request)
        message = f"Deleted the event {quote_name(event.title)} and cleared {' and '.join(dates)} of its task"
        message += f" {quote_name(task.title)}."
    else:
        event.deleted_at = request.at
        event.save(update_fields=["deleted_at"])
        repeats = " and all its repeats" if event.recurrence else ""
        message = f"Deleted the event {quote_name(event.title)}{repeats}; ops no longer find it."
    id = str(event.pk)
    return _add_sync_state(
        OpOutcome(result={"event": {"id": id}, "message": message}, entity_id=id, entity_name=event.title), request
    )


def _update_part(event: CalendarEvent, part: SeriesPart, request: OpRequest, clock: LocalTimeParser) -> OpOutcome:
    """Make a part of a recurring event a separate event, with the fields that were sent."""
    if not part.following:
        series.refuse_recurrence(request.args)
    new = series.build_event(event, part, by=request.subject, at=request.at)
    before = events.serialize_event(new, zone=clock.zone)
    _assign_fields(new, request, clock)
    after = events.serialize_event(new, zone=clock.zone)
    if after == before:
        message = "Nothing changed: it already has these values."
        return _build_change_outcome(
            event, request, clock, changed=(), message=message, warnings=(*clock.warnings, UNCHANGED)
        )
    series.remove_part(event, part, at=request.at)
    new.save(force_insert=True)
    changed = [name for name in after if after[name] != before.get(name) and name != "props"]
    described = changes.describe_changes(before, after, changed)
    overlaps = free_time.find_overlaps_of_event(new, zone=clock.zone, subject=request.subject, at=request.at)
    message = part.describe_split(event.title, clock.zone, f"the event {new.pk}")
    message += f" Changed {described}.{overlaps.note}"
    warnings = (*clock.warnings, *overlaps.warnings)
    outcome = _build_change_outcome(new, request, clock, changed=changed, message=message, warnings=warnings)
    return replace(outcome, changed_ids=(str(event.pk), str(new.pk)))


def _update_task_part(
    task: Task, event: CalendarEvent, part: SeriesPart, request: OpRequest, clock: LocalTimeParser
) -> OpOutcome:
    """Make a part of a recurring task a separate task, and update its event."""
    with transaction.atomic():
        new, is_left = task_series.split_off(task, event, part, by=request.subject, at=request.at)
        new_events = {each.task_event_kind: each for each in task_events.filter_task_events(new).order_by("-start_at")}
        # Where a month lacks the days, the start and the due date may be one event.
        new_event = new_events.get(event.task_event_kind) or next(iter(new_events.values()))
        args = {name: value for name, value in request.args.items() if name not in series.ARGUMENTS}
        outcome = update_event(replace(request, args=args | {"event_id": str(new_event.pk)}))
        if UNCHANGED in outcome.warnings:
            transaction.set_rollback(True)
    message, warnings = outcome.result["message"], outcome.warnings
    if UNCHANGED in warnings:
        return _build_change_outcome(event, request, clock, changed=(), message=message, warnings=warnings)
    split = part.describe_split(task.title, clock.zone, f"the task {new.pk}", is_left=is_left)
    ids = (str(event.pk), str(new_event.pk))
    return replace(outcome, result=outcome.result | {"message": f"{split} {message}"}, changed_ids=ids)


def _assign_calendar(event: CalendarEvent, request: OpRequest) -> tuple[str, ...]:
    """Put a new event into its calendar and return the warnings. Raises NotFound, Forbidden, InvalidArgs."""
    args = request.args
    if "task_id" in args:
        event.task = task = _lock_task(request)
        event.project = Project.objects.get(pk=task.project_id)
        if args.get("project_id") and UUID(args["project_id"]) != task.project_id:
            access.require_project(subject=request.subject, id=args["project_id"])
            return ("Ignored project_id: the event is in the project of its task.",)
        return ()
    scope = event_list.parse_scope(args)
    if scope.project_id is not None:
        event.project = access.get_changeable_project(subject=request.subject, id=scope.project_id)
    else:
        event.subject = request.subject
    return scope.warnings


def _lock_task(request: OpRequest) -> Task:
    """Lock and return the task that the new event is for. Raises NotFound, Forbidden, InvalidArgs."""
    if request.args.get("calendar_scope", event_list.PROJECT) != event_list.PROJECT or "calendar_id" in request.args:
        message = "A task's event is in its project's calendar; leave out calendar_scope and calendar_id."
        raise build_invalid_args([ArgumentError(path="/task_id", code="other_calendar", message=message)])
    reference = NamedRow(TASK.name, UUID(request.args["task_id"]), TASK.id_argument)
    return cast("Task", access.lock_named_rows([reference], subject=request.subject)[0])


def _assign_fields(event: CalendarEvent, request: OpRequest, clock: LocalTimeParser) -> None:
    """Set the fields that were sent. Raises InvalidArgs with all errors."""
    sent = dict(request.args)
    if attendees.ARGUMENTS & sent.keys():
        sent["attendees"] = attendees.change_attendees(event.attendees, sent)
    before = copy.copy(event)
    clock.errors += changes.assign_fields(event, kind=EVENT, sent=sent, at=request.at)
    if "time_zone" in sent:
        event_times.change_zone(event, clock.zone)
    event_times.assign_times(event, sent, clock)
    clock.raise_errors()
    if event.excluded_starts:
        series.move_excluded_starts(event, before=before)


def _refuse_task_fields(args: Mapping[str, Any]) -> None:
    errors = [
        ArgumentError(
            path=f"/{name}",
            code="of_the_task",
            message=f"{name} belongs to the task whose dates this event shows; "
            f"change it with {TASK.get_op_path('update')}.",
        )
        for name in TASK_FIELDS
        if name in args
    ]
    if errors:
        raise build_invalid_args(errors)


def _get_changed_dates(event: CalendarEvent, task: Task) -> dict[str, datetime]:
    """Return the task dates that the event's new times change."""
    new_dates = task_events.get_task_dates(event, cast("datetime", event.start_at), cast("datetime", event.end_at))
    return {name: moment for name, moment in new_dates.items() if moment != getattr(task, name)}


def _update_task(event: CalendarEvent, task: Task, dates: Mapping[str, datetime], request: OpRequest) -> CalendarEvent:
    """Set the dates of the task and return the event that now shows them, which may be a different one."""
    if dates:
        _set_task_dates(task, dates, request)
    elif task.skipped_occurrences:  # they depend on the event's time zone
        task_events.sync_events([task], by=request.subject, at=request.at)
    queryset = CalendarEvent.objects.visible_to(request.subject).with_context().filter(task=task)
    current_event = queryset.filter(pk=event.pk).first() or queryset.exclude(task_event_kind="").first()
    if current_event is None:
        message = "The task was done by then; reopen it with onto.task.update, then move its event."
        raise build_invalid_args([ArgumentError(path="/start_at", code="after_it_was_done", message=message)])
    return current_event


def _set_task_dates(task: Task, dates: Mapping[str, datetime | None], request: OpRequest) -> None:
    """Set dates of a locked task with its usual checks and sync its events. Raises InvalidArgs."""
    sent = {name: moment and times.format_time(moment) for name, moment in dates.items()}
    path = "/start_at" if "start_at" in request.args else "/end_at"
    if errors := changes.assign_fields(task, kind=TASK, sent=sent, at=request.at):
        message = "The task would be due before it starts; send another time, or change both with onto.task.update."
        raise build_invalid_args([ArgumentError(path=path, code=errors[0].code, message=message)])
    if errors := task_events.check_recurrence_end(task, sent):
        message = "The task's recurrence ends before that; send an earlier time, or a later recurrence_until with "
        raise build_invalid_args(
            [ArgumentError(path=path, code=errors[0].code, message=f"{message}{TASK.get_op_path('update')} first.")]
        )
    task.updated_at = request.at
    task.save(update_fields=[*dates, "updated_at"])
    task_events.sync_events([task], by=request.subject, at=request.at)


def _build_outcome(event: CalendarEvent, *, zone: ZoneInfo, message: str) -> OpOutcome:
    result = {"event": events.serialize_event(event, zone=zone), "message": message}
    return OpOutcome(result=result, entity_id=str(event.pk), entity_name=event.title)


def _build_change_outcome(
    event: CalendarEvent,
    request: OpRequest,
    clock: LocalTimeParser,
    *,
    changed: Collection[str],
    message: str,
    warnings: tuple[str, ...],
) -> OpOutcome:
    """Build the outcome of an update: id, title and what changed, or only the id and the fields that it asked for."""
    outcome = _build_outcome(event, zone=clock.zone, message=message)
    asked = serialization.choose_fields(request.args, events.FIELDS)
    shown = {"id", *(asked or {"title", *changed} - set(EVENT.long_texts))}
    row = {name: value for name, value in outcome.result["event"].items() if name in shown}
    return _add_sync_state(replace(outcome, result=outcome.result | {"event": row}, warnings=warnings), request)


def _add_sync_state(outcome: OpOutcome, request: OpRequest) -> OpOutcome:
    """Add the state of the external calendar copy if sync was requested. A missing sync never fails a write."""
    if not request.args.get("sync_to_calendar"):
        return outcome
    return replace(outcome, result=outcome.result | {"sync": events.NOT_CONNECTED})
