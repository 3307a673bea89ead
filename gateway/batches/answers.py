"""Build the responses of batches: results in the order of the request, and their counts."""

from typing import Any

import orjson

from gateway import envelopes, policies
from gateway.batches import running
from gateway.callers import Caller
from gateway.envelopes import Trace
from gateway.errors import Denied, Failed
from gateway.models import Batch, BatchEntry
from gateway.policies import Decision
from registry import catalogs

State, Outcome = BatchEntry.State, BatchEntry.Outcome


def final(batch: Batch, caller: Caller, trace: Trace, *, warnings: list[str], replayed: bool) -> dict[str, Any]:
    """Return the response to a request that waited. Entries that still run are reported as failed with a timeout.

    Raises Denied if the caller's key may not read the results.
    """
    rows = _rows(batch, caller)
    overdue = Failed(
        f"This entry is still running after the batch's time limit. Do not send it again: batches/{batch.pk} shows how "
        "it ended.",
        status=504,
        reason="timeout",
        details={"batch_id": str(batch.pk)},
    )
    results = [_told(row, {} if row.answer else running.refused(batch, row, overdue, trace)) for row in rows]
    return _body(batch, rows, results, envelopes.meta(trace, warnings, replayed=replayed))


def status(batch: Batch, caller: Caller, trace: Trace, *, replayed: bool = False) -> dict[str, Any]:
    """Return the progress of a batch; an entry that is not done has only its state.

    Raises Denied if the caller's key may not read the results.
    """
    rows = _rows(batch, caller)
    results = [_told(row, {} if row.answer else {_named(row): row.name, "status": row.state}) for row in rows]
    body = _body(batch, rows, results, envelopes.meta(trace, replayed=replayed))
    body["summary"]["pending"] = sum(row.state != State.DONE for row in rows)
    return {**body, "status": _status(batch, rows)}


def _rows(batch: Batch, caller: Caller) -> list[BatchEntry]:
    rows = list(batch.entries.order_by("index").defer("body", "needs"))
    for type, name in {(row.type, row.name) for row in rows if row.outcome == Outcome.SUCCEEDED}:
        decision = may_read(type, name, caller)
        if not decision.allowed:
            raise Denied(
                f"This key may not read all results of the batch. {decision.message}", reason=decision.reason
            )
    return rows


def may_read(type: str, name: str, caller: Caller) -> Decision:
    """Decide as for the call itself: another key of the client may have sent it, or this key has lost rights since."""
    if type == "help":
        return policies.may_ask(caller)
    op = catalogs.live().find(name)
    return policies.may_run(caller, op) if op else policies.ALLOWED


def _told(row: BatchEntry, otherwise: dict[str, Any]) -> dict[str, Any]:
    return {"index": row.index, "type": row.type, **(orjson.loads(row.answer) if row.answer else otherwise)}


def _named(row: BatchEntry) -> str:
    return "path" if row.type == "help" else "op"


def _body(
    batch: Batch,
    rows: list[BatchEntry],
    results: list[dict[str, Any]],
    meta: dict[str, Any],
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


def _status(batch: Batch, rows: list[BatchEntry]) -> str:
    states = {row.state for row in rows}
    if states == {State.DONE}:
        return "cancelled" if batch.cancelled_at else "done"
    return "pending" if states == {State.PENDING} else "running"
