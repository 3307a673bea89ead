"""Free time in the user's calendar."""

from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from workspace.contract import Outcome, Request
from workspace.errors import FieldError, invalid
from workspace.handlers import agendas
from workspace.models import CalendarEvent, Profile
from workspace.models.week import WEEKDAYS, Week
from workspace.services import agenda, pages, profiles, slots, times
from workspace.services.agenda import Span
from workspace.services.wallclock import Wallclock

MINUTES = 60  # length of a slot if duration_minutes is not sent
STEP = timedelta(minutes=15)  # slots from now on start on a quarter of an hour


def find(request: Request) -> Outcome:
    """Return the free time within working hours, by default in the next seven days. Raises Invalid."""
    profile = profiles.of(request.subject)
    clock = Wallclock(profile.zone)
    hours = _hours(profile, request)
    span = _to_come(agendas.span_of(request, clock), request)
    events = agenda.times_of(CalendarEvent.objects.visible_to(request.subject).taking_time(), span)
    found = slots.free(
        slots.working(hours, zone=clock.zone, after=span.start, before=span.end),
        [(event.start, event.end) for event in events],
        least=timedelta(minutes=request.args.get("duration_minutes", MINUTES)),
    )
    shown = found[: min(request.args.get("limit", pages.DEFAULT_LIMIT), pages.LARGEST_LIMIT)]
    result = {
        "slots": [_slot(*each, zone=clock.zone) for each in shown],
        "total": len(found),
        "has_more": len(shown) < len(found),
        "time_range": agendas.told(span),
        "message": _message(len(shown), len(found), request),
    }
    return Outcome(result=result, warnings=tuple(clock.warnings))


def _hours(profile: Profile, request: Request) -> Week:
    """Return the hours to search: the preferred ones, else the working hours. Raises Invalid."""
    preferred = request.args.get("preferred_hours")
    days_off = request.args.get("include_days_off", False)
    if preferred:
        return slots.preferring(profile.working_hours, preferred, days_off=days_off)
    if days_off:
        message = "Days off have no working hours; send preferred_hours with include_days_off, such as [10, 11]."
        raise invalid([FieldError(path="/include_days_off", code="no_hours", message=message)])
    hours: Week = profile.working_hours
    return hours


def _to_come(span: Span, request: Request) -> Span:
    """Return the part of a span that is still to come. Raises Invalid if there is none.

    Ends that the caller did not send are rounded to a quarter of an hour.
    """
    start, end = span.start, span.end
    if start <= request.at:
        start = request.at + -_beyond(request.at) % STEP
    if "time_max" not in request.args:
        end -= _beyond(end)
    if start >= end:
        message = "time_max is in the past; send a later one."
        raise invalid([FieldError(path="/time_max", code="over", message=message)])
    return Span(start, end, span.zone)


def _beyond(moment: datetime) -> timedelta:
    """Return the time since the last full quarter of an hour."""
    return (moment - moment.replace(minute=0, second=0, microsecond=0)) % STEP


def _slot(start: datetime, end: datetime, *, zone: ZoneInfo) -> dict[str, Any]:
    return {
        "start": times.write(start, zone=zone),
        "end": times.write(end, zone=zone),
        "weekday": WEEKDAYS[start.astimezone(zone).weekday()],
        "duration_minutes": (end - start) // timedelta(minutes=1),
    }


def _message(shown: int, total: int, request: Request) -> str:
    minutes = request.args.get("duration_minutes", MINUTES)
    if not total:
        return (
            f"No {minutes} minutes are free within these hours; send a later time_max, a shorter "
            "duration_minutes or other preferred_hours."
        )
    told = f"{shown} of {total} free slots of at least {minutes} minutes, earliest first, each in its full length."
    return told if shown == total else f"{told} For more, send the end of the last one as time_min."
