"""Conflicts between a task's times and other events in the subject's calendars."""

from collections.abc import Sequence
from datetime import timedelta

from workspace.errors import InvalidArgs
from workspace.models import CalendarEvent, Task
from workspace.services.calendar import event_list
from workspace.services.calendar.event_list import Occurrence, TimeRange
from workspace.services.time import times

LOOKAHEAD = timedelta(days=28)  # how far ahead recurring tasks are checked

TOO_MANY_EVENTS = "Too many events to check for overlaps; use cal.slot.find with a short time range."


def build_conflict_warnings(task: Task, span: TimeRange, *, subject: str) -> tuple[str, ...]:
    """Return a warning if other events that the subject can see overlap with the task's events in the time range."""
    visible = CalendarEvent.objects.visible_to(subject).exclude_due_markers()
    try:
        task_occurrences = event_list.list_occurrences(visible.filter(task=task).exclude(task_event_kind=""), span)
        other_occurrences = event_list.list_occurrences(visible.exclude(task=task), span)
    except InvalidArgs:
        return (TOO_MANY_EVENTS,)
    conflicts = [
        other
        for other in other_occurrences
        if any(_is_overlapping(occurrence, other) for occurrence in task_occurrences)
    ]
    return (_format_warning(conflicts, span),) if conflicts else ()


def _is_overlapping(one: Occurrence, other: Occurrence) -> bool:
    return one.start < other.end and other.start < one.end


def _format_warning(conflicts: Sequence[Occurrence], span: TimeRange) -> str:
    first = conflicts[0]
    title = CalendarEvent.objects.values_list("title", flat=True).get(pk=first.id)
    if first.days:
        when = " to ".join(dict.fromkeys(day.isoformat() for day in first.days))
    else:
        when = " to ".join(times.format_time(each, zone=span.zone) for each in (first.start, first.end))
    more = f" and {len(conflicts) - 1} more" if len(conflicts) > 1 else ""
    return f"Overlaps with “{title}” ({when}){more}; cal.slot.find returns free times."
