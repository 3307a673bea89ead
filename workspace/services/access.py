"""Access to rows through the subject's membership, in one query."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from workspace import policies
from workspace.errors import FieldError, Forbidden, NotFound
from workspace.kinds import KINDS, PROJECT, Kind
from workspace.models import Entity, EntityQuerySet, Project


@dataclass(frozen=True, slots=True)
class Named:
    """A row that a call refers to: its kind, its id and the name of the argument."""

    kind: str
    id: UUID
    argument: str


def visible_row(kind: Kind, *, subject: str, id: str) -> Entity:
    """Return the row with its context. Raises NotFound."""
    return _one(kind.rows().with_context(), kind=kind, subject=subject, id=id)


def changeable_row(kind: Kind, *, subject: str, id: str) -> Entity:
    """Return the row with its context, locked until the transaction ends. Raises NotFound, Forbidden.

    The lock blocks other changes of the row, but not inserts of rows that refer to it. SQLite has no row locks: the
    transaction already holds the only write lock.
    """
    return allowed(_one(_locked(kind), kind=kind, subject=subject, id=id), kind=kind)


def unlocked_row(kind: Kind, *, subject: str, id: str) -> Entity:
    """Return a row that the subject may change, with its context, without locking it.

    For callers that have locked something above the row. Raises NotFound, Forbidden.
    """
    return allowed(_one(kind.rows().with_context(), kind=kind, subject=subject, id=id), kind=kind)


def changeable_project(*, subject: str, id: str) -> Project:
    """Return a project that the subject may add rows to, without locking it. Raises NotFound, Forbidden."""
    return cast("Project", allowed(_one(PROJECT.rows(), kind=PROJECT, subject=subject, id=id), kind=PROJECT))


def named_rows(named: Sequence[Named], *, subject: str, project_id: UUID | None = None) -> list[Entity]:
    """Return the rows that edges will join, in the order of `named`, with one query per kind.

    The rows are locked until the transaction ends, so that they cannot be deleted or moved to another project.
    Projects are not locked, because many calls name the same project. Raises NotFound with a field error for each row
    that the subject cannot see or that is outside `project_id`; raises Forbidden.
    """
    found: dict[tuple[str, UUID], Entity] = {}
    for kind in KINDS.values():  # a fixed order of kinds and ids prevents deadlocks
        ids = {each.id for each in named if each.kind == kind.name}
        found |= {(kind.name, row.pk): row for row in (_together(kind, ids, subject, project_id) if ids else ())}
    if missing := [each for each in named if (each.kind, each.id) not in found]:
        raise _missing(missing, place="of this project " if project_id else "")
    return [allowed(found[each.kind, each.id], kind=KINDS[each.kind]) for each in named]


def deletable_project(*, subject: str, id: str) -> Project:
    """Return the project with its context, locked until the transaction ends. Raises NotFound, Forbidden."""
    project = _one(_locked(PROJECT), kind=PROJECT, subject=subject, id=id)
    decision = policies.may_delete_project(role=project.subject_role)
    if not decision.allowed:
        message = "You can see this project, but only its owner can delete it; ask the owner."
        raise Forbidden(message, reason=decision.reason)
    return cast("Project", project)


def require_project(*, subject: str, id: str) -> None:
    """Raise NotFound unless the subject can see the project."""
    if not PROJECT.rows().visible_to(subject).filter(pk=id).exists():
        raise not_found(PROJECT)


def require_row(kind: Kind, *, subject: str, id: str, argument: str) -> None:
    """Raise NotFound, naming the argument, unless the subject can see the row."""
    project_of(kind, subject=subject, id=id, argument=argument)


def project_of(kind: Kind, *, subject: str, id: str, argument: str = "") -> UUID:
    """Return the id of the row's project. Raises NotFound, naming the argument."""
    column = "pk" if kind is PROJECT else "project_id"
    found: UUID | None = kind.rows().visible_to(subject).filter(pk=id).values_list(column, flat=True).first()
    if found is None:
        raise not_found(kind, argument=argument)
    return found


def allowed(row: Entity, *, kind: Kind) -> Entity:
    """Return the visible row if the subject's role may change it. Raises Forbidden."""
    decision = policies.may_change(role=row.subject_role)
    if not decision.allowed:
        message = f"You can see this {kind.name} but not change it; ask an owner or editor of the project."
        raise Forbidden(message, reason=decision.reason)
    return row


def not_found(kind: Kind, *, argument: str = "", place: str = "") -> NotFound:
    """Return the error for an unknown id. The message is the same if the row is hidden, deleted or never existed."""
    return NotFound(
        f"No {kind.name} {place}that you can see has this {argument or kind.id_argument}; "
        f"find its id with {kind.path('list')} or {kind.path('search')}."
    )


def _missing(named: Sequence[Named], *, place: str) -> NotFound:
    told = [not_found(KINDS[each.kind], argument=each.argument, place=place).message for each in named]
    paths = [f"/{each.argument}" for each in named]
    errors = [FieldError(path, NotFound.reason, message) for path, message in zip(paths, told, strict=True)]
    return NotFound(told[0], field_errors=errors)


def _locked(kind: Kind) -> EntityQuerySet[Any]:
    return kind.rows().with_context().select_for_update(of=("self",), no_key=True)


def _one(found: EntityQuerySet[Any], *, kind: Kind, subject: str, id: str) -> Entity:
    row: Entity | None = found.visible_to(subject).filter(pk=id).first()
    if row is None:
        raise not_found(kind)
    return row


def _together(kind: Kind, ids: Iterable[UUID], subject: str, project_id: UUID | None) -> EntityQuerySet[Any]:
    found = kind.rows().visible_to(subject).filter(pk__in=ids).order_by("pk")
    if project_id is not None:
        found = found.filter(**{"pk" if kind is PROJECT else "project_id": project_id})
    return found if kind is PROJECT else found.select_for_update(of=("self",), no_key=True)
