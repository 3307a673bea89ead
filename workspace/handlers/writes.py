"""create, update and delete of any kind."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from workspace.contract import Outcome, Request
from workspace.errors import FieldError, invalid
from workspace.handlers.reads import outcome
from workspace.kinds import Kind
from workspace.models import Entity, Project
from workspace.services import access, changes, rows

UNCHANGED = "unchanged"  # the warning of an update whose every value equals the stored one


def create_row(request: Request, *, kind: Kind) -> Outcome:
    """Add a row to a project. Raises NotFound and Forbidden for the project, Invalid."""
    project = access.changeable_project(subject=request.subject, id=request.args["project_id"])
    row, errors = build(request.args, kind=kind, project=project, by=request.subject, at=request.at)
    if errors:
        raise invalid(errors)
    row.save(force_insert=True)
    return outcome(row, kind=kind, message=f"Created the {kind.name}.")


def build(
    sent: Mapping[str, Any], *, kind: Kind, project: Project, by: str, at: datetime, pointer: str = ""
) -> tuple[Entity, list[FieldError]]:
    """Return a row in a project of what was sent, not yet saved, and what is wrong with it."""
    model: Any = kind.model  # not every entity lies in a project, so its type promises none
    row = model(project=project, created_by=by, created_at=at, updated_at=at)
    row.project_name = project.name
    return row, changes.assign(row, kind=kind, sent=sent, at=at, pointer=pointer)


def update_row(request: Request, *, kind: Kind) -> Outcome:
    """Set the fields that were sent and no others. Raises NotFound, Forbidden, Invalid."""
    row = access.changeable_row(kind, subject=request.subject, id=request.args[kind.id_argument])
    before = rows.whole(row, kind=kind)
    if errors := changes.assign(row, kind=kind, sent=request.args, at=request.at):
        raise invalid(errors)
    changed = changes.changed(before, rows.whole(row, kind=kind))
    if not changed:
        message = f"Nothing changed: the {kind.name} has these values already."
        return outcome(row, kind=kind, message=message, warnings=(UNCHANGED,))
    row.updated_at = request.at
    row.save(update_fields=[*changed, "updated_at"])
    return outcome(row, kind=kind, message=f"Changed {', '.join(changed)}.")


def delete_row(request: Request, *, kind: Kind) -> Outcome:
    """Mark the row deleted: it is gone from every op, and kept in the database. Raises NotFound, Forbidden."""
    row = access.changeable_row(kind, subject=request.subject, id=request.args[kind.id_argument])
    row.deleted_at = request.at
    row.save(update_fields=["deleted_at"])
    id, name = str(row.pk), getattr(row, kind.label)
    result = {kind.name: {"id": id}, "message": f"Deleted the {kind.name}; no op finds it any more."}
    return Outcome(result=result, entity_id=id, entity_name=name)
