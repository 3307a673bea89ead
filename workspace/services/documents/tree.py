"""The tree of documents: parents, order, moves, and many documents at once.

Siblings have the positions 0, 1, 2 … without gaps. The parent of a living document is living and in the same project.
To guarantee this, every change first locks the tree: two valid concurrent moves could form a cycle, and two new
documents could take the same position. To prevent deadlocks, the project's row is locked before its documents, and
documents are locked in order of id.
"""

from collections import deque
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from itertools import islice
from uuid import UUID

from django.db.models import F

from workspace.models import Document, Project
from workspace.models.document import DocumentQuerySet

ParentPair = tuple[UUID, UUID | None]  # a document and its parent

# Temporary offset for positions during a shift: PostgreSQL checks the unique constraint after each row, not at the end
# of the statement.
SHIFT_OFFSET = 1_000_000_000


class DocumentForest:
    """Document ids by parent. A document whose parent is not included is at the root, under None."""

    def __init__(self, pairs: Iterable[ParentPair]) -> None:
        """Build the forest from (document, parent) pairs in order of position."""
        parents = dict(pairs)
        self.parents = {id: parent if parent in parents else None for id, parent in parents.items()}
        self._children: dict[UUID | None, list[UUID]] = {}
        for id, parent in self.parents.items():
            self._children.setdefault(parent, []).append(id)

    @classmethod
    def load(cls, project_id: UUID) -> "DocumentForest":
        """Load the documents of a project that are not deleted, in one query."""
        alive = Document.objects.filter(project=project_id, deleted_at=None)
        return cls(alive.order_by("position", "created_at", "pk").values_list("pk", "parent_id"))

    def __contains__(self, id: UUID) -> bool:
        return id in self.parents

    def __len__(self) -> int:
        return len(self.parents)

    def get_children(self, id: UUID | None) -> list[UUID]:
        """Return the direct children of a document, in order."""
        return self._children.get(id, [])

    def get_path(self, id: UUID) -> list[UUID]:
        """Return the ids from the root to a document, inclusive."""
        path_ids = [id]
        while (parent_id := self.parents.get(path_ids[-1])) is not None and parent_id not in path_ids:
            path_ids.append(parent_id)
        return path_ids[::-1]

    def iter_descendants(self, id: UUID | None) -> Iterator[UUID]:
        """Yield all descendants of a document in breadth-first order."""
        level = deque(self.get_children(id))
        while level:
            yield level[0]
            level.extend(self.get_children(level.popleft()))

    def list_descendants(self, id: UUID | None, *, levels: int, limit: int, offset: int = 0) -> list[UUID]:
        """Return at most `limit` descendants of a document in breadth-first order, down to `levels` levels.

        Skips the first `offset` children with all their descendants.
        """
        return list(islice(self._iter_levels(self.get_children(id)[offset:], levels), limit))

    def _iter_levels(self, level: list[UUID], levels: int) -> Iterator[UUID]:
        for _ in range(levels):
            yield from level
            level = [child for parent_id in level for child in self.get_children(parent_id)]


def lock_tree(project_id: UUID) -> Project:
    """Lock the project's document tree until the transaction ends. Return the project with its tree_version."""
    return Project.objects.select_for_update(no_key=True).only("tree_version").get(pk=project_id)


def has_document(project: Project, id: UUID | str) -> bool:
    """Whether the project has a living document with this id."""
    return Document.objects.filter(pk=id, project=project, deleted_at=None).exists()


def increment_version(project: Project) -> None:
    """Increment tree_version, so that callers with an older version are refused."""
    project.tree_version += 1
    project.save(update_fields=["tree_version"])


def insert_document(document: Document, project: Project, *, position: int | None = None) -> None:
    """Save a new document at a position among its siblings, by default the last."""
    siblings = _filter_siblings(document.parent_id, project)
    if position is not None:
        _lock_documents(siblings)
    document.position = _make_room(siblings, at=position)
    document.save(force_insert=True)
    increment_version(project)


def move_document(document: Document, project: Project, *, parent_id: UUID | None, position: int, at: datetime) -> bool:
    """Move a document with its descendants under a parent or to the root. Return whether that changed anything.

    `position` is among the new siblings, at most the last. The caller must have checked that the parent is a document
    of the project, and neither the document itself nor one of its descendants.
    """
    old_siblings = _filter_siblings(document.parent_id, project).exclude(pk=document.pk)
    new_siblings = _filter_siblings(parent_id, project).exclude(pk=document.pk)
    target_position = min(position, new_siblings.count())
    if (parent_id, target_position) == (document.parent_id, document.position):
        return False
    _lock_documents(_filter_siblings(document.parent_id, project) | _filter_siblings(parent_id, project))
    Document.objects.filter(pk=document.pk).update(position=None)
    _shift_positions(old_siblings, start=_get_position(document) + 1, by=-1)
    document.parent_id, document.position = parent_id, _make_room(new_siblings, at=target_position)
    document.updated_at = at
    document.save(update_fields=["parent", "position", "updated_at"])
    increment_version(project)
    return True


