"""Conflicts of events, and free slots between them."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import date, datetime, time, timedelta
from typing import cast
from zoneinfo import ZoneInfo

from core.handler_contract import InvalidArgs
from workspace.models import CalendarEvent, CalendarEventQuerySet, Task, TaskEventKind, working_week
from workspace.models.working_week import Week
from workspace.services.calendar import event_list
from workspace.services.calendar.event_list import Occurrence, TimeRange
from workspace.services.entities.serialization import quote_name
from workspace.services.time import times
from workspace.services.time.recurrence import MomentSpan

LOOKAHEAD = timedelta(days=28)  # how far ahead recurring tasks and events are checked
TOO_MANY_EVENTS = "Too many events to check for overlaps; use cal.slot.find with a short time range."
_DAY = timedelta(days=1)


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
    """Return the time to check: that of the only occurrence, or for a recurring event the next weeks from `at`."""
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


def find_free_slots(
    hours: Iterable[MomentSpan], busy: Iterable[MomentSpan], *, min_length: timedelta
) -> list[MomentSpan]:
    """Return the parts of the hours that are not busy and at least `min_length` long, in order.

    Each slot is as long as possible: it ends at busy time or at the end of the hours.
    """
    busy_spans = merge_spans(busy)
    slots: list[MomentSpan] = []
    index = 0
    for begin, end in merge_spans(hours):
        while index < len(busy_spans) and busy_spans[index][1] <= begin:
            index += 1
        slots += _subtract_spans(begin, end, busy_spans[index:])
    return [slot for slot in slots if slot[1] - slot[0] >= min_length]


def merge_spans(spans: Iterable[MomentSpan]) -> list[MomentSpan]:
    """Return the spans in order, with overlapping and adjacent ones merged and empty ones removed."""
    merged: list[MomentSpan] = []
    for begin, end in sorted(span for span in spans if span[0] < span[1]):
        if merged and begin <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((begin, end))
    return merged


def iter_working_spans(hours: Week, *, zone: ZoneInfo, after: datetime, before: datetime) -> Iterator[MomentSpan]:
    """Yield the working hours between two moments in UTC. The hours are local times of the zone."""
    for day in _iter_days(after.astimezone(zone).date(), before.astimezone(zone).date()):
        for begin, end in working_week.parse_spans(hours, day.weekday()):
            start, stop = (_to_moment(day, minutes, zone) for minutes in (begin, end))
            yield max(start, after), min(stop, before)


def build_preferred_week(hours: Week, preferred: Collection[int], *, include_days_off: bool) -> Week:
    """Return a week with only the preferred hours (9 is 9:00 to 10:00), on working days and, if asked, on days off."""
    spans = [f"{hour:02}:00-{hour + 1:02}:00" for hour in sorted(set(preferred))]
    return {day: spans if include_days_off or hours.get(day) else [] for day in working_week.WEEKDAYS}


def _subtract_spans(begin: datetime, end: datetime, busy_spans: Iterable[MomentSpan]) -> Iterator[MomentSpan]:
    for start, stop in busy_spans:
        if start >= end:
            break
        if begin < start:
            yield begin, start
        begin = max(begin, stop)
    if begin < end:
        yield begin, end


def _iter_days(first: date, last: date) -> Iterator[date]:
    return (first + _DAY * number for number in range((last - first).days + 1))


def _to_moment(day: date, minutes: int, zone: ZoneInfo) -> datetime:
    return times.localize(datetime.combine(day, time()) + timedelta(minutes=minutes), zone)
