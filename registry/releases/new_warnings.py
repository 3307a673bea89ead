"""The warnings of a draft that the live release does not have."""

import json
from typing import Any

from registry import checks
from registry.models import Op
from registry.releases import stored_releases
from registry.snapshot import diff, snapshot
from registry.snapshot.copy_kinds import COPY_KINDS, Kind


def find_new_warnings(content: dict[str, Any], counts: checks.TokenCountsByOp) -> list[checks.Finding]:
    """Return the warnings of a snapshot that the live release does not have."""
    imported = checks.get_imported_paths()
    live_release = stored_releases.get_live_release()
    if live_release is None:
        return checks.find_warnings(content, counts, imported=imported)
    before = json.loads(live_release.content)
    found_warnings = checks.find_warnings(
        content, counts, imported=imported, only=_find_names_to_check(before, content)
    )
    if not found_warnings:
        return []
    # Check only those live ops that have warnings now: others cannot match one.
    only = {warning.op for warning in found_warnings}
    return checks.select_new_findings(
        found_warnings, checks.find_warnings(before, live_release.tokens, imported=imported, only=only)
    )


def _find_names_to_check(before: dict[str, Any], after: dict[str, Any]) -> set[str] | None:
    """Return the names of the entries whose warnings may differ from before; None means all.

    These are the changed entries. Unchanged text can only get a new warning if an op that it names is gone, so then all
    entries are checked. Two summaries that became similar are reported at the one that changed.
    """
    names = set[str]()
    for kind in COPY_KINDS:
        old_entries, new_entries = diff.index_entries(before, kind), diff.index_entries(after, kind)
        if kind == Kind.OP and (_collect_active_names(old_entries) - _collect_active_names(new_entries)):
            return None
        names |= {name for name, entry in new_entries.items() if old_entries.get(name) != entry}
    return names


def _collect_active_names(ops: diff.EntriesByName) -> set[str]:
    """Return all names of the active ops."""
    running = (op for op in ops.values() if snapshot.get_value(op, "status") == Op.Status.ACTIVE)
    return {name for op in running for name in checks.list_op_names(op)}
