"""Build the responses of batches: results in the order of the request, and their counts."""

from collections.abc import Mapping
from typing import Any

from core.text import json_text
from gateway.access import key_verification, policies, surface_names
from gateway.access.policies import AccessDecision
from gateway.access.request_context import Caller
from gateway.contracts import envelopes
from gateway.contracts.envelopes import Meta, Trace
from gateway.contracts.errors import GatewayError, InternalError, PermissionDeniedError
from gateway.models import Batch, BatchEntry, Scope
from registry.catalog import cache
from registry.help import help_pages
from registry.models import ROOT

State, Outcome = BatchEntry.State, BatchEntry.Outcome


def build_results(batch: Batch, caller: Caller, trace: Trace, *, warnings: list[str], replayed: bool) -> dict[str, Any]:
    """Return the response to a request that waited. Entries that still run are reported as failed with a timeout.

    Raises PermissionDeniedError if the caller's key cannot read the results.
    """
    rows = _load_readable_entries(batch, caller)
    overdue = InternalError(
        f"This entry is still running after the batch's time limit. Do not send it again: batches/{batch.pk} shows how "
        "it ended.",
        status=504,
        reason="timeout",
        details={"batch_id": str(batch.pk)},
    )
    results = [
        _serialize_entry(row, {} if row.answer else build_entry_error(batch, row, overdue, trace)) for row in rows
    ]
    results = surface_names.name_ops_in_entries(results, caller, trace)
    return _build_body(batch, rows, results, envelopes.build_meta(trace, warnings, replayed=replayed))


def build_status(batch: Batch, caller: Caller, trace: Trace, *, replayed: bool = False) -> dict[str, Any]:
    """Return the progress of a batch; an entry that is not done has only its state.

    Raises PermissionDeniedError if the caller's key cannot read the results.
    """
    rows = _load_readable_entries(batch, caller)
    results = [_serialize_entry(row, {} if row.answer else _describe_open_entry(row)) for row in rows]
    results = surface_names.name_ops_in_entries(results, caller, trace)
    body = _build_body(batch, rows, results, envelopes.build_meta(trace, replayed=replayed))
    body["summary"]["pending"] = sum(row.state != State.DONE for row in rows)
    return {**body, "status": _get_batch_status(batch, rows)}


def build_entry_error(batch: Batch, entry: BatchEntry, error: GatewayError, trace: Trace) -> Mapping[str, Any]:
    """Return the error envelope of an entry, by its type. Its help_path is one that the batch's key can read."""
    key = key_verification.get_by_id(batch.api_key_id) if batch.api_key_id else None
    if key is not None:
        view = cache.get_live_catalog().view_for(Caller(key).visibility)
        error.help_path = help_pages.find_readable_path(view, error.help_path or entry.name or ROOT)
    if entry.type == "help":
        return {"path": entry.name, "ok": False, "error": error.as_dict()}
    return envelopes.build_failure(entry.name or None, error, envelopes.build_meta(trace))


def _load_readable_entries(batch: Batch, caller: Caller) -> list[BatchEntry]:
    rows = list(batch.entries.order_by("index").defer("body", "needs"))
    for type, name in {(row.type, row.name) for row in rows if row.outcome == Outcome.SUCCEEDED}:
        decision = may_read(type, name, caller)
        if not decision.allowed:
            raise PermissionDeniedError(
                f"This key cannot read all results of the batch. {decision.message}", reason=decision.reason
            )
    return rows


def may_read(type: str, name: str, caller: Caller) -> AccessDecision:
    """Decide as for the call itself: another key of the client may have sent it, or this key has lost rights since."""
    if type == "help":
        return policies.has_scope(caller, Scope.HELP)
    op = cache.get_live_catalog().find_op(name)
    return policies.may_run(caller, op) if op else policies.ALLOWED


def _serialize_entry(row: BatchEntry, fallback: Mapping[str, Any]) -> dict[str, Any]:
    return {"index": row.index, "type": row.type, **(json_text.load(row.answer) if row.answer else fallback)}


def _describe_open_entry(row: BatchEntry) -> dict[str, Any]:
    """Return the state of an entry that is not done, and what its upstream last reported."""
    progress = {"progress": row.progress} if row.progress and row.state == State.RUNNING else {}
    return {_get_name_field(row): row.name, "status": row.state, **progress}


def _get_name_field(row: BatchEntry) -> str:
    return "path" if row.type == "help" else "op"


def _build_body(
    batch: Batch,
    rows: list[BatchEntry],
    results: list[dict[str, Any]],
    meta: Meta,
) -> dict[str, Any]:
    skipped = sum(row.outcome == Outcome.SKIPPED for row in rows)
    succeeded = sum(row.outcome == Outcome.SUCCEEDED for row in rows)
    failed = sum(result.get("ok") is False for result in results) - skipped
    return {
        "batch_id": str(batch.pk),
        "ok": succeeded == len(rows),
        "results": results,
        "summary": {"succeeded": succeeded, "failed": failed, "skipped": skipped},
        "meta": meta,
    }


def _get_batch_status(batch: Batch, rows: list[BatchEntry]) -> str:
    states = {row.state for row in rows}
    if states == {State.DONE}:
        return "cancelled" if batch.cancelled_at else "done"
    return "pending" if states == {State.PENDING} else "running"
