"""Merge copy from files or imports into rows: a three-way merge that never overwrites an admin's edit.

Each row stores its entry as last received in `shipped`. A field that still equals it takes the incoming value; a
field that an admin changed stays. Each row has one source and is merged only with that source: shipped copy never
touches imported copy, and no import touches another. Merging twice changes nothing. Takes a few queries per 500 rows.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from registry.drafts import bulk_writes
from registry.models import Op
from registry.snapshot import snapshot
from registry.snapshot.copy_kinds import COPY_KINDS, OP_FIELDS, CopyKind, Kind
from registry.snapshot.diff import Action, CopyChange
from registry.snapshot.entries import OpEntry


@dataclass
class MergeReport:
    """The result of a merge: paths by outcome, and the fields where an admin's edit was kept over a newer value."""

    added: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    kept_edits: list[str] = field(default_factory=list)
    no_longer_shipped: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    unchanged: int = 0
    changes: list[CopyChange] = field(default_factory=list)  # for the history

    def __str__(self) -> str:
        lines = [f"{len(self.added)} added, {len(self.updated)} updated, {self.unchanged} unchanged."]
        lines += [f"Kept your edit: {place}." for place in self.kept_edits]
        lines += [f"Skipped, because a row from another source has this name: {path}." for path in self.skipped]
        lines += [f"No longer shipped, left unchanged: {path}." for path in self.no_longer_shipped]
        return "\n".join(lines)

    def record_added(self, kind: Kind, name: str, path: str) -> None:
        """Record a new row."""
        self.added.append(path)
        self.changes.append(CopyChange(kind, name, Action.ADDED))

    def record_existing(
        self, kind: Kind, name: str, path: str, ours: Mapping[str, Any], changes: dict[str, Any]
    ) -> None:
        """Record an existing row as updated or unchanged."""
        if changes:
            self.updated.append(path)
            fields = {field: (snapshot.get_value(ours, field), value) for field, value in changes.items()}
            self.changes.append(CopyChange(kind, name, Action.CHANGED, fields))
        else:
            self.unchanged += 1


def merge_of_source(kind: Kind, entries: Iterable[Mapping[str, Any]], *, source: str, report: MergeReport) -> None:
    """Merge groups or vocabulary. A row of another source is left alone, because that source's ops may need it."""
    copy_kind = COPY_KINDS[kind]
    model: type[Any] = copy_kind.model
    rows = {copy_kind.get_row_name(row): row for row in model.objects.all()}
    added, changed = [], []
    for entry in entries:
        name = copy_kind.get_name(entry)
        row = rows.get(name)
        if row is None:
            added.append(model(**entry, source=source, shipped=entry))
            report.record_added(kind, name, name)
        elif row.source == source:
            ours = snapshot.row_to_entry(row)
            changes = merge_fields(name, row.shipped, ours, entry, report)
            report.record_existing(kind, name, name, ours, changes)
            if update_row(row, changes, entry):
                changed.append(row)
        elif kind == Kind.VOCABULARY and set(entry["words"]) - set(row.words):
            report.skipped.append(name)  # a group of the same name serves both sources; words that are left out do not
    bulk_writes.save_rows(model, added, changed, copy_kind.fields)


def merge_shipped(copy_kind: CopyKind, entries: Iterable[Mapping[str, Any]], *, report: MergeReport) -> None:
    """Merge entries of a kind that only comes from the shipped catalog: prompt sections, agents, pins."""
    model: type[Any] = copy_kind.model
    rows = {copy_kind.get_row_name(row): row for row in model.objects.all()}
    added, changed = [], []
    for entry in entries:
        name = copy_kind.get_name(entry)
        row = rows.pop(name, None)
        if row is None:
            row = model(**entry, shipped=entry)
            added.append(row)
            report.record_added(copy_kind.kind, name, str(row))
            continue
        ours = snapshot.row_to_entry(row)
        changes = merge_fields(str(row), row.shipped, ours, entry, report)
        report.record_existing(copy_kind.kind, name, str(row), ours, changes)
        if update_row(row, changes, entry):
            changed.append(row)
    bulk_writes.save_rows(model, added, changed, copy_kind.fields)
    report.no_longer_shipped += sorted(str(row) for row in rows.values() if row.shipped)


def merge_ops(entries: Sequence[OpEntry], *, source: str, report: MergeReport) -> None:
    """Merge ops with their rules, examples and aliases.

    An op whose path or tool name belongs to another source is skipped and reported.
    """
    rows = {op.op: op for op in iterate_ops_of_source(source)}
    others = _get_names_of_other_sources(source)
    connections = bulk_writes.get_or_create_connections(entry.get("connection", "") for entry in entries)
    added: list[Op] = []
    changed: list[Op] = []
    children: list[tuple[Op, dict[str, Any]]] = []
    for entry in entries:
        path = entry["op"]
        row = rows.get(path)
        if others.intersection((path, entry["tool_name"])):
            report.skipped.append(path)
            continue
        if row is None:
            row = Op(op=path, source=source)
            changes: dict[str, Any] = dict(entry)
            report.record_added(Kind.OP, path, path)
            added.append(row)
        else:
            ours = snapshot.op_to_entry(row)
            changes = merge_fields(path, row.shipped, ours, entry, report)
            report.record_existing(Kind.OP, path, path, ours, changes)
            if not changes and row.shipped == entry:
                continue
            changed.append(row)
        if "connection" in changes:
            row.connection = connections.get(changes["connection"] or "")
        update_row(row, {name: changes[name] for name in OP_FIELDS if name in changes}, entry)
        children.append((row, changes))
    bulk_writes.save_rows(Op, added, changed, [*OP_FIELDS, "connection"])
    report.kept_edits += [f"{name}, an alias of another op" for name in bulk_writes.replace_children(children)]


def iterate_ops_of_source(source: str) -> Iterator[Op]:
    """Return the ops of one source with their rules, examples and aliases."""
    ops_of_source = Op.objects.filter(source=source).select_related("connection")
    return ops_of_source.prefetch_related("rules", "examples", "aliases").iterator(bulk_writes.BATCH_SIZE)


def _get_names_of_other_sources(source: str) -> frozenset[str]:
    names = Op.objects.exclude(source=source).values_list("op", "tool_name")
    return frozenset(name for pair in names for name in pair)


def merge_fields(
    path: str, base: Mapping[str, Any] | None, ours: Mapping[str, Any], theirs: Mapping[str, Any], report: MergeReport
) -> dict[str, Any]:
    """Return the incoming fields to apply: those that are new and that no admin has changed here."""
    changes = {}
    for name in sorted({*(base or {}), *ours, *theirs}):
        was, now, new = (snapshot.get_value(side or {}, name) for side in (base, ours, theirs))
        if new in (was, now):
            continue
        if now == was:
            changes[name] = new
        else:
            report.kept_edits.append(f"{path} {name}")
    return changes


def update_row(row: Any, changes: dict[str, Any], entry: Mapping[str, Any]) -> bool:
    """Set a row's changed fields and its `shipped` entry. Return whether anything was new."""
    if not changes and row.shipped == entry:
        return False
    for name, value in changes.items():
        setattr(row, name, value)
    row.shipped = entry
    return True
