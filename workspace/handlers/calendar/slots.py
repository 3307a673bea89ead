"""Find free slots, and read the calendars of projects."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from core.handler_contract import ArgumentError, OpOutcome, OpRequest, StateConflict, build_invalid_args
from workspace.entity_types import CALENDAR
from workspace.handlers.calendar import list_events
from workspace.handlers.generic.generic_writes import UNCHANGED
from workspace.models import CalendarEvent, Profile, Project, ProjectCalendar
from workspace.models.working_week import WEEKDAYS, Week
from workspace.services import access
from workspace.services.calendar import event_list, events, free_time
from workspace.services.calendar.event_list import TimeRange
from workspace.services.entities import changes, pagination, serialization
from workspace.services.entities.serialization import quote_name
from workspace.services.time import times
from workspace.services.time.times import LocalTimeParser

DEFAULT_MINUTES = 60  # length of a slot if duration_minutes is not sent
STEP = timedelta(minutes=15)  # slots from now on start on a quarter of an hour
CREATE, UPDATE = "create", "update"


def find_slots(request: OpRequest) -> OpOutcome:
    """Return the free time within working hours, by default in the next seven days. Raises InvalidArgs."""
    profile = access.get_profile(request.subject)
    clock = LocalTimeParser(profile.zone)
    hours = _choose_hours(profile, request)
    span = _get_future_span(list_events.parse_time_range(request, clock), request)
    events = event_list.list_occurrences(CalendarEvent.objects.visible_to(request.subject).exclude_due_markers(), span)
    found_slots = free_time.find_free_slots(
        free_time.iter_working_spans(hours, zone=clock.zone, after=span.start, before=span.end),
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
        return free_time.build_preferred_week(profile.working_hours, preferred, include_days_off=days_off)
    if days_off:
        message = "Days off have no working hours; send preferred_hours with include_days_off, such as [10, 11]."
        raise build_invalid_args([ArgumentError(path="/include_days_off", code="no_hours", message=message)])
    hours: Week = profile.working_hours
    return hours


def _get_future_span(span: TimeRange, request: OpRequest) -> TimeRange:
    """Return the future part of a span. Raises InvalidArgs if there is none.

    A start that has passed is moved to the next quarter of an hour.
    """
    start, end = span.start, span.end
    if start <= request.at:
        start = request.at + -_get_quarter_remainder(request.at) % STEP
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


def get_calendar(request: OpRequest) -> OpOutcome:
    """Return the project's calendar, or null if it has none. Raises NotFound."""
    project_id = request.args["project_id"]
    access.require_project(subject=request.subject, id=project_id)
    calendar = _find_calendar(project_id)
    if calendar is None:
        message = "The project has no calendar; its events do not need one. Use cal.project.set to name and colour it."
        return OpOutcome(result={"calendar": None, "message": message})
    return _build_outcome(calendar, message="The project's calendar.")


def set_calendar(request: OpRequest) -> OpOutcome:
    """Create or update the project's calendar. Raises NotFound, Forbidden, StateConflict, InvalidArgs."""
    events.refuse_external_calendar(request.args.get("calendar_id"))
    project = access.get_changeable_project(subject=request.subject, id=request.args["project_id"])
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)  # two concurrent calls must not create two
    calendar = _find_calendar(str(project.pk))
    action = request.args.get("action")
    if calendar is None:
        if action == UPDATE:
            message = "The project has no calendar to update; leave out action or send create."
            raise StateConflict(message, reason="no_calendar")
        return _create_calendar(request, project)
    if action == CREATE:
        message = "The project already has a calendar; leave out action or send update."
        raise StateConflict(message, reason="calendar_exists")
    return _update_calendar(request, calendar)


def _create_calendar(request: OpRequest, project: Project) -> OpOutcome:
    calendar = ProjectCalendar(
        project=project,
        name=f"{project.name[:190]} - Tasks",
        time_zone=access.get_zone(request.subject).key,
        created_by=request.subject,
        created_at=request.at,
        updated_at=request.at,
    )
    calendar.project_name = project.name
    _assign_fields(calendar, request)
    calendar.save(force_insert=True)
    return _build_outcome(calendar, message="Created the project's calendar.")


def _update_calendar(request: OpRequest, calendar: ProjectCalendar) -> OpOutcome:
    before = serialization.serialize_columns(calendar, kind=CALENDAR)
    _assign_fields(calendar, request)
    after = serialization.serialize_columns(calendar, kind=CALENDAR)
    changed = changes.get_changed_fields(before, after)
    if not changed:
        return _build_outcome(
            calendar, message="Nothing changed: the calendar already has these values.", unchanged=True
        )
    calendar.updated_at = request.at
    calendar.save(update_fields=[*changed, "updated_at"])
    message = f"Changed {quote_name(calendar.name)}: {changes.describe_changes(before, after, changed)}."
    return _build_outcome(calendar, message=message)


def _assign_fields(calendar: ProjectCalendar, request: OpRequest) -> None:
    errors = changes.assign_fields(calendar, kind=CALENDAR, sent=request.args, at=request.at)
    if errors:
        raise build_invalid_args(errors)


def _find_calendar(id: str) -> ProjectCalendar | None:
    return ProjectCalendar.objects.with_context().filter(project=UUID(id), deleted_at=None).first()


def _build_outcome(calendar: ProjectCalendar, *, message: str, unchanged: bool = False) -> OpOutcome:
    result: dict[str, Any] = {"calendar": serialization.serialize_columns(calendar, kind=CALENDAR), "message": message}
    if calendar.sync_enabled:
        result["sync"] = events.NOT_CONNECTED
    warnings = (UNCHANGED,) if unchanged else ()
    return OpOutcome(result=result, warnings=warnings, entity_id=str(calendar.pk), entity_name=calendar.name)