def delete_document(document: Document, project: Project, *, promote: bool, at: datetime) -> int:
    """Mark a document as deleted and return the number of its descendants.

    They are deleted with it. With `promote`, its children take its place instead, in their order.
    """
    descendant_ids = list(DocumentForest.load(project.pk).iter_descendants(document.pk))
    deleted_ids = [document.pk] if promote else [document.pk, *descendant_ids]
    siblings, children = _filter_siblings(document.parent_id, project), _filter_siblings(document.pk, project)
    _lock_documents(Document.objects.filter(pk__in=descendant_ids) | siblings)
    Document.objects.filter(pk__in=deleted_ids).update(deleted_at=at)
    _shift_positions(siblings, start=_get_position(document) + 1, by=children.count() - 1)
    children.update(parent=document.parent_id, position=F("position") + _get_position(document))
    increment_version(project)
    return len(descendant_ids)


def delete_documents(ids: Collection[UUID], *, at: datetime) -> int:
    """Mark documents and all their descendants as deleted, and return their number."""
    count = 0
    for project in _lock_trees(ids):
        for id in ids:
            document = Document.objects.filter(pk=id, project=project, deleted_at=None).first()
            if document is not None:  # it may have been deleted with an earlier one
                count += 1 + delete_document(document, project, promote=False, at=at)
    return count


def restore_documents(ids: Collection[UUID]) -> tuple[int, int]:
    """Restore deleted documents. Return their number, and how many of them moved to the root.

    Each goes last under its parent, or last at the root if the parent is still deleted.
    """
    count = moved_count = 0
    for project in _lock_trees(ids):
        deleted = Document.objects.filter(pk__in=ids, project=project).exclude(deleted_at=None)
        for document in sort_parents_first(deleted.order_by("position", "created_at", "pk")):
            if document.parent_id is not None and not has_document(project, document.parent_id):
                document.parent_id = None
                moved_count += 1
            document.position = _filter_siblings(document.parent_id, project).count()
            document.deleted_at = None
            document.save(update_fields=["parent", "position", "deleted_at"])
            count += 1
        increment_version(project)
    return count, moved_count


def _lock_trees(ids: Collection[UUID]) -> Iterator[Project]:
    """Lock and yield the projects of the documents, in a fixed order."""
    yield from map(lock_tree, sorted(set(Document.objects.filter(pk__in=ids).values_list("project_id", flat=True))))


def restore_document(document: Document, project: Project) -> None:
    """Restore a deleted document at its position, or last if it has fewer siblings now. Its parent must be alive."""
    siblings = _filter_siblings(document.parent_id, project)
    _lock_documents(siblings)
    document.position, document.deleted_at = _make_room(siblings, at=document.position), None
    document.save(update_fields=["position", "deleted_at"])
    increment_version(project)


def sort_parents_first(documents: Iterable[Document]) -> list[Document]:
    """Return documents in an order in which each parent comes before its children."""
    documents_by_id = {document.pk: document for document in documents}
    forest = DocumentForest((document.pk, document.parent_id) for document in documents_by_id.values())
    return [documents_by_id[id] for id in forest.iter_descendants(None)]


def _filter_siblings(parent_id: UUID | None, project: Project) -> DocumentQuerySet:
    return Document.objects.children_of(parent_id, project_id=project.pk)


def _lock_documents(documents: DocumentQuerySet) -> None:
    """Lock the documents in order of id, so that concurrent calls cannot deadlock."""
    list(documents.order_by("pk").select_for_update(no_key=True).values_list("pk"))


def _make_room(siblings: DocumentQuerySet, *, at: int | None) -> int:
    """Return the position for one more sibling, by default the last, and shift the siblings from there on."""
    count = siblings.count()
    if at is None or at >= count:
        return count
    _shift_positions(siblings, start=at, by=1)
    return at


def _shift_positions(siblings: DocumentQuerySet, *, start: int, by: int) -> None:
    """Shift the positions of all siblings from `start` on, by way of SHIFT_OFFSET."""
    if by:
        siblings.filter(position__gte=start).update(position=F("position") + SHIFT_OFFSET)
        siblings.filter(position__gte=SHIFT_OFFSET).update(position=F("position") - SHIFT_OFFSET + by)


def _get_position(document: Document) -> int:
    return document.position or 0
