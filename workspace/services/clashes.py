"""What else stands in a subject's calendar at the times of a task."""

from collections.abc import Sequence
from datetime import timedelta

from workspace.errors import Invalid
from workspace.models import CalendarEvent, Task
from workspace.services import agenda, times
from workspace.services.agenda import Span, Time

AHEAD = timedelta(days=28)  # how far what comes again is looked after

UNKNOWN = "There is too much in the calendar to look for overlaps; cal.slot.find with a short time does."


def warnings(task: Task, span: Span, *, subject: str) -> tuple[str, ...]:
    """Return a sentence on what overlaps with the task's events in a span, if anything does.

    It tells of nothing but what the subject sees.
    """
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
    return f"Overlaps with “{title}” ({when}){more}; cal.slot.find has the times that are free."
