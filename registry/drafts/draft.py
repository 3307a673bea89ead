"""Write whole entries into the draft: from files, from a release, or from before a change.

Unlike registry.drafts.merge, this overwrites what is there. Every change is recorded in the history.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, cast

from django.db import IntegrityError, transaction

from registry import checks, vocabulary
from registry.drafts import bulk_writes, history, merge
from registry.models import Op, Vocabulary
from registry.snapshot import diff, snapshot
from registry.snapshot.copy_kinds import COPY_KINDS, Kind
from registry.snapshot.diff import Action, CopyChange
from registry.snapshot.entries import Entry, OpEntry, Snapshot

# Fields of an op that other ops depend on: names that must be unique, and ops that run in place of another.
_SHARED_FIELDS = {"op", "tool_name", "upstream_name", "aliases", "kind", "successor", "without_id", "parameters_schema"}


class NothingToChange(Exception):
    """The draft already has this content; nothing was changed."""


class DraftRefused(Exception):
    """The change would add problems to the draft, so nothing was changed. `problems` lists them with fixes."""

    def __init__(self, problems: Sequence[Any]) -> None:
        super().__init__("; ".join(str(problem) for problem in problems[:5]))
        self.problems = list(problems)


class DraftChanged(Exception):
    """The draft was changed after the user reviewed it; nothing was changed now."""


def read_entry(kind: Kind, name: str) -> Entry | None:
    """Return the draft's entry with this name, or None."""
    draft_row = get_row(kind, name)
    return None if draft_row is None else snapshot.row_to_entry(draft_row)


def read_op_entry(path: str) -> OpEntry | None:
    """Return the entry of an op in the draft, or None."""
    row = get_row(Kind.OP, path)
    return snapshot.op_to_entry(row) if row else None


def preview_write(content: Snapshot, *, whole: bool = False) -> list[CopyChange]:
    """Return what writing a snapshot would change in the draft. With `whole`, entries missing from it are removed."""
    return _filter_changes(diff.diff_snapshots(snapshot.snapshot_draft(), content), whole=whole)


def write_snapshot(
    content: Snapshot, *, by: str, at: datetime, note: str, whole: bool = False, seen: str = ""
) -> list[CopyChange]:
    """Write a snapshot into the draft and return what changed. With `whole`, remove entries that it lacks.

    `seen` is the version of the draft that the user reviewed. Raises NothingToChange, DraftRefused, DraftChanged.
    """
    _refuse_duplicates(content)
    with transaction.atomic():
        before = snapshot.snapshot_draft()
        if seen and snapshot.compute_version(before) != seen:
            raise DraftChanged("The draft has changed since you reviewed it. Review the changes again.")
        changes = _filter_changes(diff.diff_snapshots(before, content), whole=whole)
        if not changes:
            raise NothingToChange("The draft already has this content.")
        if content.get("vocabulary") and add_shipped_words(by=by, at=at):
            before = snapshot.snapshot_draft()
            changes = _filter_changes(diff.diff_snapshots(before, content), whole=whole)
        _refuse_new_problems(checks.find_errors(before), checks.find_errors(_apply_changes(before, content, changes)))
        _write_changes(content, changes)
        history.record_changes(changes, by=by, at=at, note=note)
    return changes


def write_entry(kind: Kind, name: str, entry: Entry | None, *, by: str, at: datetime, note: str) -> CopyChange:
    """Replace one entry of the draft with another one, under its name. None removes it.

    Raises NothingToChange, DraftRefused.
    """
    with transaction.atomic():
        if kind == Kind.VOCABULARY:
            add_shipped_words(by=by, at=at)
        current_row = get_row(kind, name)
        change = diff.diff_entries(kind, snapshot.row_to_entry(current_row) if current_row else None, entry)
        if change is None:
            raise NothingToChange("The draft already has this content.")
        if entry is not None and _affects_only_itself(change):
            current_entry = snapshot.op_to_entry(current_row)
            _refuse_new_problems(checks.find_op_errors(current_entry), checks.find_op_errors(cast(OpEntry, entry)))
        else:
            before = snapshot.snapshot_draft()
            _refuse_new_problems(
                checks.find_errors(before), checks.find_errors(_replace_entry(before, kind, name, entry))
            )
        if entry is None and current_row is not None:
            current_row.delete()
        elif entry is not None:
            _save_rows(kind, {name: current_row} if current_row else {}, {name: entry}, {name: change})
        history.record_changes([change], by=by, at=at, note=note)
    return change


def add_shipped_words(*, by: str, at: datetime) -> bool:
    """Add the shipped vocabulary to a draft without any, before its first entry. Return whether it had none.

    No list of entries stands for the shipped ones. With its first entry a draft gets a list, which must have them.
    """
    if Vocabulary.objects.exists():
        return False
    report = merge.MergeReport()
    merge.merge_of_source(Kind.VOCABULARY, vocabulary.list_shipped_entries(), source="", report=report)
    history.record_changes(report.changes, by=by, at=at, note="Shipped vocabulary")
    return True


