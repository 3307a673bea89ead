"""The create, update and delete ops of every kind."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Protocol

from workspace.contract import Outcome, Request
from workspace.errors import FieldError, invalid
from workspace.handlers.reads import outcome
from workspace.kinds import Kind
from workspace.models import Edge, Entity, Project
from workspace.services import access, changes, merging, placement, rows

# Returns the errors of a row that no single column can show; called with the row and the sent arguments.
Check = Callable[[Entity, Mapping[str, Any]], list[FieldError]]


class Added(Protocol):
    """Called after rows of a kind were created."""

    def __call__(self, rows: Sequence[Entity], /, *, by: str, at: datetime) -> None: ...


class Changed(Protocol):
    """Called after columns of a row were changed."""

    def __call__(self, row: Entity, changed: Collection[str], /, *, by: str, at: datetime) -> None: ...


UNCHANGED = "unchanged"  # warning of a write that changed nothing


def create_row(request: Request, *, kind: Kind, check: Check | None = None, then: Added | None = None) -> Outcome:
    """Create a row in a project, with the edges that its arguments ask for.

    Raises NotFound and Forbidden for the project and for all rows to link to, Invalid.
    """
    project = access.changeable_project(subject=request.subject, id=request.args["project_id"])
    row, errors = build(request.args, kind=kind, project=project, by=request.subject, at=request.at)
    place = placement.find(request.args, kind=kind, project_id=project.pk, subject=request.subject)
    errors = errors + place.errors
    if errors := errors or (check(row, request.args) if check else []):
        raise invalid(errors)
    edges = placement.build(place, row, project_id=project.pk, subject=request.subject, at=request.at)
    row.save(force_insert=True)
    Edge.objects.bulk_create(edges)
    if then:
        then([row], by=request.subject, at=request.at)
    linked = f" and {len(edges)} edge{'s' if len(edges) > 1 else ''}" if edges else ""
    made = outcome(
        row, kind=kind, at=request.at, message=f"Created the {kind.name}{linked}.", warnings=tuple(place.warnings)
    )
    return replace(made, result=made.result | placement.told(edges))


def build(
    sent: Mapping[str, Any], *, kind: Kind, project: Project, by: str, at: datetime, pointer: str = ""
) -> tuple[Entity, list[FieldError]]:
    """Return an unsaved row of a project with the sent fields, and its errors."""
    model: Any = kind.model  # Entity has no project field: not every kind is in a project
    row = model(project=project, created_by=by, created_at=at, updated_at=at)
    row.project_name = project.name
    return row, changes.assign(row, kind=kind, sent=sent, at=at, pointer=pointer)


def update_row(request: Request, *, kind: Kind, check: Check | None = None, then: Changed | None = None) -> Outcome:
    """Update the fields and links that were sent. Raises NotFound, Forbidden, Invalid."""
    row = access.changeable_row(kind, subject=request.subject, id=request.args[kind.id_argument])
    before = rows.columns(row, kind=kind)
    merged = merging.merge(row, kind=kind, sent=request.args)
    errors = merged.errors + changes.assign(row, kind=kind, sent=merged.fields, at=request.at)
    if errors := errors or (check(row, request.args) if check else []):
        raise invalid(errors)
    changed = [name for name in changes.changed(before, rows.columns(row, kind=kind)) if name in kind.columns]
    tied, edges = placement.change(request.args, row, kind=kind, subject=request.subject, at=request.at)
    if not changed and not tied:
        message = f"Nothing changed: the {kind.name} already has these values."
        return outcome(row, kind=kind, at=request.at, message=message, warnings=(*merged.warnings, UNCHANGED))
    row.updated_at = request.at
    row.save(update_fields=[*changed, "updated_at"])
    if then:
        then(row, changed, by=request.subject, at=request.at)
    message = f"Changed {', '.join([*changed, *tied])}."
    made = outcome(row, kind=kind, at=request.at, message=message, warnings=merged.warnings)
    return replace(made, result=made.result | placement.told(edges))


def delete_row(request: Request, *, kind: Kind) -> Outcome:
    """Mark the row as deleted: ops no longer find it, but it stays in the database. Raises NotFound, Forbidden."""
    row = access.changeable_row(kind, subject=request.subject, id=request.args[kind.id_argument])
    return deleted(row, kind=kind, at=request.at, message=f"Deleted the {kind.name}; ops no longer find it.")


def deleted(row: Entity, *, kind: Kind, at: datetime, message: str) -> Outcome:
    """Mark a row as deleted and return the outcome."""
    row.deleted_at = at
    row.save(update_fields=["deleted_at"])
    id, name = str(row.pk), getattr(row, kind.label)
    return Outcome(result={kind.name: {"id": id}, "message": message}, entity_id=id, entity_name=name)
