"""Build the answer to a call, and its operation event."""

from typing import Any

from analytics.events.models import OperationEvent
from gateway.arguments import repair
from gateway.contracts import envelopes
from gateway.contracts.envelopes import Envelope, EnvelopeResponse
from gateway.contracts.errors import GatewayError, NotFoundError, describe_invalid_args
from gateway.execution import operations, wrong_ids
from gateway.execution.idempotency import StoredResponse
from gateway.execution.stages import ParsedCall, PermittedCall, Stage, ValidCall
from gateway.executors.base import UpstreamResponse
from gateway.recording import call_events, hints, redaction
from registry.help import help_pages
from registry.models import ROOT

# A dry run's message reads as if the write was done. The warning stops a model that reads only the message.
DRY_RUN_WARNING = "Dry run: nothing was saved. The result shows what would change."


def build_success(
    valid: ValidCall, response: UpstreamResponse, *, dry_run_warning: str = DRY_RUN_WARNING, next_cursor: str = ""
) -> EnvelopeResponse:
    """Return the answer to a call that succeeded. `next_cursor` continues a result that was cut."""
    call, op = valid.call, valid.work.op
    dry_run_warnings = [dry_run_warning] if call.dry_run and op.is_write else []
    meta = envelopes.build_meta(
        call.trace,
        [*dry_run_warnings, *valid.permitted.warnings, *response.warnings],
        dry_run=call.dry_run,
        applied_defaults=valid.permitted.normalised.applied_defaults,
        executed_op=op.op if op.op != call.path else None,
        operation=operations.describe_outcome(op, valid.work.args, response),
        next_cursor=next_cursor or None,
        undo={} if call.dry_run else response.undo,
    )
    envelope = envelopes.build_success(call.path, response.result, meta)
    return EnvelopeResponse(
        200, envelope, op_kind=op.kind, changed_ids=response.changed_ids, progress=response.progress
    )


def _is_about_missing_row(error: GatewayError) -> bool:
    """Return whether an id names no row of the kind that it should."""
    if error.reason == NotFoundError.reason:
        return not error.field_errors
    return bool(error.field_errors) and all(each.code.startswith("no_such_") for each in error.field_errors)


def build_failure(stage: Stage, error: GatewayError) -> EnvelopeResponse:
    """Return the answer to a call that failed at a stage. Its help_path is one that the caller can read."""
    call, permitted = _unpack(stage)
    if isinstance(stage, ValidCall) and _is_about_missing_row(error):
        wrong_ids.explain_wrong_ids(stage, error)
    if error.retry_with is None and error.correction and isinstance(stage, ValidCall) and stage.permitted.is_as_asked:
        args = error.correction.apply(stage.permitted.normalised.without_defaults)
        error.retry_with = None if args is None else repair.drop_if_too_long({"op": call.path, "args": args})
        error.args = (describe_invalid_args(is_corrected=error.retry_with is not None),)
    if error.retry_with is not None and call.dry_run:
        error.retry_with = {**error.retry_with, "dry_run": True}
    hints.note_failure(call.caller, call.trace, path=call.path, args=call.args, error=error)
    error.help_path = help_pages.find_readable_path(call.view, error.help_path or call.path or ROOT)
    meta = envelopes.build_meta(
        call.trace,
        permitted.warnings if permitted else list(call.warnings),
        dry_run=call.dry_run,
        applied_defaults=permitted.normalised.applied_defaults if permitted else {},
        operation=_describe_attempt(stage, error),
    )
    envelope = envelopes.build_failure(call.path or None, error, meta)
    return EnvelopeResponse(error.status, envelope, error.headers, call.op_kind, progress=error.details.get("progress"))


def build_replay(call: ParsedCall, stored: StoredResponse) -> EnvelopeResponse:
    """Return a stored answer as the answer to this call, with this call's trace."""
    first = stored.envelope["meta"]
    now = envelopes.build_meta(call.trace, first["warnings"], replayed=True, original_trace_id=first["trace_id"])
    envelope: Envelope = {**stored.envelope, "meta": {**now, **first, **now}}
    return EnvelopeResponse(stored.status, envelope, {"Idempotent-Replayed": "true"}, call.op_kind)


def build_event(call: ParsedCall, answer: EnvelopeResponse, **more: Any) -> dict[str, Any]:
    """Return the operation event of a finished call."""
    error = answer.envelope.get("error")
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


def _unpack(stage: Stage) -> tuple[ParsedCall, PermittedCall | None]:
    if isinstance(stage, ParsedCall):
        return stage, None
    return stage.call, stage.permitted if isinstance(stage, ValidCall) else stage


def _describe_attempt(stage: Stage, error: GatewayError) -> dict[str, str]:
    call, permitted = _unpack(stage)
    if call.op is None:
        return {}
    known = permitted if permitted and permitted.is_as_asked else None
    return operations.describe_attempt(
        call.op,
        call.args | (known.normalised.args if known else {}),
        subject=call.caller.subject,
        # Only who may run the op learns the row's name. While the database fails, nothing more is asked.
        may_look_up=known is not None and error.status < 500,
        are_valid=known is not None and isinstance(stage, ValidCall),
    )
