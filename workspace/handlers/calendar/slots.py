"""Free time in the user's calendar."""

from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from workspace.contract import OpOutcome, OpRequest
from workspace.errors import ArgumentError, build_invalid_args
from workspace.handlers.calendar import list_events
from workspace.models import CalendarEvent, Profile
from workspace.models.working_week import WEEKDAYS, Week
from workspace.services.access import profiles
from workspace.services.calendar import event_list, free_slots
from workspace.services.calendar.event_list import TimeRange
from workspace.services.entities import pagination
from workspace.services.time import times
from workspace.services.time.local_time import LocalTimeParser

DEFAULT_MINUTES = 60  # length of a slot if duration_minutes is not sent
STEP = timedelta(minutes=15)  # slots from now on start on a quarter of an hour


def find_slots(request: OpRequest) -> OpOutcome:
    """Return the free time within working hours, by default in the next seven days. Raises InvalidArgs."""
    profile = profiles.get_profile(request.subject)
    clock = LocalTimeParser(profile.zone)
    hours = _choose_hours(profile, request)
    span = _get_future_span(list_events.parse_time_range(request, clock), request)
    events = event_list.list_occurrences(CalendarEvent.objects.visible_to(request.subject).exclude_due_markers(), span)
    found_slots = free_slots.find_free_slots(
        free_slots.iter_working_spans(hours, zone=clock.zone, after=span.start, before=span.end),
        [(event.start, event.end) for event in events],
        min_length=timedelta(minutes=request.args.get("duration_minutes", DEFAULT_MINUTES)),
    )
    page = found_slots[: min(request.args.get("limit", pagination.DEFAULT_LIMIT), pagination.MAX_LIMIT)]
    result = {
        "slots": [_serialize_slot(*each, zone=clock.zone) for each in page],
        "total": len(found_slots),
        "has_more": len(page) < len(found_slots),
        "time_range": list_events.serialize_time_range(span),
        "message": _build_message(len(page), len(found_slots), request),
    }
    return OpOutcome(result=result, warnings=tuple(clock.warnings))


def _choose_hours(profile: Profile, request: OpRequest) -> Week:
    """Return the hours to search: the preferred ones, else the working hours. Raises InvalidArgs."""
    preferred = request.args.get("preferred_hours")
    days_off = request.args.get("include_days_off", False)
    if preferred:
        return free_slots.build_preferred_week(profile.working_hours, preferred, include_days_off=days_off)
    if days_off:
        message = "Days off have no working hours; send preferred_hours with include_days_off, such as [10, 11]."
        raise build_invalid_args([ArgumentError(path="/include_days_off", code="no_hours", message=message)])
    hours: Week = profile.working_hours
    return hours


def _get_future_span(span: TimeRange, request: OpRequest) -> TimeRange:
    """Return the part of a span that is still to come. Raises InvalidArgs if there is none.

    Ends that the caller did not send are rounded to a quarter of an hour.
    """
    start, end = span.start, span.end
    if start <= request.at:
        start = request.at + -_get_quarter_remainder(request.at) % STEP
    if "time_max" not in request.args:
        end -= _get_quarter_remainder(end)
    if start >= end:
        message = "time_max is in the past; send a later one."
        raise build_invalid_args([ArgumentError(path="/time_max", code="over", message=message)])
    return TimeRange(start, end, span.zone)


def _get_quarter_remainder(moment: datetime) -> timedelta:
    """Return the time since the last full quarter of an hour."""
    return (moment - moment.replace(minute=0, second=0, microsecond=0)) % STEP


def _serialize_slot(start: datetime, end: datetime, *, zone: ZoneInfo) -> dict[str, Any]:
    return {
        "start": times.format_time(start, zone=zone),
        "end": times.format_time(end, zone=zone),
        "weekday": WEEKDAYS[start.astimezone(zone).weekday()],
        "duration_minutes": (end - start) // timedelta(minutes=1),
    }


def _build_message(shown: int, total: int, request: OpRequest) -> str:
    minutes = request.args.get("duration_minutes", DEFAULT_MINUTES)
    if not total:
        hours = "these hours" if request.args.get("preferred_hours") else "the user's working hours"
        return (
            f"No {minutes} minutes are free within {hours}; send a later time_max, a shorter "
            "duration_minutes or other preferred_hours."
        )
    summary = f"{shown} of {total} free slots of at least {minutes} minutes, earliest first, each in its full length."
    return summary if shown == total else f"{summary} For more, send the end of the last one as time_min."
