"""Ops on project calendars."""

from typing import Any
from uuid import UUID

from workspace.contract import Outcome, Request
from workspace.errors import Conflict, invalid
from workspace.handlers.writes import UNCHANGED
from workspace.kinds import CALENDAR
from workspace.models import Project, ProjectCalendar
from workspace.services import access, changes, events, profiles, rows

CREATE, UPDATE = "create", "update"


def get(request: Request) -> Outcome:
    """Return the project's calendar, or null if it has none. Raises NotFound."""
    project_id = request.args["project_id"]
    access.require_project(subject=request.subject, id=project_id)
    calendar = _of_project(project_id)
    if calendar is None:
        message = "The project has no calendar; its events do not need one. Use cal.project.set to name and colour it."
        return Outcome(result={"calendar": None, "message": message})
    return _outcome(calendar, message="The project's calendar.")


def set(request: Request) -> Outcome:
    """Create or update the project's calendar. Raises NotFound, Forbidden, Conflict, Invalid."""
    events.refuse_external(request.args.get("calendar_id"))
    project = access.changeable_project(subject=request.subject, id=request.args["project_id"])
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)  # two concurrent calls must not create two
    calendar = _of_project(str(project.pk))
    action = request.args.get("action")
    if calendar is None:
        if action == UPDATE:
            message = "The project has no calendar to update; leave out action or send create."
            raise Conflict(message, reason="no_calendar")
        return _create(request, project)
    if action == CREATE:
        message = "The project already has a calendar; leave out action or send update."
        raise Conflict(message, reason="calendar_exists")
    return _update(request, calendar)


def _create(request: Request, project: Project) -> Outcome:
    calendar = ProjectCalendar(
        project=project,
        name=f"{project.name[:190]} - Tasks",
        time_zone=profiles.zone(request.subject).key,
        created_by=request.subject,
        created_at=request.at,
        updated_at=request.at,
    )
    calendar.project_name = project.name
    _assign(calendar, request)
    calendar.save(force_insert=True)
    return _outcome(calendar, message="Created the project's calendar.")


def _update(request: Request, calendar: ProjectCalendar) -> Outcome:
    before = rows.columns(calendar, kind=CALENDAR)
    _assign(calendar, request)
    changed = changes.changed(before, rows.columns(calendar, kind=CALENDAR))
    if not changed:
        return _outcome(calendar, message="Nothing changed: the calendar already has these values.", unchanged=True)
    calendar.updated_at = request.at
    calendar.save(update_fields=[*changed, "updated_at"])
    return _outcome(calendar, message=f"Changed {', '.join(changed)}.")


def _assign(calendar: ProjectCalendar, request: Request) -> None:
    errors = changes.assign(calendar, kind=CALENDAR, sent=request.args, at=request.at)
    if errors:
        raise invalid(errors)


def _of_project(id: str) -> ProjectCalendar | None:
    return ProjectCalendar.objects.with_context().filter(project=UUID(id), deleted_at=None).first()


def _outcome(calendar: ProjectCalendar, *, message: str, unchanged: bool = False) -> Outcome:
    result: dict[str, Any] = {"calendar": rows.columns(calendar, kind=CALENDAR), "message": message}
    if calendar.sync_enabled:
        result["sync"] = events.NOT_CONNECTED
    warnings = (UNCHANGED,) if unchanged else ()
    return Outcome(result=result, warnings=warnings, entity_id=str(calendar.pk), entity_name=calendar.name)
