"""What changed upstream since it was approved, for the pages of a connection."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, F, Q, QuerySet

from registry.drafts import history
from registry.drafts.merge import MergeReport, iterate_ops_of_source
from registry.imports import definitions
from registry.imports.run_import import get_upstream_name
from registry.models import Connection, Op, UpstreamDefinition
from registry.releases import help_diff
from registry.releases.help_diff import ChangedPassage

MAX_SHOWN = 50  # changes on one page

# The fields of an entry that the import chose, not the upstream.
_OWN_FIELDS = {"op", "status", *definitions.CHOSEN_FIELDS}
# The fields that are made of a tool's definition, which is shown itself.
_FROM_DEFINITION = {"description", "parameters_schema"}


@dataclass(frozen=True, slots=True)
class DefinitionChange:
    """One operation that changed: its op, and what differs in each field; `is_gone` from its upstream."""

    upstream_name: str
    seen_digest: str
    op: Op | None
    is_gone: bool
    passages: tuple[ChangedPassage, ...]


def annotate_counts(connections: QuerySet[Connection]) -> QuerySet[Connection]:
    """Add to connections how many ops run through each, and how many definitions changed."""
    is_changed = (
        ~Q(definitions__seen_digest=F("definitions__approved_digest"))
        & ~Q(definitions__approved_digest="")
        & Q(definitions__isnull=False)
    )
    return connections.annotate(
        op_total=Count("ops", filter=Q(ops__status=Op.Status.ACTIVE), distinct=True),
        changed=Count("definitions", filter=is_changed, distinct=True),
    )


def describe(connection: Connection) -> list[DefinitionChange]:
    """Return the changes that wait for approval, with the difference of each."""
    waiting = definitions.list_changed(connection)[:MAX_SHOWN]
    ops = {get_upstream_name(op.shipped): op for op in iterate_ops_of_source(connection.import_group) if op.shipped}
    return [
        DefinitionChange(
            row.upstream_name,
            row.seen_digest,
            op := ops.get(row.upstream_name),
            row.seen is None,
            _diff_definition(row, (op and op.shipped) or {}),
        )
        for row in waiting
    ]


def find_changed_again(connection: Connection, names: Sequence[str], shown: Sequence[str]) -> list[str]:
    """Return the names whose definition is no longer one that was shown, by its digest: it changed meanwhile."""
    rows = connection.definitions.filter(upstream_name__in=names).exclude(seen_digest__in=shown)
    return list(rows.values_list("upstream_name", flat=True))


def approve(connection: Connection, names: Sequence[str], *, by: str, at: datetime) -> MergeReport | None:
    """Approve the chosen changes, and record them in the history. Return None if none was chosen."""
    if not names:
        return None
    report = definitions.approve_changes(connection, names, at=at)
    history.record_changes(report.changes, by=by, at=at, note=f"Approved changes of {connection}")
    return report


def _diff_definition(row: UpstreamDefinition, shipped: dict[str, Any]) -> tuple[ChangedPassage, ...]:
    """Return what differs: of a tool its definition first, then what else changes about its op."""
    if row.seen is None:
        return ()
    if row.seen_definition is None:
        return _diff(shipped, row.seen, _OWN_FIELDS)
    of_op = _diff(shipped, row.seen, _OWN_FIELDS | _FROM_DEFINITION)
    return _diff(row.approved_definition or {}, row.seen_definition, set()) + of_op


def _diff(before: dict[str, Any], after: dict[str, Any], left_out: set[str]) -> tuple[ChangedPassage, ...]:
    names = sorted((after.keys() | before.keys()) - left_out)
    pairs = {name: (before.get(name), after.get(name)) for name in names if before.get(name) != after.get(name)}
    return help_diff.diff_fields(pairs)
