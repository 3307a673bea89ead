"""The document tree of a project: parents and ordered children, without the documents' contents."""

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from uuid import UUID

from workspace.models import Document

ParentPair = tuple[UUID, UUID | None]  # a document and its parent


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
