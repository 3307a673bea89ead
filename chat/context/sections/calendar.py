"""The location layer of the calendar, and lines of events for others."""

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from itertools import groupby
from typing import Any
from zoneinfo import ZoneInfo

from chat.context import reads
from chat.context.reads import Results
from chat.context.sections import local_days
from chat.context.sections.profile import describe_hours
from chat.context.sections.row_lines import Size, format_id, format_name
from chat.context.sections.tool_names import ToolNames

Event = Mapping[str, Any]


def describe_calendar(results: Results, tools: ToolNames, size: Size, zone: ZoneInfo) -> str:
    """Return the working hours and the events of the next seven days."""
    heading = "## The user looks at the calendar"
    profile = results.get_row(reads.PROFILE) or {}
    hours = f"- Working hours: {describe_hours(profile.get('working_hours'))}"
    if reads.EVENTS in results.failures:
        return f"{heading}\n{hours}\nThe events could not be loaded."
    events = results.list_rows(reads.EVENTS, "events")
    shown = events[: size.rows]
    total = max(len(events), _get_total(results))
    lines = ["Next seven days:" if events else "No events in the next seven days."]
    for day, of_day in groupby(shown, key=lambda event: _get_start_day(event, zone)):
        lines += [f"{day:%a %Y-%m-%d}" if day else "No date", *_list_lines(of_day, shown, size, zone)]
    if len(shown) < total:
        lines.append(f"{len(shown)} of {total} events; {tools.describe('cal.event.list')} reads on.")
    return "\n".join([heading, hours, *lines])


def list_events_on(day: date, results: Results, size: Size, zone: ZoneInfo) -> list[str]:
    """Return a line for each event that takes place on a day."""
    events = results.list_rows(reads.EVENTS, "events")
    of_day = [event for event in events if _is_on(event, day, zone)][: size.rows]
    return _list_lines(of_day, of_day, size, zone)


def _list_lines(events: Iterable[Event], shown: list[Event], size: Size, zone: ZoneInfo) -> list[str]:
    return [_format_event(event, size, zone, is_first=_is_first(event, shown)) for event in events]


def _is_first(event: Event, shown: list[Event]) -> bool:
    """Return whether no earlier line has this id: an event that repeats has one id for all its occurrences."""
    return next((each for each in shown if each.get("id") == event.get("id")), None) is event


def _format_event(event: Event, size: Size, zone: ZoneInfo, *, is_first: bool) -> str:
    start, end = (local_days.parse_moment(event.get(name), zone) for name in ("start_at", "end_at"))
    times = "all day"
    if isinstance(start, datetime):
        times = f"{start:%H:%M}" + (f"-{end:%H:%M}" if isinstance(end, datetime) else "")
    return f"- {times} {format_name(event, size)}{format_id(event, size) if is_first else ''}"


def _get_start_day(event: Event, zone: ZoneInfo) -> date | None:
    start = local_days.parse_moment(event.get("start_at"), zone)
    return local_days.get_day(start) if start else None


def _is_on(event: Event, day: date, zone: ZoneInfo) -> bool:
    """Return whether an event takes place on a day. The last day of an all-day event counts; midnight does not."""
    start, end = (local_days.parse_moment(event.get(name), zone) for name in ("start_at", "end_at"))
    if start is None:
        return False
    first = local_days.get_day(start)
    last = local_days.get_day(end) if end else first
    if isinstance(end, datetime) and (end.hour, end.minute) == (0, 0) and last > first:
        return first <= day < last
    return first <= day <= last


def _get_total(results: Results) -> int:
    total = results.by_name[reads.EVENTS].get("total")
    return total if isinstance(total, int) else 0
