"""Run a loop: the call of its entry for each row, one after another, each checked, keyed and recorded as its own call.

A loop that runs again, because its runner was lost or the end user agreed to a row, finds what its writes did by their
keys.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models.functions import Now

from core import metrics
from core.database.deadlines import Deadline
from core.text import json_text
from gateway.access import key_verification
from gateway.access.request_context import Caller
from gateway.batches import loops, references
from gateway.batches.loops import LoopRow
from gateway.contracts import envelopes
from gateway.contracts.envelopes import Envelope, EnvelopeResponse, Trace
from gateway.contracts.errors import ConflictError, GatewayError, InvalidRequestError
from gateway.execution import pipeline
from gateway.models import Batch, BatchEntry
from gateway.recording import call_events
from registry.catalog.model import Catalog

AGREEMENT = "confirmation_required"
OF_ENTRY = frozenset({"trace_id", "latency_ms"})  # in the meta of the entry, once for all rows


@dataclass(frozen=True, slots=True)
class LoopCall:
    """What the calls of all rows of a loop share. `answers` are the envelopes of the batch by the index of an entry."""

    batch: Batch
    entry: BatchEntry
    caller: Caller
    trace: Trace
    catalog: Catalog
    until: Deadline | None
    answers: Mapping[int, Any]
    get_delay: Callable[[Mapping[str, Any]], timedelta | None]  # until the row of such an answer can be run again


class TryLater(Exception):
    """A row cannot be answered yet. The loop is to run again; what it has done is found by the keys of its rows."""

    def __init__(self, delay: timedelta) -> None:
        super().__init__(f"in {delay}")
        self.delay = delay


@dataclass(slots=True)
class LoopAnswer:
    """The envelope of a loop, with one envelope a row in `items`, and whether its `stop_if` held."""

    envelope: dict[str, Any]
    is_stopped: bool = False


@dataclass(slots=True)
class _Progress:
    items: list[dict[str, Any]] = field(default_factory=list)
    size: int = 0  # bytes of all items
    left_out: str = ""  # why rows that follow did not run
    is_stopped: bool = False
    operation: dict[str, str] = field(default_factory=dict)  # what the calls do, for all rows

    def add(self, row: LoopRow, envelope: Envelope) -> None:
        place = {} if envelope["ok"] else {"row": row.place}
        item = {**envelope, "meta": self._reduce_meta(envelope) | place}
        self.items.append(item)
        self.size += len(json_text.dump(item))

    def _reduce_meta(self, envelope: Envelope) -> dict[str, Any]:
        """Return the meta of a row's answer without what the entry tells for all, and the id that its result has.

        An id costs a model 31 tokens, and a loop has up to a hundred of them.
        """
        meta: dict[str, Any] = {name: value for name, value in envelope["meta"].items() if name not in OF_ENTRY}
        if operation := meta.get("operation"):
            self.operation = {name: operation[name] for name in ("entity", "action") if name in operation}
            row = envelope.get("result", {}).get(operation.get("entity", ""))
            if isinstance(row, dict) and row.get("id") == operation.get("entity_id"):
                del meta["operation"]
        return {name: value for name, value in meta.items() if value}


def run_loop(call: LoopCall) -> LoopAnswer:
    """Run the rows of a loop and return its answer.

    Raises InvalidRequestError if there is no list of rows, TryLater if a row must be run again by a later attempt.
    """
    body = call.entry.body
    try:
        rows, all_count = loops.select_rows(body, call.answers)
    except references.UnresolvedReference as error:
        raise InvalidRequestError(str(error), reason=error.errors[0].code, field_errors=error.errors) from None
    key_verification.charge_calls(call.caller.key, max(0, len(rows) - 1))
    progress = _Progress()
    for row in rows:
        if reason := _find_reason_to_end(call, progress):
            progress.left_out = reason
            break
        answer = _run_row(call, row)
        if (delay := call.get_delay(answer.envelope)) is not None:
            raise TryLater(delay)
        progress.add(row, answer.envelope)
        if loops.STOP_IF in body and loops.holds(body[loops.STOP_IF], answer.envelope):
            progress.is_stopped = True
            progress.left_out = "stop_if held."
            break
        if body.get("stop_on_error") and not answer.envelope["ok"]:
            progress.left_out = "A row failed (stop_on_error)."
            break
    return LoopAnswer(_build_envelope(call, progress, chosen=len(rows), all=all_count), progress.is_stopped)


def _find_reason_to_end(call: LoopCall, progress: _Progress) -> str:
    """Return why no further row may start; empty if one may."""
    if not Batch.objects.filter(pk=call.batch.pk, cancelled_at=None, runs_until__gt=Now()).exists():
        return "The batch was cancelled or ran out of time; send what is left as a new batch."
    if call.until is not None and time.monotonic() >= call.until.at:
        return "The batch ran out of time; send what is left as a new batch."
    if progress.size > settings.GATEWAY_BODY_MAX_BYTES:
        return "The answers are too large together; ask for less of each with fields."
    return ""


def _run_row(call: LoopCall, row: LoopRow) -> EnvelopeResponse:
    """Run the call of one row. The answer has paths of ops, as stored answers do."""
    stored: list[EnvelopeResponse] = []
    body = {name: value for name, value in call.entry.body.items() if name not in loops.OWN_FIELDS}
    batch_key = body.pop("idempotency_key", None) or call.batch.key or str(call.batch.pk)
    try:
        if "args" in body:
            most_bytes = settings.GATEWAY_BODY_MAX_BYTES
            body["args"] = references.resolve_references(
                body["args"], call.answers, most_bytes=most_bytes, item=row.value
            )
            json_text.check_value(body)
    except references.UnresolvedReference as missing:
        error: GatewayError = InvalidRequestError(str(missing), reason="result_missing", field_errors=missing.errors)
    except json_text.NotStrictJSON as invalid:
        error = InvalidRequestError(f"After its references were resolved: {invalid}", reason=invalid.code)
    else:
        answer = pipeline.execute(
            body=body,
            caller=call.caller,
            trace=call.trace,
            catalog=call.catalog,
            until=call.until,
            key=loops.derive_row_key(batch_key, call.entry.index, row),
            store_response=stored.append,
        )
        metrics.count_call(call_events.build_exec_labels(answer), seconds=answer.envelope["meta"]["latency_ms"] / 1000)
        return stored[-1]
    return pipeline.reject_call(error, name=call.entry.name, caller=call.caller, trace=call.trace, catalog=call.catalog)


def _build_envelope(call: LoopCall, progress: _Progress, *, chosen: int, all: int) -> dict[str, Any]:
    failed = [item for item in progress.items if not item["ok"]]
    ran = len(progress.items)
    rows = {"all": all, "chosen": chosen, "ran": ran}
    meta = envelopes.build_meta(call.trace, rows=rows, operation=progress.operation)
    is_cut = ran < chosen and not progress.is_stopped
    if ran < chosen:
        meta["warnings"].append(f"rows_left: {chosen - ran} rows did not run. {progress.left_out}")
    if not failed and not is_cut:
        return {"op": call.entry.name, "ok": True, "items": progress.items, "meta": meta}
    waiting = sum(item["error"]["details"]["reason"] == AGREEMENT for item in failed)
    told = [
        f"{waiting} of {ran} rows need the end user's agreement, and nothing was done for them" if waiting else "",
        f"{len(failed) - waiting} of {ran} rows failed; their items tell why" if len(failed) > waiting else "",
        f"{chosen - ran} rows did not run" if is_cut else "",
    ]
    error = ConflictError(". ".join(filter(None, told)) + ".", reason="rows_failed", help_path=call.entry.name)
    return {"op": call.entry.name, "ok": False, "error": error.as_dict(), "items": progress.items, "meta": meta}
