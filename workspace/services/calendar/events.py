"""Access to calendar events, and events as JSON values."""

from collections.abc import Callable, Collection
from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo

from core.handler_contract import NotFound, StateConflict
from workspace.entity_types import EVENT
from workspace.models import CalendarEvent, Task, TaskEventKind
from workspace.services import access
from workspace.services.calendar.event_list import Occurrence
from workspace.services.calendar.task_events import TITLE_PREFIXES
from workspace.services.entities import serialization
from workspace.services.time import times

PRIMARY_CALENDAR = "primary"  # the calendar_id of the subject's own calendar

# The synchronisation status of an event with an external calendar.
NOT_CONNECTED = {
    "state": "not_connected",
    "message": "No external calendar is connected, so nothing was copied to one. The change was made here.",
}
# The fields of a complete event.
FIELDS = (
    "id",
    "title",
    "start_at",
    "end_at",
    "is_all_day",
    *EVENT.full_row[2:],
    "recurrence_until",
    "excluded_starts",
    "linked_task_id",
    "calendar_scope",
)
ROW_FIELDS = ("has_description", "has_attendees")  # that only rows of lists have
HOW_TO_CONNECT = (
    "No external calendar is connected. Ask the administrator to connect it. Until then, the built-in calendar works."
)


def get_visible_event(*, subject: str, id: str) -> CalendarEvent:
    """Return the event with its context. Raises NotFound."""
    event = CalendarEvent.objects.visible_to(subject).with_context().filter(pk=id).first()
    if event is None:
        raise build_not_found()
    return event


def lock_changeable_event(*, subject: str, id: str) -> tuple[CalendarEvent, Task | None]:
    """Return the event and the task whose date it shows, if any, both locked until the transaction ends.

    The task is locked first, as in changes of the task, to prevent deadlocks. Raises NotFound, Forbidden.
    """
    event = get_visible_event(subject=subject, id=id)
    task = None
    if event.task_event_kind and event.task_id:
        task = Task.objects.with_context().select_for_update(of=("self",), no_key=True).get(pk=event.task_id)
    locked = CalendarEvent.objects.select_for_update(of=("self",), no_key=True)
    locked_event = locked.visible_to(subject).with_context().filter(pk=id).first()
    if locked_event is None:  # deleted or hidden since the first read
        raise build_not_found()
    access.require_change_permission(locked_event, kind=EVENT)
    return locked_event, task if locked_event.task_event_kind else None


def refuse_external_calendar(calendar_id: str | None) -> None:
    """Raise StateConflict for an external calendar, because none is connected."""
    if calendar_id not in (None, PRIMARY_CALENDAR):
        raise StateConflict(
            "calendar_id names an external calendar, but none is connected; nothing was done. Tell the user "
            "how_to_connect. If they agree, leave calendar_id out or send primary to use the built-in calendar.",
            reason="connection_required",
            details={"requires_user_action": True, "how_to_connect": HOW_TO_CONNECT},
        )


def serialize_event(event: CalendarEvent, *, zone: ZoneInfo) -> dict[str, Any]:
    """Return the complete event as JSON values, with times in the zone. Empty fields are null.

    `excluded_starts` are the occurrences that were cancelled or moved away, if any, in UTC.
    """
    columns = serialization.serialize_columns(event, kind=EVENT)
    until = event.recurrence_until
    excluded = {"excluded_starts": event.excluded_starts} if event.excluded_starts else {}
    return {
        **{name: columns.pop(name) for name in ("id", "title")},
        **_serialize_event_times(event, zone),
        **columns,
        "recurrence_until": until and times.format_time(until, zone=zone),
        **excluded,
        "linked_task_id": event.task_id and str(event.task_id),
        "calendar_scope": "project" if event.project_id else "user",
        **{name: times.format_time(getattr(event, name), zone=zone) for name in ("created_at", "updated_at")},
    }


def serialize_occurrence(
    event: Any, occurrence: Occurrence, *, zone: ZoneInfo, with_offset: bool = True, fields: Collection[str] = ()
) -> dict[str, Any]:
    """Return one occurrence of an event as a list row, without fields that are empty or false.

    `event` has the annotations of a list. With `fields`, the row has only these and the id. Without offset, times are
    local to the zone.
    """
    format_moment = times.format_time if with_offset else times.format_local_time
    names = ("location", "recurrence", "project_name")
    row = {
        "id": str(event.pk),
        "title": event.title,
        **_serialize_times(*(occurrence.days or (occurrence.start, occurrence.end)), zone=zone, format=format_moment),
        "has_description": event.has_description,
        "has_attendees": bool(event.attendees),
        "linked_task_id": event.task_id and str(event.task_id),
        "project_id": event.project_id and str(event.project_id),
        **{name: getattr(event, name) for name in names},
        "task_event_kind": None if _is_kind_in_title(event) else event.task_event_kind,
    }
    if fields:
        complete = serialize_event(event, zone=zone) | row
        row = {name: complete.get(name) for name in ("id", *fields) if name != "description"}
        row |= serialization.abbreviate_text("description", event.description) if "description" in fields else {}
    return serialization.drop_empty(row)


def build_not_found() -> NotFound:
    """Return the error for an unknown event id. The message is the same if it is hidden, deleted or never existed."""
    return NotFound("No event that you can see has this event_id; find its id with cal.event.list.")


def _is_kind_in_title(event: CalendarEvent) -> bool:
    """Return whether the title says which date of a task the event shows, such as "Due: Write the report"."""
    prefix = TITLE_PREFIXES[TaskEventKind(event.task_event_kind)] if event.task_event_kind else ""
    return bool(prefix) and event.title.startswith(prefix)


def _serialize_event_times(event: CalendarEvent, zone: ZoneInfo) -> dict[str, Any]:
    if event.start_date is not None and event.end_date is not None:
        return _serialize_times(event.start_date, event.end_date, zone=zone)
    return _serialize_times(event.start_at, event.end_at, zone=zone)


def _serialize_times(
    start: date | None, end: date | None, *, zone: ZoneInfo, format: Callable[..., str] = times.format_time
) -> dict[str, Any]:
    texts = [
        format(when, zone=zone) if isinstance(when, datetime) else when and when.isoformat() for when in (start, end)
    ]
    return {"start_at": texts[0], "end_at": texts[1], "is_all_day": not isinstance(start, datetime)}
