"""exec: from a body to an envelope.

The steps in order: parse the body, replay a stored response, resolve the op, check permission and switches, validate
the args, ask for confirmation, run. Every step either returns or raises; `execute` turns exceptions into
responses.
"""

import logging
from collections.abc import Callable
from typing import Any

import orjson
from django.db import InterfaceError, OperationalError

from analytics.events import event_log
from core import logs, safe_traceback, strict_json
from core.deadlines import Deadline, DeadlineExceeded
from gateway.access import confirmation, policies
from gateway.arguments import list_fallback, normalise, repair
from gateway.contracts import request_schemas
from gateway.contracts.envelopes import EnvelopeResponse, Trace
from gateway.contracts.errors import (
    FieldError,
    GatewayError,
    InternalError,
    InvalidRequestError,
    NotFoundError,
    PermissionDeniedError,
)
from gateway.contracts.validation import find_field_errors
from gateway.execution import db_errors, exec_call, idempotency, local_write, remote_write
from gateway.execution.exec_call import ExecCall, Superseded
from gateway.executors import executor_for
from gateway.executors.base import Executor, UpstreamCall
from gateway.models import Scope
from gateway.request_context import Caller
from gateway.routing import release_routing
from registry.catalog.model import Catalog, CatalogOp
from registry.help import help_pages
from registry.jsonschema import signatures

log = logging.getLogger(__name__)

MAX_SCHEMA_CHARACTERS = 1_500  # a validation error includes a schema up to this size, which saves a call of help


def execute(
    *,
    body: dict[str, Any],
    caller: Caller,
    trace: Trace,
    catalog: Catalog | None = None,
    until: Deadline | None = None,
    key: str | None = None,
    store_response: Callable[[EnvelopeResponse], None] | None = None,
) -> EnvelopeResponse:
    """Run one op and return its response. Raises catalogs.NoLiveRelease; every other failure becomes a response.

    A batch entry passes the catalog of its release, a deadline in addition to that of its op, the idempotency key to
    use if neither body nor header has one, and `store_response`, which for a write runs in the same transaction. If
    it raises Superseded, the write is rolled back and the exception propagates.
    """
    call = ExecCall(
        caller=caller,
        trace=trace,
        catalog=catalog or release_routing.get_catalog(caller.routing),
        until=until,
        key=key,
        store_response=store_response,
    )
    logs.release.set(call.catalog.version)
    trace.release = call.catalog.version
    answer = _respond(call, body)
    if call.store_response and not call.is_stored:
        call.store_response(answer)
    return answer


def reject_call(error: GatewayError, *, name: str, caller: Caller, trace: Trace, catalog: Catalog) -> EnvelopeResponse:
    """Return the response to a call that failed before it could start, and record its event."""
    return _respond_with_error(
        ExecCall(caller=caller, trace=trace, catalog=catalog, name=name, op=catalog.find_op(name)), error
    )


def _respond(call: ExecCall, body: dict[str, Any]) -> EnvelopeResponse:
    try:
        _parse_body(call, body)
        return _replay_stored(call) or _run_op(call)
    except GatewayError as error:
        return _respond_with_error(call, error)
    except Superseded:
        raise
    except (DeadlineExceeded, OperationalError, InterfaceError) as error:
        return _respond_with_error(call, db_errors.to_api_error(error, keyed=call.keyed_call is not None))
    except Exception as error:
        log.error(
            "exec.crashed op=%s trace=%s\n%s",
            call.op.op if call.op else "-",
            call.trace.id,
            safe_traceback.format(error),
        )
        return _respond_with_error(
            call, InternalError("The call failed on our side. Its trace id tells the administrator where.")
        )


def _parse_body(call: ExecCall, body: dict[str, Any]) -> None:
    """Parse the body into the call.

    Raises InvalidRequestError with all field errors and, if it is certain, the corrected call.
    """
    name = body.get("op")
    if isinstance(name, str):
        call.name, call.op = name, call.catalog.find_op(name)
    _check_body(call, body)
    call.args = body.get("args", {})
    call.dry_run = body.get("dry_run", False)
    sent_key = request_schemas.resolve_idempotency_key(body.get("idempotency_key"), call.caller.idempotency_key)
    call.key = call.key if sent_key is None else sent_key
    if sent_key is not None and call.op is not None and not call.op.is_write:
        call.warnings.append("Ignored the idempotency key: reads do not need one.")


