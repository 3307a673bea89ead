"""Select changes of the draft: what is published is the live release with the selected entries put in.

What is not selected stays in the draft. Checks, evals and token counts judge the release that would result.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, NamedTuple, cast

from core.text import json_text
from registry import checks
from registry.checks import Finding
from registry.models import Release
from registry.releases import draft_problems, restore, stored_releases
from registry.releases.stored_releases import EntryKey
from registry.snapshot import diff, snapshot
from registry.snapshot.copy_kinds import Kind
from registry.snapshot.diff import CopyChange
from registry.snapshot.entries import EMPTY_SNAPSHOT, OpEntry, Snapshot

ChooseChanges = Callable[[Sequence[CopyChange]], Collection[EntryKey]]
_WORD = re.compile(r"[\w.*/-]+")


class HashedEntry(NamedTuple):
    """A changed entry by its hashes in the live release and in the draft; "" if it does not exist there."""

    kind: str
    name: str
    before: str
    after: str


class NothingSelected(Exception):
    """A pattern matches no change. The message says which."""


@dataclass(frozen=True)
class DraftSelection:
    """The selected changes of the draft, and the release that they make."""

    live: Release | None
    before: Snapshot  # the content of the live release
    draft: Snapshot
    after: Snapshot  # the content of the release that results
    all_changes: list[CopyChange]
    changes: list[CopyChange]  # the selected ones

    @property
    def is_complete(self) -> bool:
        """Whether the whole draft is selected."""
        return len(self.changes) == len(self.all_changes)

    @property
    def keys(self) -> frozenset[EntryKey]:
        return frozenset(get_key(change) for change in self.changes)

    @property
    def all_keys(self) -> frozenset[EntryKey]:
        return frozenset(get_key(change) for change in self.all_changes)

    def hash_entries(self, keys: Collection[EntryKey] | None = None) -> list[HashedEntry]:
        """Return these entries, or the selected ones, with their hashes: reviews are of exactly these contents."""
        chosen = self.keys if keys is None else keys
        live, draft = (_index_hashes(content, chosen) for content in (self.before, self.draft))
        return [HashedEntry(*key, live.get(key, ""), draft.get(key, "")) for key in sorted(chosen)]

    def apply_changes(self, keys: Collection[EntryKey]) -> Snapshot:
        """Return the content of the live release with these entries of the draft put in."""
        chosen = [change for change in self.all_changes if get_key(change) in keys]
        if len(chosen) == len(self.all_changes):
            return self.draft
        has_words = any(change.kind == Kind.VOCABULARY for change in chosen)
        # A release without a vocabulary stands for the shipped one, which its first entry must not replace.
        before = restore.load_for_draft(self.live, self.draft) if self.live and has_words else self.before
        return restore.set_entries(before, self.draft, chosen)

    def list_audit_values(self) -> dict[str, list[Any]]:
        """Return what was selected for the audit log, as {field: [before, after]}; nothing for the whole draft."""
        if self.is_complete:
            return {}
        count = f"{len(self.changes):,} of {len(self.all_changes):,} changes"
        return {"selected": [None, count], "entries": [None, [change.name for change in self.changes]]}

    def without_contents(self) -> "DraftSelection":
        """Return the selection without the snapshots, which take a lot of memory."""
        return replace(self, before=EMPTY_SNAPSHOT, draft=EMPTY_SNAPSHOT, after=EMPTY_SNAPSHOT)


def get_key(change: CopyChange) -> EntryKey:
    """Return what identifies the entry of a change."""
    return change.kind.value, change.name


def load_whole_draft() -> DraftSelection:
    """Return the whole draft without comparing it with the live release: its lists of changes are empty."""
    content = snapshot.snapshot_draft()
    return DraftSelection(stored_releases.get_live_release(), EMPTY_SNAPSHOT, content, content, [], [])


def load_entries(keys: Collection[EntryKey] | None) -> DraftSelection:
    """Return the changes of these entries, as they are now; all changes for None."""
    if keys is None:
        return load_selection()
    chosen = keys
    return load_selection(lambda _: chosen)


def load_selection(choose: ChooseChanges | None = None) -> DraftSelection:
    """Return the changes that `choose` picks, as they are now; all of them without it."""
    draft_content, live = snapshot.snapshot_draft(), stored_releases.get_live_release()
    before = stored_releases.load_content(live) if live else EMPTY_SNAPSHOT
    changes = diff.diff_snapshots(before, draft_content)
    whole = DraftSelection(live, before, draft_content, draft_content, changes, changes)
    return whole if choose is None else select_changes(whole, choose(changes))


def select_changes(selection: DraftSelection, keys: Collection[EntryKey]) -> DraftSelection:
    """Return the same draft with other changes selected. Keys without a change are ignored."""
    chosen = [change for change in selection.all_changes if get_key(change) in keys]
    return replace(selection, changes=chosen, after=selection.apply_changes(keys))


def match_changes(changes: Sequence[CopyChange], patterns: Iterable[str]) -> frozenset[EntryKey]:
    """Return the keys of the changes whose names match one of the patterns, as of fnmatch. Raises NothingSelected."""
    keys = set[EntryKey]()
    for pattern in patterns:
        matching = {get_key(change) for change in changes if fnmatchcase(change.name, pattern)}
        if not matching:
            raise NothingSelected(f"No unpublished change matches {pattern}.")
        keys |= matching
    return frozenset(keys)


class MissingChanges(NamedTuple):
    """A finding that is there only because some changes are not selected."""

    finding: Finding
    needed: list[CopyChange]


def find_problems(chosen: DraftSelection) -> list[Finding]:
    """Return what blocks the release that the selected changes make."""
    return draft_problems.find_problems(chosen.after, changes=chosen.changes)


def find_missing(
    selection: DraftSelection,
    findings: Sequence[Finding],
    judge: Callable[[DraftSelection], Sequence[Finding]] = find_problems,
) -> list[MissingChanges]:
    """Return which findings of a selection go away if more changes are selected, and which changes.

    An entry may depend on one that depends on a third: changes are added until no finding names another one. `judge`
    returns the findings of a selection; it is what found these.
    """
    if selection.is_complete or not findings:
        return []
    keys, candidates, pending = set(selection.keys), list[MissingChanges](), findings
    index = _index_names([change for change in selection.all_changes if get_key(change) not in keys], selection)
    while True:
        related = [
            MissingChanges(finding, needed)
            for finding in pending
            if (needed := [change for change in _find_related(finding, index) if get_key(change) not in keys])
        ]
        if not related:
            break
        candidates += related
        keys |= {get_key(change) for each in related for change in each.needed}
        pending = judge(select_changes(selection, keys))
    unresolved = {finding.key for finding in pending}
    return [each for each in candidates if each.finding.key not in unresolved]


def _index_hashes(content: Snapshot, keys: Collection[EntryKey]) -> dict[EntryKey, str]:
    kinds = {Kind(kind) for kind, _ in keys}
    return {
        (kind.value, name): json_text.try_digest(entry)
        for kind in kinds
        for name, entry in diff.index_entries(content, kind).items()
        if (kind.value, name) in keys
    }


def _index_names(changes: Sequence[CopyChange], selection: DraftSelection) -> Mapping[str, list[CopyChange]]:
    """Return the changes by the names that their entries have or had."""
    index: dict[str, list[CopyChange]] = defaultdict(list)
    for content in (selection.before, selection.draft):
        entries = {kind: diff.index_entries(content, kind) for kind in {change.kind for change in changes}}
        for change in changes:
            entry = entries[change.kind].get(change.name, {})
            names = checks.list_op_names(cast(OpEntry, entry)) if change.kind == Kind.OP and entry else []
            for name in {change.name, *names, entry.get("discovery_name") or change.name}:
                if change not in index[name]:
                    index[name].append(change)
    return index


def _find_related(finding: Finding, index: Mapping[str, list[CopyChange]]) -> list[CopyChange]:
    """Return the changes of entries that a finding is about or names; an agent may name them by a pattern."""
    words = {finding.op, *(word.strip(".") for word in _WORD.findall(finding.message))}
    names = {name for word in words for name in ([word] if "*" not in word else _match_names(word, index))}
    related = {get_key(change): change for name in sorted(names) for change in index.get(name, ())}
    return list(related.values())


def _match_names(pattern: str, index: Mapping[str, list[CopyChange]]) -> list[str]:
    return [name for name in index if fnmatchcase(name, pattern)]