def get_row(kind: Kind, name: str) -> Any:
    """Return the row of the draft's entry with this name, or None."""
    return get_rows(kind, [name]).get(name)


def get_rows(kind: Kind, names: Iterable[str]) -> dict[str, Any]:
    """Return {name: row} for the names that exist in the draft."""
    copy_kind, chosen_names = COPY_KINDS[kind], set(names)
    rows: Any = copy_kind.model._default_manager.all()
    if copy_kind.model is Op:
        rows = rows.select_related("connection").prefetch_related("rules", "examples", "aliases")
    rows_by_name = {copy_kind.get_row_name(row): row for row in copy_kind.filter_names(rows, chosen_names)}
    return {name: row for name, row in rows_by_name.items() if name in chosen_names}


def _filter_changes(changes: list[CopyChange], *, whole: bool) -> list[CopyChange]:
    return [change for change in changes if whole or change.action != Action.REMOVED]


def _apply_changes(before: Snapshot, content: Snapshot, changes: list[CopyChange]) -> Snapshot:
    """Return the draft's content after the changes."""
    after: dict[Kind, dict[str, Any]] = {}
    for kind in COPY_KINDS:
        new = diff.index_entries(content, kind)
        removed = {change.name for change in changes if change.kind == kind and change.action == Action.REMOVED}
        old = {name: entry for name, entry in diff.index_entries(before, kind).items() if name not in removed}
        after[kind] = old | new
    return snapshot.build_snapshot({kind: list(entries.values()) for kind, entries in after.items()})


def _replace_entry(before: Snapshot, kind: Kind, name: str, entry: Entry | None) -> Snapshot:
    after = {each: diff.index_entries(before, each) for each in COPY_KINDS}
    after[kind].pop(name, None)
    if entry is not None:
        after[kind][COPY_KINDS[kind].get_name(entry)] = entry
    return snapshot.build_snapshot({kind: list(entries.values()) for kind, entries in after.items()})


def _affects_only_itself(change: CopyChange) -> bool:
    """Return whether a change can break only its own op, so that the other ops need not be checked."""
    return change.kind == Kind.OP and change.action == Action.CHANGED and not change.fields.keys() & _SHARED_FIELDS


def _refuse_new_problems(before: Sequence[Any], after: Sequence[Any]) -> None:
    """Raise DraftRefused for problems that are new. Old ones can stay, so that an unfinished draft can be edited."""
    known = {str(problem) for problem in before}
    if problems := [problem for problem in after if str(problem) not in known]:
        raise DraftRefused(problems)


def _refuse_duplicates(content: Snapshot) -> None:
    """Raise DraftRefused if an entry appears twice: it is unclear which one is meant."""
    names = [(kind, each.get_name(entry)) for kind, each in COPY_KINDS.items() for entry in each.get_entries(content)]
    duplicates = [(kind, name) for (kind, name), times in Counter(names).items() if times > 1]
    if duplicates:
        raise DraftRefused(
            [f"{name}, {kind}: This entry appears more than once. Keep one." for kind, name in duplicates]
        )


def _write_changes(content: Snapshot, changes: list[CopyChange]) -> None:
    removed = [change for change in changes if change.action == Action.REMOVED]
    for kind in COPY_KINDS:
        for row in get_rows(kind, [change.name for change in removed if change.kind == kind]).values():
            row.delete()
    for kind in COPY_KINDS:
        changes_of_kind = {
            change.name: change for change in changes if change.kind == kind and change.action != Action.REMOVED
        }
        entries = diff.index_entries(content, kind)
        _save_rows(
            kind, get_rows(kind, changes_of_kind), {name: entries[name] for name in changes_of_kind}, changes_of_kind
        )


def _save_rows(
    kind: Kind, rows: dict[str, Any], entries: dict[str, dict[str, Any]], changes: dict[str, CopyChange]
) -> None:
    """Write entries of one kind into rows. New rows belong to the admins, not to an import."""
    model: type[Any] = COPY_KINDS[kind].model
    fields = COPY_KINDS[kind].fields
    connections = bulk_writes.get_or_create_connections(entry.get("connection", "") for entry in entries.values())
    added: list[Any] = []
    changed: list[Any] = []
    children: list[tuple[Any, dict[str, Any]]] = []
    for name, entry in entries.items():
        row = rows.get(name) or model()
        for field in fields:
            if field in changes[name].fields:
                setattr(row, field, snapshot.get_value(entry, field))
        if kind == Kind.OP:
            row.connection = connections.get(entry.get("connection", ""))
            child_fields = {field: snapshot.get_value(entry, field) for field in changes[name].fields}
            children.append((row, child_fields))
        (changed if name in rows else added).append(row)
    try:
        with transaction.atomic():
            bulk_writes.save_rows(model, added, changed, [*fields, *(["connection"] if kind == Kind.OP else [])])
            bulk_writes.replace_children(children)
    except IntegrityError:
        message = "Two entries swap names, or someone else has just changed the draft. Try again, one entry at a time."
        raise DraftChanged(message) from None
