"""The shape of a project's documents: which lies under which, in order, and nothing of what they say."""

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from uuid import UUID

from workspace.models import Document

Placed = tuple[UUID, UUID | None]  # a document and the one it lies under


class Forest:
    """Documents by what they lie under. One whose parent is not among them lies at the root, under None."""

    def __init__(self, placed: Iterable[Placed]) -> None:
        """Take the documents in the order of their positions."""
        found = dict(placed)
        self.parents = {id: parent if parent in found else None for id, parent in found.items()}
        self._children: dict[UUID | None, list[UUID]] = {}
        for id, parent in self.parents.items():
            self._children.setdefault(parent, []).append(id)

    @classmethod
    def of(cls, project_id: UUID) -> "Forest":
        """Read the documents of a project that are not deleted, in one query."""
        alive = Document.objects.filter(project=project_id, deleted_at=None)
        return cls(alive.order_by("position", "created_at", "pk").values_list("pk", "parent_id"))

    def __contains__(self, id: UUID) -> bool:
        return id in self.parents

    def __len__(self) -> int:
        return len(self.parents)

    def children(self, id: UUID | None) -> list[UUID]:
        """Return what lies directly under a document, in order."""
        return self._children.get(id, [])

    def path(self, id: UUID) -> list[UUID]:
        """Return the way from the root to a document, both ends included."""
        found = [id]
        while (above := self.parents.get(found[-1])) is not None and above not in found:
            found.append(above)
        return found[::-1]

    def below(self, id: UUID | None) -> Iterator[UUID]:
        """Yield all that lies under a document, level by level, each level in order."""
        level = deque(self.children(id))
        while level:
            yield level[0]
            level.extend(self.children(level.popleft()))

    def top(self, id: UUID | None, *, levels: int, limit: int, offset: int = 0) -> list[UUID]:
        """Return what lies under a document down to a level, level by level: what is near comes before what is deep.

        At most `limit` documents; of its children the first `offset` are left out, with all that is under them.
        """
        return list(islice(self._down(self.children(id)[offset:], levels), limit))

    def _down(self, level: list[UUID], levels: int) -> Iterator[UUID]:
        for _ in range(levels):
            yield from level
            level = [child for each in level for child in self.children(each)]
