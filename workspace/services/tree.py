"""Insert, move, delete and restore documents in a project's document tree.

Siblings have the positions 0, 1, 2 … without gaps. The parent of a living document is living and in the same project.
To guarantee this, every change first locks the tree: two valid concurrent moves could form a cycle, and two new
documents could take the same position. To prevent deadlocks, the project's row is locked before its documents, and
documents are locked in order of id.
"""

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from uuid import UUID

from django.db.models import F

from workspace.models import Document, Project
from workspace.models.document import DocumentQuerySet
from workspace.services.forest import Forest

# Temporary offset for positions during a shift: PostgreSQL checks the unique constraint after each row, not at the end
# of the statement.
ASIDE = 1_000_000_000


def hold(project_id: UUID) -> Project:
    """Lock the project's document tree until the transaction ends. Return the project with its tree_version."""
    return Project.objects.select_for_update(no_key=True).only("tree_version").get(pk=project_id)


def holds(project: Project, id: UUID | str) -> bool:
    """Whether the project has a living document with this id."""
    return Document.objects.filter(pk=id, project=project, deleted_at=None).exists()


def changed(project: Project) -> None:
    """Increment tree_version, so that callers with an older version are refused."""
    project.tree_version += 1
    project.save(update_fields=["tree_version"])


def insert(document: Document, project: Project, *, position: int | None = None) -> None:
    """Save a new document at a position among its siblings, by default the last."""
    siblings = _family(document.parent_id, project)
    if position is not None:
        _lock(siblings)
    document.position = _make_room(siblings, at=position)
    document.save(force_insert=True)
    changed(project)


def move(document: Document, project: Project, *, parent_id: UUID | None, position: int, at: datetime) -> bool:
    """Move a document with its descendants under a parent or to the root. Return whether that changed anything.

    `position` is among the new siblings, at most the last. The caller must have checked that the parent is a document
    of the project, and neither the document itself nor one of its descendants.
    """
    left = _family(document.parent_id, project).exclude(pk=document.pk)
    joined = _family(parent_id, project).exclude(pk=document.pk)
    place = min(position, joined.count())
    if (parent_id, place) == (document.parent_id, document.position):
        return False
    _lock(_family(document.parent_id, project) | _family(parent_id, project))
    Document.objects.filter(pk=document.pk).update(position=None)
    _shift(left, since=_place(document) + 1, by=-1)
    document.parent_id, document.position = parent_id, _make_room(joined, at=place)
    document.updated_at = at
    document.save(update_fields=["parent", "position", "updated_at"])
    changed(project)
    return True


def remove(document: Document, project: Project, *, promote: bool, at: datetime) -> int:
    """Mark a document as deleted and return the number of its descendants.

    They are deleted with it. With `promote`, its children take its place instead, in their order.
    """
    below = list(Forest.of(project.pk).below(document.pk))
    gone = [document.pk] if promote else [document.pk, *below]
    siblings, children = _family(document.parent_id, project), _family(document.pk, project)
    _lock(Document.objects.filter(pk__in=below) | siblings)
    Document.objects.filter(pk__in=gone).update(deleted_at=at)
    _shift(siblings, since=_place(document) + 1, by=children.count() - 1)
    children.update(parent=document.parent_id, position=F("position") + _place(document))
    changed(project)
    return len(below)


def remove_all(ids: Collection[UUID], *, at: datetime) -> int:
    """Mark documents and all their descendants as deleted, and return their number."""
    number = 0
    for project in _held(ids):
        for id in ids:
            document = Document.objects.filter(pk=id, project=project, deleted_at=None).first()
            if document is not None:  # it may have been deleted with an earlier one
                number += 1 + remove(document, project, promote=False, at=at)
    return number


def restore_all(ids: Collection[UUID]) -> tuple[int, int]:
    """Restore deleted documents. Return their number, and how many of them moved to the root.

    Each goes last under its parent, or last at the root if the parent is still deleted.
    """
    number = uprooted = 0
    for project in _held(ids):
        gone = Document.objects.filter(pk__in=ids, project=project).exclude(deleted_at=None)
        for document in _parents_first(gone.order_by("position", "created_at", "pk")):
            if document.parent_id is not None and not holds(project, document.parent_id):
                document.parent_id = None
                uprooted += 1
            document.position = _family(document.parent_id, project).count()
            document.deleted_at = None
            document.save(update_fields=["parent", "position", "deleted_at"])
            number += 1
        changed(project)
    return number, uprooted


def _held(ids: Collection[UUID]) -> Iterator[Project]:
    """Lock and yield the projects of the documents, in a fixed order."""
    yield from map(hold, sorted(set(Document.objects.filter(pk__in=ids).values_list("project_id", flat=True))))


def _parents_first(documents: Iterable[Document]) -> list[Document]:
    found = {document.pk: document for document in documents}
    forest = Forest((document.pk, document.parent_id) for document in found.values())
    return [found[id] for id in forest.below(None)]


def _family(parent_id: UUID | None, project: Project) -> DocumentQuerySet:
    return Document.objects.children_of(parent_id, project_id=project.pk)


def _lock(documents: DocumentQuerySet) -> None:
    """Lock the documents in order of id, so that concurrent calls cannot deadlock."""
    list(documents.order_by("pk").select_for_update(no_key=True).values_list("pk"))


def _make_room(siblings: DocumentQuerySet, *, at: int | None) -> int:
    """Return the position for one more sibling, by default the last, and shift the siblings from there on."""
    count = siblings.count()
    if at is None or at >= count:
        return count
    _shift(siblings, since=at, by=1)
    return at


def _shift(siblings: DocumentQuerySet, *, since: int, by: int) -> None:
    """Shift the positions of all siblings from `start` on, by way of SHIFT_OFFSET."""
    if by:
        siblings.filter(position__gte=since).update(position=F("position") + ASIDE)
        siblings.filter(position__gte=ASIDE).update(position=F("position") - ASIDE + by)


def _place(document: Document) -> int:
    return document.position or 0
