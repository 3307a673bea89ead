"""Conflicts of a task or an event with other events in the subject's calendars."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import cast
from zoneinfo import ZoneInfo

from workspace.errors import InvalidArgs
from workspace.models import CalendarEvent, CalendarEventQuerySet, Task, TaskEventKind
from workspace.services.calendar import event_list
from workspace.services.calendar.event_list import Occurrence, TimeRange
from workspace.services.entities.names import quote_name
from workspace.services.time import times

LOOKAHEAD = timedelta(days=28)  # how far ahead recurring tasks and events are checked

TOO_MANY_EVENTS = "Too many events to check for overlaps; use cal.slot.find with a short time range."


def warn_about_task(task: Task, *, zone: ZoneInfo, subject: str, at: datetime) -> tuple[str, ...]:
    """Return a warning if other events that the subject can see overlap with the events of a task that has a start."""
    start = cast("datetime", task.start_at)
    end = start + timedelta(minutes=task.duration_minutes)
    visible = CalendarEvent.objects.visible_to(subject).exclude_due_markers()
    own = visible.filter(task=task).exclude(task_event_kind="")
    span = _get_span(start, end, zone, at=at if task.recurrence else None)
    return _build_warnings(own, visible.exclude(task=task), span)


def warn_about_event(event: CalendarEvent, *, zone: ZoneInfo, subject: str, at: datetime) -> tuple[str, ...]:
    """Return a warning if other events that the subject can see overlap with a timed event."""
    if event.start_at is None or event.end_at is None or event.task_event_kind == TaskEventKind.DUE:
        return ()
    visible = CalendarEvent.objects.visible_to(subject).exclude_due_markers()
    others = visible.exclude(pk=event.pk)
    if event.task_id and event.task_event_kind:
        others = others.exclude(task=event.task_id)
    span = _get_span(event.start_at, event.end_at, zone, at=at if event.recurrence else None)
    return _build_warnings(visible.filter(pk=event.pk), others, span)


def _get_span(start: datetime, end: datetime, zone: ZoneInfo, *, at: datetime | None) -> TimeRange:
    """Return the time to look at: that of the only occurrence, or for a recurring event the next weeks from `at`."""
    if at is None:
        return TimeRange(start, end, zone)
    since = max(start, at)
    return TimeRange(since, since + LOOKAHEAD, zone)


def _build_warnings(own: CalendarEventQuerySet, others: CalendarEventQuerySet, span: TimeRange) -> tuple[str, ...]:
    try:
        own_occurrences = event_list.list_occurrences(own, span)
        other_occurrences = event_list.list_occurrences(others, span)
    except InvalidArgs:
        return (TOO_MANY_EVENTS,)
    overlapping = [
        other
        for other in other_occurrences
        if any(_is_overlapping(occurrence, other) for occurrence in own_occurrences)
    ]
    return (_format_warning(overlapping, span),) if overlapping else ()


def _is_overlapping(one: Occurrence, other: Occurrence) -> bool:
    return one.start < other.end and other.start < one.end


def _format_warning(conflicts: Sequence[Occurrence], span: TimeRange) -> str:
    """Return the warning. It names the first with times, if any: an event of whole days is often only a reminder."""
    first = next((each for each in conflicts if not each.days), conflicts[0])
    title = CalendarEvent.objects.values_list("title", flat=True).get(pk=first.id)
    if first.days:
        when = " to ".join(dict.fromkeys(day.isoformat() for day in first.days))
    else:
        when = " to ".join(times.format_time(each, zone=span.zone) for each in (first.start, first.end))
    more = f" and {len(conflicts) - 1} more" if len(conflicts) > 1 else ""
    return f"Overlaps with {quote_name(title)} ({when}){more}; cal.slot.find returns free times."
