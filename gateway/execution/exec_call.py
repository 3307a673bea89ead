"""The state of one exec call, and how to build its response and its operation event."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from analytics.events.models import OperationEvent
from core.database.deadlines import Deadline
from gateway.access.request_context import Caller
from gateway.arguments import repair
from gateway.contracts import envelopes
from gateway.contracts.envelopes import EnvelopeResponse, Trace
from gateway.contracts.errors import GatewayError, describe_invalid_args
from gateway.execution import idempotency, operations
from gateway.execution.result_shape import ShapeRequest
from gateway.executors.base import UpstreamCall, UpstreamResponse
from gateway.recording import call_events, hints, redaction
from registry.catalog.model import Catalog, CatalogOp, CatalogView
from registry.help import help_pages
from registry.models import ROOT

# A dry run's message reads as if the write was done. The warning stops a model that reads only the message.
DRY_RUN_WARNING = "Dry run: nothing was saved. The result shows what would change."


class Superseded(Exception):
    """Another run has already answered this call. Undo this run's work and discard its response."""


@dataclass
class ExecCall:
    """One exec call: what was sent, by whom, under which release, and what is known so far."""

    caller: Caller
    trace: Trace
    catalog: Catalog
    name: str = ""  # the op as sent
    args: dict[str, Any] = field(default_factory=dict)  # as sent
    normal_args: dict[str, Any] | None = None  # in canonical form, valid or not, once the caller may run the op
    valid_args: dict[str, Any] | None = None  # in canonical form, without schema defaults, once they are valid
    key: str | None = None
    dry_run: bool = False
    shape: ShapeRequest = field(default_factory=ShapeRequest)
    op: CatalogOp | None = None
    until: Deadline | None = None  # in addition to the op's own deadline
    store_response: Callable[[EnvelopeResponse], None] | None = (
        None  # stores the response, in the transaction of a write
    )
    is_stored: bool = False
    is_confirmed: bool = False  # by a token, which the write uses up
    is_trial: bool = False  # whether it would succeed is tried before the user is asked
    warnings: list[str] = field(default_factory=list)
    applied_defaults: dict[str, Any] = field(default_factory=dict)

    @property
    def view(self) -> CatalogView:
        """The catalog as this caller sees it."""
        return self.catalog.view_for(self.caller.visibility)

    @property
    def path(self) -> str:
        """The canonical path of the op; if it is unknown, the name as sent, cut at 200 characters."""
        return self.op.op if self.op else self.name[:200]

    @property
    def op_kind(self) -> str:
        """Whether the op reads or writes; empty if it is unknown."""
        return self.op.kind if self.op else ""

    @cached_property
    def keyed_call(self) -> idempotency.KeyedCall | None:
        """The call with its idempotency key; None without a key, for a dry run and for a read."""
        if self.key is None or self.dry_run or (self.op is not None and not self.op.is_write):
            return None
        return idempotency.KeyedCall(
            client_id=self.caller.key.client_id,
            subject=self.caller.subject,
            key=self.key,
            op=self.path,
            fingerprint=idempotency.compute_fingerprint(self.path, self.args),
        )


def build_success(
    call: ExecCall,
    work: UpstreamCall,
    outcome: UpstreamResponse,
    *,
    dry_run_warning: str = DRY_RUN_WARNING,
    next_cursor: str = "",
) -> EnvelopeResponse:
    """Return the response to a call that succeeded. `next_cursor` continues an answer that was cut."""
    dry_run_warnings = [dry_run_warning] if call.dry_run and work.op.is_write else []
    meta = envelopes.build_meta(
        call.trace,
        [*dry_run_warnings, *call.warnings, *outcome.warnings],
        dry_run=call.dry_run,
        applied_defaults=call.applied_defaults,
        executed_op=work.op.op if work.op.op != call.path else None,
        operation=operations.describe_outcome(work.op, work.args, outcome),
        next_cursor=next_cursor or None,
    )
    envelope = envelopes.build_success(call.path, outcome.result, meta)
    return EnvelopeResponse(
        200, envelope, op_kind=work.op.kind, changed_ids=outcome.changed_ids, progress=outcome.progress
    )


