"""Setting the start, end and recurrence end of an event from a call's arguments."""

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any, cast
from zoneinfo import ZoneInfo

from workspace.models import CalendarEvent, Recurrence, TaskEventKind
from workspace.models.working_week import WEEKDAYS
from workspace.services.calendar.event_list import MAX_LENGTH
from workspace.services.time import times
from workspace.services.time.times import LocalTimeParser

DEFAULT_LENGTH = timedelta(minutes=30)  # default length of a new event
DAY = timedelta(days=1)
SATURDAY = 5

MIXED_TYPES = "start_at and end_at must both be date-times or, for whole days, both be dates."
SINGLE_DATE_WARNING = "Ignored {name}: the event shows a single date of its task and lasts {minutes} minutes."


def assign_times(event: CalendarEvent, args: Mapping[str, Any], clock: LocalTimeParser) -> None:
    """Set the times that were sent. Adds errors to the clock; does not save the event.

    A start alone moves the event, and an end alone changes its length. A start that is a date keeps the time of day;
    dates for both make the event one of whole days. A new event without an end takes half an hour or one day.
    """
    start, end = clock.parse(args, "start_at"), clock.parse(args, "end_at")
    if start is not None and end is None and event.start_at and not isinstance(start, datetime):
        start = _keep_time_of_day(event.start_at, start, clock)
    if args.get("duration_minutes") is not None and not clock.errors:
        end = _get_end_of_duration(event, start, end, minutes=args["duration_minutes"], clock=clock)
    if not clock.errors and (start is not None or end is not None):
        _set_times(event, start, end, clock)
    if not clock.errors and not args.keys().isdisjoint(("start_at", "recurrence")):
        refuse_weekend(event.recurrence, get_first_day(event), clock)
    _set_recurrence_end(event, args, clock)


def get_first_day(event: CalendarEvent) -> date:
    """Return the day of the first occurrence, in the event's time zone."""
    if event.start_date is not None:
        return event.start_date
    return cast("datetime", event.start_at).astimezone(ZoneInfo(event.time_zone)).date()


def refuse_weekend(recurrence: str | None, first: date, clock: LocalTimeParser) -> None:
    """Add an error if an event that recurs on weekdays starts on a weekend."""
    if recurrence == Recurrence.WEEKDAYS and first.weekday() >= SATURDAY:
        day = WEEKDAYS[first.weekday()].title()
        message = f"start_at is a {day}; for weekdays send a day from Monday to Friday."
        clock.add_error("start_at", "weekend", message)


def change_zone(event: CalendarEvent, zone: ZoneInfo) -> None:
    """Set the event's time zone. The recurrence of an all-day event keeps its last day."""
    if event.is_all_day and event.recurrence_until:
        last = event.recurrence_until.astimezone(ZoneInfo(event.time_zone)).date()
        event.recurrence_until = to_end_moment(last, zone)
    event.time_zone = zone.key


def _keep_time_of_day(old: datetime, day: date, clock: LocalTimeParser) -> datetime:
    moment = times.localize(datetime.combine(day, old.astimezone(clock.zone).time()), clock.zone)
    text = times.format_time(moment, zone=clock.zone)
    clock.warnings.append(f"Read start_at as {text}, that day at the old time; for whole days also send end_at.")
    return moment


def _get_end_of_duration(
    event: CalendarEvent, start: date | None, end: date | None, *, minutes: int, clock: LocalTimeParser
) -> datetime | None:
    """Return the end of an event that takes these minutes. Adds an error if it has another end, or whole days."""
    begin = start or event.start_at
    if end is not None:
        message = "end_at and duration_minutes both say when it ends; send only one."
        clock.add_error("duration_minutes", "two_ends", message, leave_out="duration_minutes")
    elif not isinstance(begin, datetime):
        clock.add_error(
            "duration_minutes", "whole_days", "An event of whole days has no duration_minutes; send end_at."
        )
    else:
        return begin + timedelta(minutes=minutes)
    return None


def _set_times(event: CalendarEvent, start: date | None, end: date | None, clock: LocalTimeParser) -> None:
    sent = [each for each in (start, end) if each is not None]
    are_moments = {isinstance(each, datetime) for each in sent}
    if start is None:  # the start is the event's current one
        are_moments.add(not event.is_all_day)
    if len(are_moments) > 1:
        clock.add_error("end_at", "mixed", MIXED_TYPES)
    elif are_moments == {True}:
        _set_moments(event, cast("datetime | None", start), cast("datetime | None", end), clock)
    elif event.task_event_kind:
        clock.add_error("start_at", "of_the_task", "The event shows times of its task; send date-times, not dates.")
    else:
        _set_days(event, start, end, clock)


