"""Which of two entries that cannot go together is to blame: the one that is newer in the draft."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from registry.snapshot.copy_kinds import Kind
from registry.snapshot.diff import Action, CopyChange


@dataclass(frozen=True)
class EntryAges:
    """How new entries are: 0 for one as in the live release, 1 for a changed one, 2 for one that it does not have."""

    changed: dict[tuple[Kind, str], int] = field(default_factory=dict)

    @classmethod
    def from_changes(cls, changes: Iterable[CopyChange]) -> "EntryAges":
        """Return the ages of the entries of a draft, by what changed since the live release."""
        return cls({(each.kind, each.name): 2 if each.action == Action.ADDED else 1 for each in changes})

    def get_rank(self, kind: Kind, name: str) -> int:
        """Return a number that is larger for a newer entry."""
        return self.changed.get((kind, name), 0)

    def is_newer(self, kind: Kind, name: str, other_kind: Kind, other_name: str) -> bool:
        """Return whether the first of two entries is newer."""
        return self.get_rank(kind, name) > self.get_rank(other_kind, other_name)


NO_AGES = EntryAges()  # nothing is live: what comes later is to blame
