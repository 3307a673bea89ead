"""The way to a row: through the subject's membership, in one query."""

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
    """A row that a call names beside the one it is about: its kind, its id, and the argument that says so."""

    kind: str
    id: UUID
    argument: str


def visible_row(kind: Kind, *, subject: str, id: str) -> Entity:
    """Return the row with its context. Raises NotFound."""
    return _one(kind.rows().with_context(), kind=kind, subject=subject, id=id)


def changeable_row(kind: Kind, *, subject: str, id: str) -> Entity:
    """Return the row with its context, locked until the transaction ends. Raises NotFound, Forbidden.

    The lock holds off other changes of the row, but not the insert of rows that refer to it. On SQLite there is
    none: the transaction holds the only write lock already.
    """
    return allowed(_one(_locked(kind), kind=kind, subject=subject, id=id), kind=kind)


def unlocked_row(kind: Kind, *, subject: str, id: str) -> Entity:
    """Return a row that the subject may change, with its context, not locked: something above it is.

    Raises NotFound, Forbidden.
    """
    return allowed(_one(kind.rows().with_context(), kind=kind, subject=subject, id=id), kind=kind)


def changeable_project(*, subject: str, id: str) -> Project:
    """Return the project that a row is to be added to, not locked. Raises NotFound, Forbidden."""
    return cast("Project", allowed(_one(PROJECT.rows(), kind=PROJECT, subject=subject, id=id), kind=PROJECT))


def named_rows(named: Sequence[Named], *, subject: str, project_id: UUID | None = None) -> list[Entity]:
    """Return the rows that edges are to join, in the order of `named`, in one query a kind.

    They are locked until the transaction ends, so that none moves to another project or is deleted meanwhile; a
    project is not, for it does neither lightly and is named by many. Raises NotFound for those that the subject does
    not see, or that are not in the project where one is given, told by the first of them; Forbidden.
    """
    found: dict[tuple[str, UUID], Entity] = {}
    for kind in KINDS.values():  # kinds and ids in a fixed order: two calls never wait for each other
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
        message = "You may see this project, but only its owner may delete it; ask the owner to do so."
        raise Forbidden(message, reason=decision.reason)
    return cast("Project", project)


def require_project(*, subject: str, id: str) -> None:
    """Raise NotFound unless the subject sees the project."""
    if not PROJECT.rows().visible_to(subject).filter(pk=id).exists():
        raise not_found(PROJECT)


def require_row(kind: Kind, *, subject: str, id: str, argument: str) -> None:
    """Raise NotFound, naming the argument, unless the subject sees the row."""
    project_of(kind, subject=subject, id=id, argument=argument)


def project_of(kind: Kind, *, subject: str, id: str, argument: str = "") -> UUID:
    """Return the id of the project that a row lies in. Raises NotFound, naming the argument."""
    column = "pk" if kind is PROJECT else "project_id"
    found: UUID | None = kind.rows().visible_to(subject).filter(pk=id).values_list(column, flat=True).first()
    if found is None:
        raise not_found(kind, argument=argument)
    return found


def allowed(row: Entity, *, kind: Kind) -> Entity:
    """Return a row that the subject sees, if its role lets it change the row. Raises Forbidden."""
    decision = policies.may_change(role=row.subject_role)
    if not decision.allowed:
        message = f"You may see this {kind.name}, but not change it; ask an owner or editor of the project to do so."
        raise Forbidden(message, reason=decision.reason)
    return row


def not_found(kind: Kind, *, argument: str = "", place: str = "") -> NotFound:
    """Return the refusal of an id: the same words whether the row is foreign, deleted, or never was."""
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
