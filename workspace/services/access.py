"""The way to a row: through the subject's membership, in one query."""

from typing import Any, cast

from workspace import policies
from workspace.errors import Forbidden, NotFound
from workspace.kinds import PROJECT, Kind
from workspace.models import Entity, EntityQuerySet, Project


def visible_row(kind: Kind, *, subject: str, id: str) -> Entity:
    """Return the row with its context. Raises NotFound."""
    return _one(kind.rows().with_context(), kind=kind, subject=subject, id=id)


def changeable_row(kind: Kind, *, subject: str, id: str) -> Entity:
    """Return the row with its context, locked until the transaction ends. Raises NotFound, Forbidden.

    The lock holds off other changes of the row, but not the insert of rows that refer to it. On SQLite there is
    none: the transaction holds the only write lock already.
    """
    found = kind.rows().with_context().select_for_update(of=("self",), no_key=True)
    return _allowed(_one(found, kind=kind, subject=subject, id=id), kind=kind)


def changeable_project(*, subject: str, id: str) -> Project:
    """Return the project that a row is to be added to, not locked. Raises NotFound, Forbidden."""
    return cast("Project", _allowed(_one(PROJECT.rows(), kind=PROJECT, subject=subject, id=id), kind=PROJECT))


def require_project(*, subject: str, id: str) -> None:
    """Raise NotFound unless the subject sees the project."""
    if not PROJECT.rows().visible_to(subject).filter(pk=id).exists():
        raise not_found(PROJECT)


def not_found(kind: Kind) -> NotFound:
    """Return the refusal of an id: the same words whether the row is foreign, deleted, or never was."""
    return NotFound(
        f"No {kind.name} that you can see has this {kind.id_argument}; "
        f"find its id with {kind.path('list')} or {kind.path('search')}."
    )


def _one(found: EntityQuerySet[Any], *, kind: Kind, subject: str, id: str) -> Entity:
    row: Entity | None = found.visible_to(subject).filter(pk=id).first()
    if row is None:
        raise not_found(kind)
    return row


def _allowed(row: Entity, *, kind: Kind) -> Entity:
    decision = policies.may_change(role=row.subject_role)
    if not decision.allowed:
        message = f"You may see this {kind.name}, but not change it; ask an owner or editor of the project to do so."
        raise Forbidden(message, reason=decision.reason)
    return row