def _check_body(call: ExecCall, body: dict[str, Any]) -> None:
    if not body:
        raise InvalidRequestError(
            f"The call is empty. Send an op and its args, such as {_render_example_call(call)}.", reason="empty_call"
        )
    errors = find_field_errors(request_schemas.get_exec_validator(), request_schemas.EXEC, body)
    if errors:
        raise InvalidRequestError(
            f"The call is malformed. {errors[0].message}",
            reason="malformed_call",
            field_errors=errors,
            retry_with=_correct_malformed_call(call.op, body) if call.op else None,
        )


def _correct_malformed_call(op: CatalogOp, body: dict[str, Any]) -> dict[str, Any] | None:
    """Return the corrected call if it is certain: args were sent as a string, or next to op instead of inside args."""
    args = body.get("args", {})
    if isinstance(args, str):
        try:
            args = strict_json.loads(args.encode())
        except strict_json.NotStrictJSON:
            return None
    misplaced_args: dict[str, Any] = {
        name: value for name, value in body.items() if name not in request_schemas.EXEC["properties"]
    }
    if not isinstance(args, dict) or not set(misplaced_args) <= set(op.arguments) - set(args):
        return None
    options = {name: value for name, value in body.items() if name in ("idempotency_key", "dry_run")}
    corrected_call: dict[str, Any] = {"op": op.op, "args": {**args, **misplaced_args}, **options}
    return (
        None
        if find_field_errors(request_schemas.get_exec_validator(), request_schemas.EXEC, corrected_call)
        else repair.drop_if_too_long(corrected_call)
    )


def _render_example_call(call: ExecCall) -> str:
    """Return an example call as JSON that works for this caller."""
    visible = (call.catalog.ops[path] for path in sorted(call.view.ops))
    op = next((op for op in visible if op.examples and not op.is_write), None)
    if op is None:
        return '{"op": "<op>", "args": {}}'
    return orjson.dumps({"op": op.op, "args": op.examples[0]["args"]}).decode()


def _replay_stored(call: ExecCall) -> EnvelopeResponse | None:
    """Return the stored response of an earlier call with this key, if any.

    The caller still needs permission. The op need not be live any more.
    """
    stored = idempotency.find_stored_response(call.keyed_call, at=call.trace.at) if call.keyed_call else None
    if stored is None:
        return None
    if call.op is not None:
        _check_permission(call, call.op)
    elif Scope.EXEC_WRITE not in call.caller.key.scopes:
        raise PermissionDeniedError(
            "This API key may not write. Use a key with the scope exec:write.", reason="scope_missing"
        )
    answer = exec_call.build_replay(call, stored)
    event_log.enqueue_event(exec_call.build_event(call, answer, replayed=True))
    return answer


def _run_op(call: ExecCall) -> EnvelopeResponse:
    requested_op = _resolve_op(call)
    _check_permission(call, requested_op)
    _check_switched_on(call, requested_op)
    executor_for(requested_op)  # before validation: corrected args do not help an op that has no executor
    op, args = _validate_args(call, requested_op)
    work = UpstreamCall(
        op=op,
        catalog=call.catalog,
        args=args,
        subject=call.caller.subject,
        at=call.trace.at,
        deadline=Deadline.after(milliseconds=op.timeout_ms).or_earlier(call.until),
    )
    executor = executor_for(op)
    if op.is_write:
        _require_confirmation(call, work, executor)
        return (
            local_write.run_local_write(call, work, executor)
            if executor.transactional
            else remote_write.run_remote_write(call, work, executor)
        )
    prepared = executor.prepare(work)
    with db_errors.enforce_read_deadline(work.deadline, timeout_ms=op.timeout_ms):
        outcome = local_write.apply_timed(call.trace, executor, work, prepared)
    answer = exec_call.build_success(call, work, outcome)
    event_log.enqueue_event(exec_call.build_event(call, answer))
    return answer


def _require_confirmation(call: ExecCall, work: UpstreamCall, executor: Executor) -> None:
    """Raise ConflictError if the end user must agree first. It holds the result of a dry run and the token."""
    needs_confirmation = work.op.confirm and call.caller.key.confirms and not call.dry_run
    if needs_confirmation and not confirmation.is_confirmed(call.caller, work):
        dry_run = (local_write if executor.transactional else remote_write).dry_run_write(call, work, executor)
        if dry_run.envelope["ok"]:  # a call that would fail needs no agreement
            raise confirmation.build_required_error(call.caller, work, dry_run.envelope)


