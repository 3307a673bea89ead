"""Conflicts between a task's times and other events in the subject's calendars."""

from collections.abc import Sequence
from datetime import timedelta

from workspace.errors import Invalid
from workspace.models import CalendarEvent, Task
from workspace.services import agenda, times
from workspace.services.agenda import Span, Time

AHEAD = timedelta(days=28)  # how far ahead recurring tasks are checked

UNKNOWN = "Too many events to check for overlaps; use cal.slot.find with a short time range."


def warnings(task: Task, span: Span, *, subject: str) -> tuple[str, ...]:
    """Return a warning if other events that the subject can see overlap with the task's events in the time range."""
    seen = CalendarEvent.objects.visible_to(subject).taking_time()
    try:
        own = agenda.times_of(seen.filter(task=task).exclude(task_event_kind=""), span)
        others = agenda.times_of(seen.exclude(task=task), span)
    except Invalid:
        return (UNKNOWN,)
    found = [other for other in others if any(_overlap(each, other) for each in own)]
    return (_told(found, span),) if found else ()


def _overlap(one: Time, other: Time) -> bool:
    return one.start < other.end and other.start < one.end


def _told(found: Sequence[Time], span: Span) -> str:
    first = found[0]
    title = CalendarEvent.objects.values_list("title", flat=True).get(pk=first.id)
    if first.days:
        when = " to ".join(dict.fromkeys(day.isoformat() for day in first.days))
    else:
        when = " to ".join(times.write(each, zone=span.zone) for each in (first.start, first.end))
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return f"Overlaps with “{title}” ({when}){more}; cal.slot.find returns free times."
