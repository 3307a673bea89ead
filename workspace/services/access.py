"""Who can see or change which rows, and the profile of a user."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID
from zoneinfo import ZoneInfo

from core.handler_contract import ArgumentError, Forbidden, NotFound
from workspace.entity_types import ENTITY_TYPE_BY_NAME, PROJECT, EntityType
from workspace.models import EDITING_ROLES, Entity, EntityQuerySet, MemberRole, Profile, Project


def get_profile(subject: str) -> Profile:
    """Return the subject's profile, or an unsaved one with the defaults."""
    return Profile.objects.filter(subject=subject).first() or Profile(subject=subject)


def get_zone(subject: str) -> ZoneInfo:
    """Return the time zone of the subject's calendar times."""
    return get_profile(subject).zone


@dataclass(frozen=True, slots=True)
class RoleDecision:
    """Whether an action is allowed, and the name of the case."""

    allowed: bool
    reason: str


def check_view(*, role: str | None) -> RoleDecision:
    """Allow every member to see the project and everything in it. For everyone else it does not exist."""
    return RoleDecision(True, "member") if role in MemberRole.values else RoleDecision(False, "not_a_member")


def check_change(*, role: str | None) -> RoleDecision:
    """Allow owners and editors to change the project and everything in it. Viewers only read."""
    if role in EDITING_ROLES:
        return RoleDecision(True, f"{role}_may_change")
    return RoleDecision(False, "viewer_may_not_change") if check_view(role=role).allowed else check_view(role=role)


def check_delete_project(*, role: str | None) -> RoleDecision:
    """Allow only owners to delete the project, because that removes it for all members."""
    if role == MemberRole.OWNER:
        return RoleDecision(True, "owner_may_delete")
    return RoleDecision(False, "only_owner_may_delete") if check_view(role=role).allowed else check_view(role=role)


@dataclass(frozen=True, slots=True)
class NamedRow:
    """A row that a call refers to: its kind, its id and the name of the argument."""

    kind: str
    id: UUID
    argument: str


def get_visible_row(kind: EntityType, *, subject: str, id: str, argument: str = "") -> Entity:
    """Return the row with its context. Raises NotFound, naming the argument."""
    return _get_one(kind.get_rows().with_context(), kind=kind, subject=subject, id=id, argument=argument)


def lock_changeable_row(kind: EntityType, *, subject: str, id: str) -> Entity:
    """Return the row with its context, locked until the transaction ends. Raises NotFound, Forbidden.

    The lock blocks other changes of the row, but not inserts of rows that refer to it. SQLite has no row locks: the
    transaction already holds the only write lock.
    """
    return require_change_permission(_get_one(_lock_rows(kind), kind=kind, subject=subject, id=id), kind=kind)


def get_changeable_row(kind: EntityType, *, subject: str, id: str) -> Entity:
    """Return a row that the subject can change, with its context, without locking it.

    For callers that have locked something above the row. Raises NotFound, Forbidden.
    """
    return require_change_permission(
        _get_one(kind.get_rows().with_context(), kind=kind, subject=subject, id=id), kind=kind
    )


def get_changeable_project(*, subject: str, id: str) -> Project:
    """Return a project that the subject can add rows to, without locking it. Raises NotFound, Forbidden."""
    return cast(
        "Project",
        require_change_permission(_get_one(PROJECT.get_rows(), kind=PROJECT, subject=subject, id=id), kind=PROJECT),
    )


def lock_named_rows(named: Sequence[NamedRow], *, subject: str, project_id: UUID | None = None) -> list[Entity]:
    """Return the rows that edges will join, in the order of `named`, with one query per kind.

    The rows are locked until the transaction ends, so that they cannot be deleted or moved to another project.
    Projects are not locked, because many calls name the same project. Raises NotFound with a field error for each row
    that the subject cannot see or that is outside `project_id`; raises Forbidden.
    """
    rows: dict[tuple[str, UUID], Entity] = {}
    for kind in ENTITY_TYPE_BY_NAME.values():  # a fixed order of kinds and ids prevents deadlocks
        ids = {reference.id for reference in named if reference.kind == kind.name}
        rows |= {(kind.name, row.pk): row for row in (_filter_visible(kind, ids, subject, project_id) if ids else ())}
    if missing_rows := [reference for reference in named if (reference.kind, reference.id) not in rows]:
        raise _build_missing_error(missing_rows, place="of this project " if project_id else "")
    return [
        require_change_permission(rows[reference.kind, reference.id], kind=ENTITY_TYPE_BY_NAME[reference.kind])
        for reference in named
    ]


