"""What is known about the operations of an upstream: their definitions as approved, and as last seen.

An admin approves a definition by importing it. If it changes upstream, its op still sends what was approved; on a
pinned connection the op is neither shown nor run until the change is approved (see registry.catalog.connections).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from django.db import transaction
from django.db.models import Count, F

from registry.drafts import bulk_writes
from registry.drafts.merge import MergeReport, iterate_ops_of_source, merge_ops
from registry.imports.import_source import SourceOp
from registry.imports.run_import import get_upstream_name
from registry.models import Connection, Op, UpstreamDefinition
from registry.snapshot.entries import OpEntry


@dataclass(frozen=True, slots=True)
class SeenChanges:
    """How many operations differ from what was approved, are gone, and were never imported."""

    changed: int
    gone: int
    new: int

    def __bool__(self) -> bool:
        return bool(self.changed or self.gone)


def approve_imported(connection: Connection, ops: Sequence[SourceOp], *, at: datetime) -> None:
    """Store the definitions of ops that were just imported as approved."""
    rows = [
        UpstreamDefinition(
            connection=connection,
            upstream_name=op.name,
            approved_digest=(digest := op.compute_digest()),
            seen_digest=digest,
            seen_at=at,
            approved_definition=op.definition,
        )
        for op in ops
    ]
    _upsert(rows, ("approved_digest", "approved_definition", *_SEEN_COLUMNS))


def record_seen(
    connection: Connection, ops: Sequence[SourceOp], *, unread: Collection[str] = (), at: datetime
) -> SeenChanges:
    """Compare the operations of an upstream with the approved ones, and store what differs and what is new.

    `unread` are operations, or paths of some, that could not be read: they stay as they were.
    """
    known = {
        row.upstream_name: row
        for row in connection.definitions.all()
        if row.upstream_name not in unread and row.upstream_name.partition(" ")[2] not in unread
    }
    changed, new, updated, names = 0, 0, [], set()
    for op in ops:
        names.add(op.name)
        row = known.get(op.name) or UpstreamDefinition(connection=connection, upstream_name=op.name)
        digest = op.compute_digest()
        is_changed = digest != row.approved_digest
        if row.approved_digest:
            changed += is_changed
        else:
            new += 1
        if digest != row.seen_digest:
            row.seen_digest, row.seen_at = digest, at
            row.seen = _build_seen_fields(op) if is_changed else None
            row.seen_definition = op.definition if is_changed else None
            updated.append(row)
    gone = [row for name, row in known.items() if name not in names and row.approved_digest]
    for row in gone:
        if row.seen_digest:
            row.seen_digest, row.seen, row.seen_definition, row.seen_at = "", None, None, at
            updated.append(row)
    _upsert(updated, _SEEN_COLUMNS)
    withdrawn = [row.pk for name, row in known.items() if name not in names and not row.approved_digest]
    UpstreamDefinition.objects.filter(pk__in=withdrawn).delete()
    return SeenChanges(changed, len(gone), new)


def clear_seen(connection: Connection) -> None:
    """Forget the changes that were seen: the document is the same as at the import again."""
    connection.definitions.filter(approved_digest="").delete()
    waiting = connection.definitions.exclude(seen_digest=F("approved_digest"))
    waiting.update(seen_digest=F("approved_digest"), seen=None, seen_definition=None)


def list_changed(connection: Connection) -> list[UpstreamDefinition]:
    """Return the definitions that wait for approval."""
    return list(connection.definitions.exclude(approved_digest="").exclude(seen_digest=F("approved_digest")))


def count_changed() -> dict[str, int]:
    """Return how many definitions wait for approval, by connection. Those without any are not in it."""
    changed = UpstreamDefinition.objects.exclude(approved_digest="").exclude(seen_digest=F("approved_digest"))
    counts = changed.order_by().values("connection__name").annotate(count=Count("pk"))
    return dict(counts.values_list("connection__name", "count"))


def map_connections(ops: Collection[str]) -> dict[str, str]:
    """Return the name of the connection that runs each op, as the draft has it."""
    rows = Op.objects.filter(op__in=ops, connection__isnull=False)
    return dict(rows.values_list("op", "connection__name"))


def list_new(connection: Connection) -> list[UpstreamDefinition]:
    """Return the definitions of operations that were added after the import. Only an admin can import them."""
    return list(connection.definitions.filter(approved_digest=""))


@transaction.atomic
def approve_changes(connection: Connection, names: Collection[str], *, at: datetime) -> MergeReport:
    """Approve what was last seen of some operations: merge it into the draft, and retire the ops of those gone."""
    report = MergeReport()
    waiting = {row.upstream_name: row for row in list_changed(connection) if row.upstream_name in names}
    rows = {get_upstream_name(op.shipped): op for op in iterate_ops_of_source(connection.import_group) if op.shipped}
    entries = [_build_approved_entry(rows[name], definition) for name, definition in waiting.items() if name in rows]
    merge_ops(entries, source=connection.import_group, report=report)
    for definition in waiting.values():
        definition.approved_digest, definition.approved_definition = definition.seen_digest, definition.seen_definition
        definition.seen, definition.seen_definition, definition.seen_at = None, None, at
    gone = [definition.pk for definition in waiting.values() if not definition.seen_digest]
    columns = ("approved_digest", "approved_definition", "seen", "seen_definition", "seen_at")
    _upsert([each for each in waiting.values() if each.seen_digest], columns)
    UpstreamDefinition.objects.filter(pk__in=gone).delete()
    # The approved definitions differ from the imported document now, so the next check compares.
    Connection.objects.filter(pk=connection.pk).update(document_digest="")
    return report


def _build_approved_entry(op: Op, definition: UpstreamDefinition) -> OpEntry:
    """Return the entry of an op with the definition as last seen."""
    shipped: dict[str, Any] = op.shipped or {}
    chosen = {name: shipped[name] for name in CHOSEN_FIELDS if name in shipped}
    if definition.seen is None:
        return cast(OpEntry, {**shipped, "op": op.op, "status": Op.Status.RETIRED})
    return cast(OpEntry, {**definition.seen, **chosen, "op": op.op})


def _build_seen_fields(op: SourceOp) -> dict[str, Any]:
    """Return the fields of an op as last seen. A tool that has become destructive asks the end user first."""
    return op.fields | {"confirm": True} if op.confirm and op.definition is not None else op.fields


def _upsert(rows: list[UpstreamDefinition], fields: Sequence[str]) -> None:
    UpstreamDefinition.objects.bulk_create(
        rows,
        batch_size=bulk_writes.BATCH_SIZE,
        update_conflicts=True,
        unique_fields=["connection", "upstream_name"],
        update_fields=fields,
    )


# The fields of an entry that the import chose: they stay.
CHOSEN_FIELDS = ("tool_name", "upstream_name", "keywords", "connection", "confirm")
_SEEN_COLUMNS = ("seen_digest", "seen", "seen_definition", "seen_at")
