"""The create, update and delete ops of every kind."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Protocol

from core import handler_contract
from core.handler_contract import ArgumentError, OpOutcome, OpRequest, build_invalid_args
from workspace.entity_types import EntityType
from workspace.handlers.generic.row_outcomes import build_change_outcome, build_create_outcome
from workspace.models import Edge, Entity, Project
from workspace.services import access
from workspace.services.documents import merging
from workspace.services.edges import edge_arguments, linked_rows
from workspace.services.entities import changes, duplicates, serialization
from workspace.services.entities.serialization import quote_name
from workspace.services.time import partial_dates

# Returns the errors of a row that no single column can show; called with the row and the sent arguments.
RowCheck = Callable[[Entity, Mapping[str, Any]], list[ArgumentError]]


class RowsCreatedHook(Protocol):
    """Called after rows of a kind were created."""

    def __call__(self, rows: Sequence[Entity], /, *, by: str, at: datetime) -> None: ...


class RowChangedHook(Protocol):
    """Called after columns of a row were changed. Returns warnings."""

    def __call__(self, row: Entity, changed: Collection[str], /, *, by: str, at: datetime) -> tuple[str, ...]: ...


UNCHANGED = handler_contract.UNCHANGED


def create_row(
    request: OpRequest, *, kind: EntityType, check: RowCheck | None = None, then: RowsCreatedHook | None = None
) -> OpOutcome:
    """Create a row in a project, with the edges that its arguments request.

    Raises NotFound and Forbidden for the project and for all rows to link to, InvalidArgs.
    """
    project = access.get_changeable_project(subject=request.subject, id=request.args["project_id"])
    completed = partial_dates.complete_times(request.args, kind=kind, subject=request.subject)
    row, errors = build_row(completed.fields, kind=kind, project=project, by=request.subject, at=request.at)
    requested_edges = edge_arguments.resolve_links(
        request.args, kind=kind, project_id=project.pk, subject=request.subject
    )
    errors = errors + requested_edges.errors
    if errors := errors or (check(row, completed.fields) if check else []):
        raise build_invalid_args(errors)
    edges, edge_warnings = edge_arguments.build_edges(
        requested_edges, row, project_id=project.pk, subject=request.subject, at=request.at
    )
    row.save(force_insert=True)
    Edge.objects.bulk_create(edges)
    if then:
        then([row], by=request.subject, at=request.at)
    edge_note = f" and {len(edges)} edge{'s' if len(edges) > 1 else ''}" if edges else ""
    row_outcome = build_create_outcome(
        row,
        kind=kind,
        request=request,
        message=f"Created the {kind.name} {quote_name(getattr(row, kind.label))}{edge_note}.",
        warnings=(
            *completed.warnings,
            *requested_edges.warnings,
            *edge_warnings,
            *duplicates.warn_about_duplicate(row, kind=kind),
        ),
    )
    return replace(row_outcome, result=row_outcome.result | edge_arguments.serialize_edges(edges, row))


def build_row(
    sent: Mapping[str, Any], *, kind: EntityType, project: Project, by: str, at: datetime, pointer: str = ""
) -> tuple[Entity, list[ArgumentError]]:
    """Return an unsaved row of a project with the sent fields, and its errors."""
    model: Any = kind.model  # Entity has no project field: not every kind is in a project
    row = model(project=project, created_by=by, created_at=at, updated_at=at)
    row.project_name = project.name
    return row, changes.assign_fields(row, kind=kind, sent=sent, at=at, pointer=pointer)


def update_row(
    request: OpRequest, *, kind: EntityType, check: RowCheck | None = None, then: RowChangedHook | None = None
) -> OpOutcome:
    """Update the fields and links that were sent. Raises NotFound, Forbidden, InvalidArgs, StateConflict."""
    row = access.lock_changeable_row(kind, subject=request.subject, id=request.args[kind.id_argument])
    before = serialization.serialize_columns(row, kind=kind)
    completed = partial_dates.complete_times(request.args, kind=kind, subject=request.subject, row=row)
    if request.prepared:
        merging.require_same_version(request.prepared, row)
    merged = merging.apply_update_strategy(row, kind=kind, sent=completed.fields, prepared=request.prepared)
    errors = merged.errors + changes.assign_fields(row, kind=kind, sent=merged.fields, at=request.at)
    if errors := errors or (check(row, completed.fields) if check else []):
        raise build_invalid_args(errors)
    warnings = (*completed.warnings, *merged.warnings)
    after = serialization.serialize_columns(row, kind=kind)
    changed = [name for name in changes.get_changed_fields(before, after) if name in kind.columns]
    changed_links, edges = edge_arguments.update_links(
        request.args, row, kind=kind, subject=request.subject, at=request.at
    )
    if not changed and not changed_links:
        message = f"Nothing changed: the {kind.name} already has these values."
        return build_change_outcome(
            row, kind=kind, request=request, changed=(), message=message, warnings=(*warnings, UNCHANGED)
        )
    row.updated_at = request.at
    row.save(update_fields=[*changed, "updated_at"])
    if then:
        warnings += then(row, changed, by=request.subject, at=request.at)
    stamp = kind.completion_stamp[1] if kind.completion_stamp else None  # which the state already says
    told = [name for name in changed if name != stamp]
    described = [changes.describe_changes(before, after, told), *changed_links]
    message = f"Changed {quote_name(getattr(row, kind.label))}: {', '.join(filter(None, described))}."
    row_outcome = build_change_outcome(
        row, kind=kind, request=request, changed=changed, message=message, warnings=warnings
    )
    return replace(row_outcome, result=row_outcome.result | edge_arguments.serialize_edges(edges, row))


def delete_row(request: OpRequest, *, kind: EntityType, check: Callable[[Entity], None] | None = None) -> OpOutcome:
    """Mark the row as deleted: ops no longer find it, but it stays in the database.

    `check` raises an error if this call must not delete this row. Raises NotFound, Forbidden.
    """
    row = access.lock_changeable_row(kind, subject=request.subject, id=request.args[kind.id_argument])
    if check:
        check(row)
    message = f"Deleted the {kind.name} {quote_name(getattr(row, kind.label))}; ops no longer find it."
    message += linked_rows.describe_dependents(row, subject=request.subject)
    return mark_deleted(row, kind=kind, at=request.at, message=message)


def mark_deleted(row: Entity, *, kind: EntityType, at: datetime, message: str) -> OpOutcome:
    """Mark a row as deleted and return the outcome."""
    row.deleted_at = at
    row.save(update_fields=["deleted_at"])
    id, name = str(row.pk), getattr(row, kind.label)
    return OpOutcome(result={kind.name: {"id": id}, "message": message}, entity_id=id, entity_name=name)
