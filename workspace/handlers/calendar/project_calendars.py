"""Ops on project calendars."""

from typing import Any
from uuid import UUID

from workspace.contract import OpOutcome, OpRequest
from workspace.entity_types import CALENDAR
from workspace.errors import StateConflict, build_invalid_args
from workspace.handlers.generic.generic_writes import UNCHANGED
from workspace.models import Project, ProjectCalendar
from workspace.services.access import access, profiles
from workspace.services.calendar import events
from workspace.services.entities import change_text, changes, serialization
from workspace.services.entities.names import quote_name

CREATE, UPDATE = "create", "update"


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
        time_zone=profiles.get_zone(request.subject).key,
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
    message = f"Changed {quote_name(calendar.name)}: {change_text.describe_changes(before, after, changed)}."
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