def build_failure(call: ExecCall, error: GatewayError) -> EnvelopeResponse:
    """Return the response to a call that failed. Its help_path is one that this caller can read."""
    if error.retry_with is None and error.correction and call.valid_args is not None and call.op:
        args = error.correction.apply(call.valid_args)
        error.retry_with = None if args is None else repair.drop_if_too_long({"op": call.op.op, "args": args})
        error.args = (describe_invalid_args(is_corrected=error.retry_with is not None),)
    if error.retry_with is not None and call.dry_run:
        error.retry_with = {**error.retry_with, "dry_run": True}
    if not call.is_trial:
        hints.note_failure(call.caller, call.trace, path=call.path, args=call.args, error=error)
    error.help_path = help_pages.find_readable_path(call.view, error.help_path or call.path or ROOT)
    meta = envelopes.build_meta(
        call.trace,
        call.warnings,
        dry_run=call.dry_run,
        applied_defaults=call.applied_defaults,
        operation=_describe_attempt(call, error),
    )
    envelope = envelopes.build_failure(call.path or None, error, meta)
    return EnvelopeResponse(error.status, envelope, error.headers, call.op_kind, progress=error.details.get("progress"))


def build_replay(call: ExecCall, stored: idempotency.StoredResponse) -> EnvelopeResponse:
    """Return a stored response as the response to this call, with this call's trace."""
    meta = dict(stored.envelope["meta"])
    warnings, original_trace_id = meta.pop("warnings"), meta.pop("trace_id")
    del meta["latency_ms"]
    new_meta = envelopes.build_meta(call.trace, warnings, replayed=True, original_trace_id=original_trace_id, **meta)
    envelope = {**stored.envelope, "meta": new_meta}
    return EnvelopeResponse(stored.status, envelope, {"Idempotent-Replayed": "true"}, call.op_kind)


def build_event(call: ExecCall, answer: EnvelopeResponse, **more: Any) -> dict[str, Any]:
    """Return the operation event of a finished call."""
    error = answer.envelope.get("error") or {}
    operation = answer.envelope["meta"].get("operation", {})
    # The entity id from a dry run is of a row that was rolled back. An id from the args exists.
    result_entity_id = None if call.dry_run else operation.get("entity_id")
    return call_events.build_event(
        OperationEvent.Type.EXEC,
        caller=call.caller,
        trace=call.trace,
        op=call.op,
        name=call.path,
        release=call.catalog.version,
        status=answer.status,
        error=error,
        dry_run=call.dry_run,
        **{name: operation[name] for name in ("entity", "action") if name in operation},
        entity_id=call_events.resolve_entity_id(call.op, call.args, result_entity_id) if call.op else "",
        changed_ids=list(answer.changed_ids) if answer.changed_ids and not call.dry_run else None,
        unchanged=answer.changed_ids == (),
        progress=answer.progress,
        digest=call_events.hash_call(call.caller, call.path, call.args),
        result_count=call_events.count_items(call.op, answer.envelope.get("result")) if call.op else None,
        content=None if more.get("replayed") else redaction.build_content(call.op, call.args, answer),
        **more,
    )


def _describe_attempt(call: ExecCall, error: GatewayError) -> dict[str, str]:
    if call.op is None:
        return {}
    # Before the args are read, the caller's permission is not known. While the database fails, nothing more is asked.
    may_look_up = call.normal_args is not None and error.status < 500
    return operations.describe_attempt(
        call.op,
        call.args | (call.normal_args or {}),
        subject=call.caller.subject,
        may_look_up=may_look_up,
        are_valid=call.valid_args is not None,
    )