def _set_moments(event: CalendarEvent, start: datetime | None, end: datetime | None, clock: LocalTimeParser) -> None:
    if event.task_event_kind in (TaskEventKind.START, TaskEventKind.DUE):
        begin, finish = _get_single_date_times(event, start, end, clock)
    else:
        length = event.end_at - event.start_at if event.start_at and event.end_at else DEFAULT_LENGTH
        begin = start or cast("datetime", event.start_at)
        finish = end or begin + length
    if finish <= begin:
        clock.add_error(
            _get_faulty_argument(end),
            "out_of_order",
            "end_at must be after start_at; send a later end_at or leave it out.",
            swap=("start_at", "end_at") if start and end and finish < begin else None,
        )
    elif finish - begin > MAX_LENGTH:
        clock.add_error(
            _get_faulty_argument(end),
            "too_long",
            f"An event takes at most {MAX_LENGTH.days} days; send an earlier end_at.",
        )
    event.start_at, event.end_at, event.start_date, event.end_date = begin, finish, None, None


def _set_days(event: CalendarEvent, start: date | None, end: date | None, clock: LocalTimeParser) -> None:
    length = event.end_date - event.start_date if event.end_date and event.start_date else timedelta()
    first = start or cast("date", event.start_date)
    last = end or first + length
    if last < first:
        message = "end_at is before start_at; for whole days it is the last day, so send the same day or a later one."
        swap = ("start_at", "end_at") if start and end else None
        clock.add_error(_get_faulty_argument(end), "out_of_order", message, swap=swap)
    elif last - first >= MAX_LENGTH:
        clock.add_error(
            _get_faulty_argument(end),
            "too_long",
            f"An event takes at most {MAX_LENGTH.days} days; send an earlier end_at.",
        )
    event.start_at, event.end_at, event.start_date, event.end_date = None, None, first, last


def _get_single_date_times(
    event: CalendarEvent, start: datetime | None, end: datetime | None, clock: LocalTimeParser
) -> tuple[datetime, datetime]:
    """Return times of the same length that start at the task's start or end at its due date."""
    is_start = event.task_event_kind == TaskEventKind.START
    length = cast("datetime", event.end_at) - cast("datetime", event.start_at)
    if start and end and end - start != length:
        name = "end_at" if is_start else "start_at"
        clock.warnings.append(SINGLE_DATE_WARNING.format(name=name, minutes=length // timedelta(minutes=1)))
    if is_start:
        begin = start or cast("datetime", end) - length
        return begin, begin + length
    finish = end or cast("datetime", start) + length
    return finish - length, finish


def _set_recurrence_end(event: CalendarEvent, args: Mapping[str, Any], clock: LocalTimeParser) -> None:
    if event.task_event_kind:
        return  # the task sets it
    until = clock.parse(args, "recurrence_until")
    if not event.recurrence:
        event.recurrence_until = None
        if until is not None:
            message = "recurrence_until requires recurrence; also send recurrence, or leave it out."
            clock.add_error("recurrence_until", "not_recurring", message)
        return
    # A date ends at midnight in the user's zone. For an all-day event it ends in the event's own zone.
    zone = ZoneInfo(event.time_zone) if event.is_all_day else clock.zone
    if "recurrence_until" in args and not clock.errors:
        event.recurrence_until = to_end_moment(until, zone) if until is not None else None
    first = event.start_at or (event.start_date and times.get_day_start(event.start_date, zone))
    if event.recurrence_until and first and event.recurrence_until < first:
        message = "recurrence_until is before the event starts; send a later one, or null for no end."
        clock.add_error("recurrence_until", "out_of_order", message)


def to_end_moment(until: date, zone: ZoneInfo) -> datetime:
    """Return the end as a moment: a datetime as it is, a date as the last second of that day in the zone."""
    if isinstance(until, datetime):
        return until
    return times.get_day_start(until + DAY, zone) - timedelta(seconds=1)


def _get_faulty_argument(end: date | None) -> str:
    return "start_at" if end is None else "end_at"
