"""Undo a recorded write: rows that it created are deleted, others get the columns back that it changed."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import IntegrityError, models, transaction

from core.handler_contract import Forbidden, StateConflict
from workspace.entity_types import ENTITY_TYPE_BY_NAME, EVENT
from workspace.models import (
    EDITING_ROLES,
    CalendarEvent,
    Document,
    Edge,
    Goal,
    MemberRole,
    Membership,
    Milestone,
    Plan,
    Project,
    ProjectCalendar,
    Requirement,
    Risk,
    Task,
    WriteRecord,
)
from workspace.services.documents import tree
from workspace.services.documents.tree import DocumentForest
from workspace.services.entities import changes, serialization
from workspace.services.undo.recording import UNCOMPARED, get_column_names, serialize_value, shorten

# In the order in which rows are locked: that of other writes, to prevent deadlocks.
MODELS: tuple[type[models.Model], ...] = (
    *(Project, Task, Document, Goal, Plan, Milestone, Risk, Requirement),
    *(CalendarEvent, ProjectCalendar, Edge),
)
MODELS_BY_NAME = {str(model._meta.model_name): model for model in MODELS}
PLACEMENT = frozenset({"parent_id", "position", "deleted_at"})  # of documents, which only services.tree changes
DELETED = "deleted_at"
MAX_NAMED = 5  # rows in an error
IN_PROJECT = (Task, Document, Goal, Plan, Milestone, Risk, Requirement)


@dataclass(slots=True)
class RecordedRow:
    """A row of a write: its columns before (None if the write created it) and after, and the row as it is now."""

    model: type[models.Model]
    id: UUID
    before: dict[str, Any] | None
    after: dict[str, Any]
    now: Any = None

    @property
    def is_restored(self) -> bool:
        """Whether the write deleted the row."""
        return self.before is not None and DELETED in self.before and self.before[DELETED] is None


@dataclass(slots=True)
class Undo:
    """One write to undo, on behalf of its subject."""

    record: WriteRecord
    at: datetime
    rows: list[RecordedRow] = field(default_factory=list)

    @property
    def subject(self) -> str:
        """Who made the write and undoes it."""
        return self.record.subject

    @property
    def creates_project(self) -> bool:
        """Whether the write created a project: deleting it hides everything in it."""
        return any(row.model is Project and row.before is None for row in self.rows)

    def list_rows(self, model: type[models.Model]) -> list[RecordedRow]:
        """Return the rows of a model."""
        return [row for row in self.rows if row.model is model]


def undo_write(record: WriteRecord, *, at: datetime) -> list[str]:
    """Undo a write and return the ids of its rows. Raises StateConflict if one has changed since, Forbidden."""
    undo = Undo(record, at)
    undo.rows = [
        RecordedRow(MODELS_BY_NAME[row["model"]], UUID(row["id"]), row["before"], row["after"])
        for row in record.rows
        if row["model"] in MODELS_BY_NAME
    ]
    _lock_rows(undo)
    _check_permission(undo)
    if conflicts := list(_find_conflicts(undo)):
        raise _build_conflict_error(conflicts)
    try:
        with transaction.atomic():
            _restore_rows(undo)
            _restore_documents(undo)
    except IntegrityError:
        raise _build_conflict_error(["other rows now rule out how it was before"]) from None
    WriteRecord.objects.filter(pk=record.pk).update(undone_at=at)
    return [str(row.id) for row in undo.rows]


def _lock_rows(undo: Undo) -> None:
    projects = Document.objects.filter(pk__in=[row.id for row in undo.list_rows(Document)]).values_list("project_id")
    for (project_id,) in sorted(set(projects)):
        tree.lock_tree(project_id)
    for model in MODELS:
        rows = {row.id: row for row in undo.list_rows(model)}
        locked = model._base_manager.filter(pk__in=list(rows)).order_by("pk").select_for_update(no_key=True)
        for now in locked if rows else ():
            rows[now.pk].now = now


def _check_permission(undo: Undo) -> None:
    """Raise Forbidden unless the subject can still change the projects of the rows, and owns those to delete."""
    projects = {id for row in undo.rows for id in _iter_projects(row)}
    owned = {row.id for row in undo.list_rows(Project) if row.before is None or DELETED in row.before}
    memberships = Membership.objects.filter(subject=undo.subject, project__in=projects, deleted_at=None)
    roles: dict[UUID, str] = dict(memberships.values_list("project_id", "role"))
    needed = {id: (MemberRole.OWNER,) if id in owned else EDITING_ROLES for id in projects}
    if any(roles.get(id) not in allowed for id, allowed in needed.items()):
        message = "You can no longer change the project of this write, so you cannot undo it; ask its owner."
        raise Forbidden(message, reason="viewer_may_not_change")


def _iter_projects(row: RecordedRow) -> Iterator[UUID]:
    """Yield the project that a row is in, and the one that it was in."""
    if row.model is Project:
        yield row.id
    elif row.now is not None and row.now.project_id:
        yield row.now.project_id
    if row.before and row.before.get("project_id"):
        yield UUID(row.before["project_id"])


def _find_conflicts(undo: Undo) -> Iterator[str]:
    """Yield what has changed since the write, in words."""
    for row in undo.rows:
        if row.now is None:
            yield f"a {row.model._meta.verbose_name} is gone"
        elif (row.now.deleted_at and DELETED not in row.after | (row.before or {})) or _is_created_and_deleted(row):
            yield f"{_name_row(row)} was deleted"
        elif changed := _describe_changes(row):
            yield f"{_name_row(row)}: {changed}"
    if not undo.creates_project:
        yield from _find_deleted_projects(undo)
        yield from _find_document_conflicts(undo)
    else:
        yield from _find_added_rows(undo)


def _is_created_and_deleted(row: RecordedRow) -> bool:
    return row.before is None and row.now.deleted_at is not None and row.after.get(DELETED) is None


def _describe_changes(row: RecordedRow) -> str:
    """Return the columns that differ from what the write left, as `state_key todo → done`."""
    now = {name: serialize_value(getattr(row.now, name)) for name in row.after}
    changed = [name for name, value in row.after.items() if shorten(now[name]) != value]
    plain = [name for name in changed if not isinstance(row.after[name], dict)]
    parts = [changes.describe_changes(row.after, now, plain), *(name for name in changed if name not in plain)]
    return ", ".join(filter(None, parts))


def _find_deleted_projects(undo: Undo) -> Iterator[str]:
    restored = {row.id for row in undo.list_rows(Project) if row.is_restored}
    ids = {id for row in undo.rows for id in _iter_projects(row)} - restored
    for project in Project.objects.filter(pk__in=ids).exclude(deleted_at=None):
        yield f"the project {serialization.quote_name(project.name)} was deleted"


def _find_added_rows(undo: Undo) -> Iterator[str]:
    """Yield what was added to a project that the write created: undoing it would hide that, too."""
    known = {row.id for row in undo.rows}
    for project in undo.list_rows(Project):
        for model in IN_PROJECT:
            rows = model._base_manager.filter(project=project.id, deleted_at=None).exclude(pk__in=known)
            if count := rows.count():
                yield f"{count} {model._meta.verbose_name if count == 1 else model._meta.verbose_name_plural} added"


def _find_document_conflicts(undo: Undo) -> Iterator[str]:
    """Yield documents that cannot go back to where they were."""
    documents = undo.list_rows(Document)
    for project_id in {row.now.project_id for row in documents if row.now is not None}:
        forest, restored = DocumentForest.load(project_id), {row.id for row in documents if row.is_restored}
        for row in documents:
            if row.before is None and not set(forest.iter_descendants(row.id)) <= {each.id for each in documents}:
                yield f"documents were put below {_name_row(row)}"
            parent = _get_old_parent(row)
            if parent is None or not _is_placed(row, undo) or row.before is None:
                continue
            if parent not in forest and parent not in restored:
                yield f"the document above {_name_row(row)} was deleted"
            elif parent in forest and row.id in forest.get_path(parent):
                yield f"the document above {_name_row(row)} is now below it"


def _get_old_parent(row: RecordedRow) -> UUID | None:
    value = (row.before or {}).get("parent_id", row.now.parent_id and str(row.now.parent_id))
    return UUID(value) if value else None


def _is_placed(row: RecordedRow, undo: Undo) -> bool:
    """Whether the write itself placed a document. Others only made room for it."""
    if row.before is None or not {"parent_id", DELETED}.isdisjoint(row.before):
        return True
    return "position" in row.before and str(row.id) == undo.record.entity_id


def _restore_rows(undo: Undo) -> None:
    """Delete created rows and set changed columns back, deleted rows last: two rows may not have one place."""
    only_project = undo.creates_project
    for row in sorted(undo.rows, key=lambda each: (each.before is not None, each.is_restored)):
        if row.before is None and (row.model is Document or (only_project and row.model is not Project)):
            continue
        columns = _build_columns(row, undo.at)
        if row.model is Edge and row.is_restored and _has_twin(row.now):
            continue
        if columns:
            row.model._base_manager.filter(pk=row.id).update(**columns)


def _build_columns(row: RecordedRow, at: datetime) -> dict[str, Any]:
    if row.before is None:
        return {DELETED: at}
    left_out = UNCOMPARED | (PLACEMENT if row.model is Document else frozenset())
    names = [name for name in row.before if name not in left_out]
    columns = {name: row.model._meta.get_field(name).to_python(row.before[name]) for name in names}  # type: ignore[union-attr]
    return columns | ({"updated_at": at} if columns and "updated_at" in get_column_names(row.model) else {})


def _has_twin(edge: Edge) -> bool:
    """Whether the same rows were linked again."""
    twins = Edge.objects.filter(src_id=edge.src_id, rel=edge.rel, dst_id=edge.dst_id, deleted_at=None)
    return twins.exclude(pk=edge.pk).exists()


def _restore_documents(undo: Undo) -> None:
    """Put documents back to where they were: first those that were created or deleted, then those that were moved."""
    if undo.creates_project:
        return
    rows = [row for row in undo.list_rows(Document) if _is_placed(row, undo)]
    for row in rows:
        if row.before is None and Document.objects.filter(pk=row.id, deleted_at=None).exists():
            document = Document.objects.get(pk=row.id)
            tree.delete_document(document, tree.lock_tree(document.project_id), promote=False, at=undo.at)
    _restore_deleted(row.id for row in rows if row.is_restored)
    moved = [row for row in rows if row.before is not None and not row.is_restored]
    for row in sorted(moved, key=_get_old_position):
        document = Document.objects.get(pk=row.id)
        project = tree.lock_tree(document.project_id)
        parent = _get_old_parent(row)
        tree.move_document(document, project, parent_id=parent, position=_get_old_position(row), at=undo.at)


def _restore_deleted(ids: Iterable[UUID]) -> None:
    documents = tree.sort_parents_first(Document.objects.filter(pk__in=list(ids)).order_by("position"))
    for document in documents:
        tree.restore_document(document, tree.lock_tree(document.project_id))


def _get_old_position(row: RecordedRow) -> int:
    return int((row.before or {}).get("position", row.now.position) or 0)


def _name_row(row: RecordedRow) -> str:
    name = str(row.model._meta.model_name)
    kind = EVENT if row.model is CalendarEvent else ENTITY_TYPE_BY_NAME.get(name)
    label = serialization.quote_name(getattr(row.now, kind.label)) if kind else "of the write"
    return f"the {row.model._meta.verbose_name} {label}"


def _build_conflict_error(conflicts: Sequence[str]) -> StateConflict:
    shown = "; ".join(conflicts[:MAX_NAMED])
    more = f"; and {len(conflicts) - MAX_NAMED} more" if len(conflicts) > MAX_NAMED else ""
    message = (
        f"Nothing was undone, because this has changed since: {shown}{more}. Undo the later writes first, or change "
        "the rows by hand."
    )
    return StateConflict(message, reason="moved_on", details={"changed": list(conflicts[:MAX_NAMED])})
