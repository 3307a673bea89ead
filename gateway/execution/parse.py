"""From a body to a call that is ready to run. Each step returns the next stage or raises a GatewayError."""

from typing import Any

from core.database.deadlines import Deadline
from gateway.access import policies
from gateway.arguments import normalise
from gateway.contracts import request_schemas
from gateway.contracts.errors import PermissionDeniedError
from gateway.contracts.validation import find_field_errors
from gateway.execution import call_errors, op_guesses
from gateway.execution.result_shape import ShapeRequest
from gateway.execution.stages import ParsedCall, PermittedCall, ValidCall
from gateway.executors import executor_for
from gateway.executors.base import UpstreamCall
from registry.catalog.model import CatalogOp


def find_op(call: ParsedCall, body: dict[str, Any]) -> ParsedCall:
    """Return the call with the name that the body has and the op that it stands for, whatever else is in the body."""
    name = body.get("op")
    if not isinstance(name, str):
        return call
    op = call.catalog.find_op(name)
    if op is None and (only_op := op_guesses.find_only_op(call.view, name)):
        warning = f"Read {name} as {only_op}, its only op."
        return call.evolve(name=name, op=call.catalog.ops[only_op], warnings=(warning,))
    return call.evolve(name=name, op=op)


def parse_body(call: ParsedCall, body: dict[str, Any]) -> ParsedCall:
    """Return the call with all that the body says but its key.

    Raises InvalidRequestError with all field errors and, if it is certain, the corrected call.
    """
    if not body:
        raise call_errors.build_empty_call_error(call)
    if errors := find_field_errors(request_schemas.get_exec_validator(), body):
        raise call_errors.build_malformed_call_error(call.op, body, errors)
    args, fields = _take_out_fields(call.op, body.get("args", {}))
    return call.evolve(
        args=args,
        dry_run=body.get("dry_run", False),
        shape=ShapeRequest(tuple(body.get("fields", fields)), body.get("max_tokens"), body.get("cursor", "")),
    )


def _take_out_fields(op: CatalogOp | None, args: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the args and the `fields` in them, taken out if the op has no such argument: they are the call's own."""
    fields = args.get("fields")
    sent = [fields] if isinstance(fields, str) else fields
    if op is None or not sent or "fields" in op.arguments.keys() | op.argument_aliases.keys():
        return args, []
    if op.schema.get("additionalProperties") is not False:  # the upstream takes arguments that its schema lacks
        return args, []
    if find_field_errors(request_schemas.get_exec_validator(), {"op": op.op, "fields": sent}):
        return args, []
    return {name: value for name, value in args.items() if name != "fields"}, list(sent)


def add_key(call: ParsedCall, sent_key: str | None) -> ParsedCall:
    """Return the call with the key of its body or its header. Raises InvalidRequestError if the two differ.

    A model that sends a key with a read is told that it does nothing. In the header, the client sends it with any call.
    """
    key = request_schemas.resolve_idempotency_key(sent_key, call.caller.idempotency_key)
    if key is None:
        return call
    is_read_of_model = sent_key is not None and call.op is not None and not call.op.is_write
    warning = ("Ignored the idempotency key: reads do not need one.",) if is_read_of_model else ()
    return call.evolve(key=key, warnings=(*call.warnings, *warning))


def permit_call(call: ParsedCall) -> PermittedCall:
    """Return the call with its args in canonical form, if the op exists, is active and may run.

    Raises NotFoundError, PermissionDeniedError, or InternalError if nothing can run the op: corrected args would not
    help, so the args are not looked at before.
    """
    op = _get_active_op(call)
    check_permission(call, op)
    executor = executor_for(op)
    if message := call.view.off_reasons.get(op.op):
        raise PermissionDeniedError(f"{message} Nothing was done.", reason="switched_off")
    normalised = normalise.normalise_args(op, call.args, call.caller.context, name=call.name)
    instead = normalise.fall_back_to_list(op, normalised, catalog=call.catalog, caller=call.caller)
    if instead is not None:
        op, normalised = instead
        executor = executor_for(op)
    return PermittedCall(call, op, executor, normalised)


def check_permission(call: ParsedCall, op: CatalogOp) -> None:
    """Raise PermissionDeniedError if the caller cannot run the op."""
    decision = policies.may_run(call.caller, op)
    if not decision.allowed:
        raise PermissionDeniedError(decision.message, reason=decision.reason)


def validate(permitted: PermittedCall) -> ValidCall:
    """Return the call as it goes to the upstream. Raises InvalidRequestError with all field errors at once."""
    call, op, normalised = permitted.call, permitted.op, permitted.normalised
    errors = find_field_errors(
        op.validator, normalised.args, find_id_source=lambda name: call_errors.find_id_source(call, op, name)
    )
    if normalise.is_empty_update(op, normalised.args):
        errors.append(call_errors.build_no_change_error(op))
    if errors:
        raise call_errors.build_invalid_args_error(call, op, normalised.without_defaults, errors)
    work = UpstreamCall(
        op=op,
        catalog=call.catalog,
        visibility=call.caller.visibility,
        args=normalised.args,
        subject=call.caller.subject,
        at=call.trace.at,
        deadline=Deadline.after(milliseconds=op.timeout_ms).or_earlier(call.until),
        client_id=call.caller.key.client_id,
        trace_id=call.trace.id,
        idempotency_scope=call.keyed_call.scope if call.keyed_call else "",
        fields=call.shape.fields,
        answers=call.answers,
        watcher=call.watcher,
    )
    return ValidCall(permitted, work)


def _get_active_op(call: ParsedCall) -> CatalogOp:
    if call.op is None:
        raise call_errors.build_unknown_op_error(call)
    if not call.op.is_active:
        raise call_errors.build_retired_op_error(call, call.op)
    return call.op
