"""The document tree of a project: parents and ordered children, without the documents' contents."""

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from uuid import UUID

from workspace.models import Document

Placed = tuple[UUID, UUID | None]  # a document and its parent


class Forest:
    """Document ids by parent. A document whose parent is not included is at the root, under None."""

    def __init__(self, placed: Iterable[Placed]) -> None:
        """Build the forest from (document, parent) pairs in order of position."""
        found = dict(placed)
        self.parents = {id: parent if parent in found else None for id, parent in found.items()}
        self._children: dict[UUID | None, list[UUID]] = {}
        for id, parent in self.parents.items():
            self._children.setdefault(parent, []).append(id)

    @classmethod
    def of(cls, project_id: UUID) -> "Forest":
        """Load the documents of a project that are not deleted, in one query."""
        alive = Document.objects.filter(project=project_id, deleted_at=None)
        return cls(alive.order_by("position", "created_at", "pk").values_list("pk", "parent_id"))

    def __contains__(self, id: UUID) -> bool:
        return id in self.parents

    def __len__(self) -> int:
        return len(self.parents)

    def children(self, id: UUID | None) -> list[UUID]:
        """Return the direct children of a document, in order."""
        return self._children.get(id, [])

    def path(self, id: UUID) -> list[UUID]:
        """Return the ids from the root to a document, inclusive."""
        found = [id]
        while (above := self.parents.get(found[-1])) is not None and above not in found:
            found.append(above)
        return found[::-1]

    def below(self, id: UUID | None) -> Iterator[UUID]:
        """Yield all descendants of a document in breadth-first order."""
        level = deque(self.children(id))
        while level:
            yield level[0]
            level.extend(self.children(level.popleft()))

    def top(self, id: UUID | None, *, levels: int, limit: int, offset: int = 0) -> list[UUID]:
        """Return at most `limit` descendants of a document in breadth-first order, down to `levels` levels.

        Skips the first `offset` children with all their descendants.
        """
        return list(islice(self._down(self.children(id)[offset:], levels), limit))

    def _down(self, level: list[UUID], levels: int) -> Iterator[UUID]:
        for _ in range(levels):
            yield from level
            level = [child for each in level for child in self.children(each)]
