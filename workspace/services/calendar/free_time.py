"""Conflicts of events, and free slots between them."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from typing import cast
from zoneinfo import ZoneInfo

from core.handler_contract import InvalidArgs
from workspace.models import CalendarEvent, CalendarEventQuerySet, Task, TaskEventKind, working_week
from workspace.models.working_week import Week
from workspace.services.calendar import event_list, task_events
from workspace.services.calendar.event_list import Occurrence, TimeRange
from workspace.services.entities.serialization import quote_name
from workspace.services.time import times
from workspace.services.time.recurrence import MomentSpan

LOOKAHEAD = timedelta(days=28)  # how far ahead recurring tasks and events are checked
TOO_MANY_EVENTS = "Too many events to check for overlaps; use cal.slot.find with a short time range."
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Overlaps:
    """What a search for overlaps found: a warning, or a sentence for the message, after a space."""

    warnings: tuple[str, ...] = ()
    note: str = ""


def find_overlaps_of_task(task: Task, *, zone: ZoneInfo, subject: str, at: datetime) -> Overlaps:
    """Return which other events that the subject can see overlap with the events of a task that has a start."""
    start = cast("datetime", task.start_at)
    end = start + timedelta(minutes=task.duration_minutes)
    visible = CalendarEvent.objects.visible_to(subject).exclude_due_markers()
    own = visible.filter(task=task).exclude(task_event_kind="")
    span = _get_span(start, end, zone, at=at if task.recurrence else None)
    overlaps = _find_overlaps(own, visible.exclude(task=task), span, row=task)
    # Longer work has events at its start and its end only, so nothing is known of what lies between.
    is_whole = timedelta(minutes=task.duration_minutes) <= task_events.MAX_RANGE
    return overlaps if is_whole else replace(overlaps, note="")


def find_overlaps_of_event(event: CalendarEvent, *, zone: ZoneInfo, subject: str, at: datetime) -> Overlaps:
    """Return which other events that the subject can see overlap with a timed event; nothing for whole days."""
    if event.start_at is None or event.end_at is None or event.task_event_kind == TaskEventKind.DUE:
        return Overlaps()
    visible = CalendarEvent.objects.visible_to(subject).exclude_due_markers()
    others = visible.exclude(pk=event.pk)
    if event.task_id and event.task_event_kind:
        others = others.exclude(task=event.task_id)
    span = _get_span(event.start_at, event.end_at, zone, at=at if event.recurrence else None)
    return _find_overlaps(visible.filter(pk=event.pk), others, span, row=event)


def _get_span(start: datetime, end: datetime, zone: ZoneInfo, *, at: datetime | None) -> TimeRange:
    """Return the time to check: that of the only occurrence, or for a recurring event the next weeks from `at`."""
    if at is None:
        return TimeRange(start, end, zone)
    since = max(start, at)
    return TimeRange(since, since + LOOKAHEAD, zone)


def _find_overlaps(
    own: CalendarEventQuerySet, others: CalendarEventQuerySet, span: TimeRange, *, row: Task | CalendarEvent
) -> Overlaps:
    """Return the overlaps in the span. Only events with times conflict; whole days are often reminders."""
    try:
        own_occurrences = event_list.list_occurrences(own, span)
        other_occurrences = event_list.list_occurrences(others, span)
    except InvalidArgs:
        return Overlaps((TOO_MANY_EVENTS,))
    overlapping = [
        other
        for other in other_occurrences
        if any(_is_overlapping(occurrence, other) for occurrence in own_occurrences)
    ]
    if timed := [each for each in overlapping if not each.days]:
        return Overlaps((f"Overlaps with {_describe(timed, span)}; cal.slot.find returns free times.",))
    is_partial = row.recurrence and (row.recurrence_until is None or row.recurrence_until > span.end)
    until = f" until {span.end.astimezone(span.zone).date()}" if is_partial else ""
    note = f" Nothing overlaps{until}."
    if overlapping:
        note += f" All day: {_describe(overlapping, span)}."
    return Overlaps(note=note)


def _is_overlapping(one: Occurrence, other: Occurrence) -> bool:
    return one.start < other.end and other.start < one.end


def _describe(occurrences: Sequence[Occurrence], span: TimeRange) -> str:
    """Return the title and the time of the first occurrence, and how many others there are."""
    occurrence = occurrences[0]
    title = CalendarEvent.objects.values_list("title", flat=True).get(pk=occurrence.id)
    if occurrence.days:
        when = " to ".join(dict.fromkeys(day.isoformat() for day in occurrence.days))
    else:
        when = " to ".join(times.format_time(each, zone=span.zone) for each in (occurrence.start, occurrence.end))
    more = f" and {len(occurrences) - 1} more" if len(occurrences) > 1 else ""
    return f"{quote_name(title)} ({when}){more}"


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
