"""Changing the tree of a project's documents: what is put in, moved, taken out and put back.

Siblings stand at 0, 1, 2 … without a gap. What is not deleted lies under nothing that is, and under nothing of another
project. To keep it so, whoever changes a tree first holds it (`hold`): of two moves at once, each sound by itself, one
could close a circle, and two new documents would take one place. A project's row is locked before its documents, and
these by id, so that no two calls wait for each other.
"""

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from uuid import UUID

from django.db.models import F

from workspace.models import Document, Project
from workspace.models.document import DocumentQuerySet
from workspace.services.forest import Forest

# Where siblings wait on their way to other places: PostgreSQL holds row after row against the rule that no two of them
# stand in one place, and not the statement's end.
ASIDE = 1_000_000_000


def hold(project_id: UUID) -> Project:
    """Return a project, with its tree_version, whose documents nobody else moves until the transaction ends."""
    return Project.objects.select_for_update(no_key=True).only("tree_version").get(pk=project_id)


def holds(project: Project, id: UUID | str) -> bool:
    """Whether a document of the project has this id; a deleted one is none."""
    return Document.objects.filter(pk=id, project=project, deleted_at=None).exists()


def changed(project: Project) -> None:
    """Count a change of the tree, so that whoever read it before is told."""
    project.tree_version += 1
    project.save(update_fields=["tree_version"])


def insert(document: Document, project: Project, *, position: int | None = None) -> None:
    """Save a new document at a position among its siblings, at most the last, which is the default."""
    siblings = _family(document.parent_id, project)
    if position is not None:
        _lock(siblings)
    document.position = _make_room(siblings, at=position)
    document.save(force_insert=True)
    changed(project)


def move(document: Document, project: Project, *, parent_id: UUID | None, position: int, at: datetime) -> bool:
    """Put a document, and with it what lies under it, under another or at the root; return whether that is a change.

    The position is among its new siblings, at most the last. The caller has seen to it that the parent is one of the
    project's documents, and not the document itself or below it.
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
    """Mark a document deleted and return how many lay under it.

    They are deleted with it or, to promote them, its children take its place, in their order.
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
    """Mark documents deleted with all that lies under them, and return how many that were."""
    number = 0
    for project in _held(ids):
        for id in ids:
            document = Document.objects.filter(pk=id, project=project, deleted_at=None).first()
            if document is not None:  # it may have gone with one before it
                number += 1 + remove(document, project, promote=False, at=at)
    return number


def restore_all(ids: Collection[UUID]) -> tuple[int, int]:
    """Take back that documents were deleted; return how many, and how many of them had to leave what they lay under.

    Each comes last under its parent or, where that is deleted still, last at the root.
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
    """Yield the projects of documents, each held, in a fixed order."""
    yield from map(hold, sorted(set(Document.objects.filter(pk__in=ids).values_list("project_id", flat=True))))


def _parents_first(documents: Iterable[Document]) -> list[Document]:
    found = {document.pk: document for document in documents}
    forest = Forest((document.pk, document.parent_id) for document in found.values())
    return [found[id] for id in forest.below(None)]


def _family(parent_id: UUID | None, project: Project) -> DocumentQuerySet:
    return Document.objects.children_of(parent_id, project_id=project.pk)


def _lock(documents: DocumentQuerySet) -> None:
    """Wait for whoever is changing one of them before any is changed, by id as `access.named_rows` does."""
    list(documents.order_by("pk").select_for_update(no_key=True).values_list("pk"))


def _make_room(siblings: DocumentQuerySet, *, at: int | None) -> int:
    """Return the place of one more sibling: the one asked for, at most the last. Those from there on move up."""
    count = siblings.count()
    if at is None or at >= count:
        return count
    _shift(siblings, since=at, by=1)
    return at


def _shift(siblings: DocumentQuerySet, *, since: int, by: int) -> None:
    """Move all siblings from a place on, by way of ASIDE."""
    if by:
        siblings.filter(position__gte=since).update(position=F("position") + ASIDE)
        siblings.filter(position__gte=ASIDE).update(position=F("position") - ASIDE + by)


def _place(document: Document) -> int:
    return document.position or 0