def _resolve_op(call: ExecCall) -> CatalogOp:
    if call.op is not None and call.op.is_active:
        return call.op
    if call.op is not None:
        successor = call.op.successor
        suggestions = [successor] if successor in call.view.ops else []
        message = f"{call.op.op} is retired." + (f" Use {successor}." if suggestions else "")
    else:
        suggestions = [
            path for path in help_pages.suggest_paths(call.catalog, call.view, call.name) if path in call.view.ops
        ]
        problem = f"{call.path} is a group, not an op." if call.name in call.view.children else "There is no such op."
        message = problem + (f" Did you mean {', '.join(suggestions)}?" if suggestions else "")
    raise NotFoundError(
        message,
        reason="unknown_op",
        details={"did_you_mean": suggestions} if suggestions else None,
    )


def _check_permission(call: ExecCall, op: CatalogOp) -> None:
    decision = policies.may_run(call.caller, op)
    if not decision.allowed:
        raise PermissionDeniedError(decision.message, reason=decision.reason)


def _check_switched_on(call: ExecCall, op: CatalogOp) -> None:
    if message := call.view.off_reasons.get(op.op):
        raise PermissionDeniedError(f"{message} Nothing was done.", reason="switched_off")


def _validate_args(call: ExecCall, op: CatalogOp) -> tuple[CatalogOp, dict[str, Any]]:
    """Return the op to run and its args in canonical form. A get without its id runs another op.

    Raises InvalidRequestError with all field errors at once.
    """
    result = normalise.normalise_args(op, call.args, call.caller.context)
    op, result = list_fallback.fall_back_to_list(op, result, catalog=call.catalog, caller=call.caller) or (op, result)
    call.warnings += result.warnings
    call.applied_defaults = result.applied_defaults
    errors = find_field_errors(op.validator, op.schema, result.args, id_sources=_find_id_sources(call, op))
    if normalise.is_empty_update(op, result.args):
        errors.append(_build_no_change_error(op))
    if errors:
        raise _build_invalid_args_error(call, op, result.without_defaults, errors)
    return op, result.args


def _build_no_change_error(op: CatalogOp) -> FieldError:
    fields = ", ".join(name for name in op.arguments if name not in op.required | normalise.UPDATE_OPTIONS)
    return FieldError("", "no_change", f"The update changes nothing. Send one or more of {fields}.")


def _build_invalid_args_error(
    call: ExecCall, op: CatalogOp, args: dict[str, Any], errors: list[FieldError]
) -> InvalidRequestError:
    retry_with = repair.repair_call(op, args, errors, call.caller.context)
    schema = signatures.strip_annotations(op.schema, prose=False)
    includes_schema = retry_with is None and len(orjson.dumps(schema)) <= MAX_SCHEMA_CHARACTERS
    return InvalidRequestError(
        f"{op.op} cannot run with these args. " + " ".join(error.message for error in errors[:3]),
        reason="invalid_args",
        field_errors=errors,
        retry_with=retry_with,
        details={"schema": schema} if includes_schema else None,
    )


class _ListOps(dict[tuple[str, str], str]):
    """Maps (connection, entity) to the op that lists the entity. Ids of one upstream mean nothing to another."""


def _find_id_sources(call: ExecCall, op: CatalogOp) -> dict[str, str]:
    """Return, for each id argument of an op, the op that lists such ids, unless it is switched off."""
    list_ops = call.catalog.get_or_derive(_ListOps, lambda: _index_list_ops(call.catalog))
    entities = {name: (op.connection, name[:-3]) for name in op.arguments if name[-3:] == "_id"}
    sources = {name: list_ops[entity] for name, entity in entities.items() if entity in list_ops}
    return {name: path for name, path in sources.items() if path not in call.view.off_reasons}


def _index_list_ops(catalog: Catalog) -> _ListOps:
    lists = (op for op in catalog.ops.values() if op.action == "list" and op.is_active and op.entity)
    return _ListOps({(op.connection, op.entity): op.op for op in lists})


def _respond_with_error(call: ExecCall, error: GatewayError) -> EnvelopeResponse:
    """Return the response to a failed call, record its event and log it. Caller mistakes are logged as INFO."""
    answer = exec_call.build_failure(call, error)
    event_log.enqueue_event(exec_call.build_event(call, answer))
    level = logging.WARNING if error.status >= 500 else logging.INFO
    name = call.op.op if call.op else "-"
    log.log(level, "exec.failed op=%s code=%s reason=%s trace=%s", name, error.code, error.reason, call.trace.id)
    return answer