def lock_deletable_project(*, subject: str, id: str) -> Project:
    """Return the project with its context, locked until the transaction ends. Raises NotFound, Forbidden."""
    project = _get_one(_lock_rows(PROJECT), kind=PROJECT, subject=subject, id=id)
    decision = check_delete_project(role=project.subject_role)
    if not decision.allowed:
        message = "You can see this project, but only its owner can delete it; ask the owner."
        raise Forbidden(message, reason=decision.reason)
    return cast("Project", project)


def require_project(*, subject: str, id: str) -> None:
    """Raise NotFound unless the subject can see the project."""
    if not PROJECT.get_rows().visible_to(subject).filter(pk=id).exists():
        raise build_not_found(PROJECT)


def require_row(kind: EntityType, *, subject: str, id: str, argument: str) -> None:
    """Raise NotFound, naming the argument, unless the subject can see the row."""
    get_project_id(kind, subject=subject, id=id, argument=argument)


def get_project_id(kind: EntityType, *, subject: str, id: str, argument: str = "") -> UUID:
    """Return the id of the row's project. Raises NotFound, naming the argument."""
    column = "pk" if kind is PROJECT else "project_id"
    project_id: UUID | None = kind.get_rows().visible_to(subject).filter(pk=id).values_list(column, flat=True).first()
    if project_id is None:
        raise build_not_found(kind, argument=argument)
    return project_id


def require_change_permission(row: Entity, *, kind: EntityType) -> Entity:
    """Return the visible row if the subject's role may change it. Raises Forbidden."""
    decision = check_change(role=row.subject_role)
    if not decision.allowed:
        message = f"You can see this {kind.name} but not change it; ask an owner or editor of the project."
        raise Forbidden(message, reason=decision.reason)
    return row


def build_not_found(kind: EntityType, *, argument: str = "", place: str = "") -> NotFound:
    """Return the error for an unknown id. The message is the same if the row is hidden, deleted or never existed."""
    return NotFound(
        f"No {kind.name} {place}that you can see has this {argument or kind.id_argument}; "
        f"find its id with {kind.get_op_path('list')} or {kind.get_op_path('search')}."
    )


def _build_missing_error(named: Sequence[NamedRow], *, place: str) -> NotFound:
    """Return the error for unknown ids. Field errors say where they are, unless the text names the one argument."""
    errors = [
        build_not_found(ENTITY_TYPE_BY_NAME[reference.kind], argument=reference.argument, place=place)
        for reference in named
    ]
    if len(errors) == 1 and "/" not in named[0].argument:
        return errors[0]
    what = "1 of the ids is not a row" if len(errors) == 1 else f"{len(errors)} of the ids are not rows"
    return NotFound(
        f"{what} that you can see; field_errors says how to find it.",
        field_errors=[
            ArgumentError(f"/{reference.argument}", NotFound.reason, error.message)
            for reference, error in zip(named, errors, strict=True)
        ],
    )


def _lock_rows(kind: EntityType) -> EntityQuerySet[Any]:
    return kind.get_rows().with_context().select_for_update(of=("self",), no_key=True)


def _get_one(queryset: EntityQuerySet[Any], *, kind: EntityType, subject: str, id: str, argument: str = "") -> Entity:
    row: Entity | None = queryset.visible_to(subject).filter(pk=id).first()
    if row is None:
        raise build_not_found(kind, argument=argument)
    return row


def _filter_visible(
    kind: EntityType, ids: Iterable[UUID], subject: str, project_id: UUID | None
) -> EntityQuerySet[Any]:
    queryset = kind.get_rows().visible_to(subject).filter(pk__in=ids).order_by("pk")
    if project_id is not None:
        queryset = queryset.filter(**{"pk" if kind is PROJECT else "project_id": project_id})
    return queryset if kind is PROJECT else queryset.select_for_update(of=("self",), no_key=True)
