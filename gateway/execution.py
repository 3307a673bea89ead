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

from analytics import events
from core import faults, logs, strictjson
from core.deadlines import Deadline, DeadlineExceeded
from gateway import (
    bodies,
    calls,
    confirmation,
    database,
    idempotency,
    normalise,
    policies,
    remote,
    repair,
    serving,
    standins,
    writes,
)
from gateway.callers import Caller
from gateway.calls import Call, Superseded
from gateway.envelopes import Answer, Trace
from gateway.errors import Denied, Failed, FieldError, GatewayError, Invalid, Missing
from gateway.executors import executor_for
from gateway.executors.base import Executor, Work
from gateway.models import Scope
from gateway.validation import field_errors
from registry import help, signatures
from registry.catalogs import Catalog, CatalogOp

log = logging.getLogger(__name__)

SCHEMA_CHARACTERS = 1_500  # a validation error includes a schema up to this size, which saves a call of help


def execute(
    *,
    body: dict[str, Any],
    caller: Caller,
    trace: Trace,
    catalog: Catalog | None = None,
    until: Deadline | None = None,
    key: str | None = None,
    settle: Callable[[Answer], None] | None = None,
) -> Answer:
    """Run one op and return its response. Raises catalogs.NothingLive; every other failure becomes a response.

    A batch entry passes the catalog of its release, a deadline in addition to that of its op, the idempotency key to
    use if neither body nor header has one, and `store_response`, which for a write runs in the same transaction. If
    it raises Superseded, the write is rolled back and the exception propagates.
    """
    call = Call(
        caller=caller,
        trace=trace,
        catalog=catalog or serving.catalog(caller.served),
        until=until,
        key=key,
        settle=settle,
    )
    logs.release.set(call.catalog.version)
    trace.release = call.catalog.version
    answer = _answered(call, body)
    if call.settle and not call.is_settled:
        call.settle(answer)
    return answer


def refuse(error: GatewayError, *, name: str, caller: Caller, trace: Trace, catalog: Catalog) -> Answer:
    """Return the response to a call that failed before it could start, and record its event."""
    return _refused(Call(caller=caller, trace=trace, catalog=catalog, name=name, op=catalog.find(name)), error)


def _answered(call: Call, body: dict[str, Any]) -> Answer:
    try:
        _read(call, body)
        return _replayed(call) or _run(call)
    except GatewayError as error:
        return _refused(call, error)
    except Superseded:
        raise
    except (DeadlineExceeded, OperationalError, InterfaceError) as error:
        return _refused(call, database.meaning(error, keyed=call.keyed is not None))
    except Exception as error:
        log.error("exec.crashed op=%s trace=%s\n%s", call.op.op if call.op else "-", call.trace.id, faults.told(error))
        return _refused(call, Failed("The call failed on our side. Its trace id tells the administrator where."))


def _read(call: Call, body: dict[str, Any]) -> None:
    """Parse the body into the call. Raises Invalid with all field errors and, if it is certain, the corrected call."""
    name = body.get("op")
    if isinstance(name, str):
        call.name, call.op = name, call.catalog.find(name)
    _check_body(call, body)
    call.args = body.get("args", {})
    call.dry_run = body.get("dry_run", False)
    sent = bodies.idempotency_key(body.get("idempotency_key"), call.caller.idempotency_key)
    call.key = call.key if sent is None else sent
    if sent is not None and call.op is not None and not call.op.is_write:
        call.warnings.append("Ignored the idempotency key: reads do not need one.")


def _check_body(call: Call, body: dict[str, Any]) -> None:
    if not body:
        raise Invalid(f"The call is empty. Send an op and its args, such as {_example(call)}.", reason="empty_call")
    errors = field_errors(bodies.exec_validator(), bodies.EXEC, body)
    if errors:
        raise Invalid(
            f"The call is malformed. {errors[0].message}",
            reason="malformed_call",
            field_errors=errors,
            retry_with=_meant(call.op, body) if call.op else None,
        )


def _meant(op: CatalogOp, body: dict[str, Any]) -> dict[str, Any] | None:
    """Return the corrected call if it is certain: args were sent as a string, or next to op instead of inside args."""
    args = body.get("args", {})
    if isinstance(args, str):
        try:
            args = strictjson.loads(args.encode())
        except strictjson.NotStrictJSON:
            return None
    strays: dict[str, Any] = {name: value for name, value in body.items() if name not in bodies.EXEC["properties"]}
    if not isinstance(args, dict) or not set(strays) <= set(op.arguments) - set(args):
        return None
    kept = {name: value for name, value in body.items() if name in ("idempotency_key", "dry_run")}
    meant: dict[str, Any] = {"op": op.op, "args": {**args, **strays}, **kept}
    return None if field_errors(bodies.exec_validator(), bodies.EXEC, meant) else repair.fitting(meant)


def _example(call: Call) -> str:
    """Return an example call as JSON that works for this caller."""
    visible = (call.catalog.ops[path] for path in sorted(call.view.ops))
    op = next((op for op in visible if op.examples and not op.is_write), None)
    if op is None:
        return '{"op": "<op>", "args": {}}'
    return orjson.dumps({"op": op.op, "args": op.examples[0]["args"]}).decode()


def _replayed(call: Call) -> Answer | None:
    """Return the stored response of an earlier call with this key, if any.

    The caller still needs permission. The op need not be live any more.
    """
    stored = idempotency.find(call.keyed, at=call.trace.at) if call.keyed else None
    if stored is None:
        return None
    if call.op is not None:
        _authorise(call, call.op)
    elif Scope.EXEC_WRITE not in call.caller.key.scopes:
        raise Denied("This API key may not write. Use a key with the scope exec:write.", reason="scope_missing")
    answer = calls.replayed(call, stored)
    events.later(calls.event(call, answer, replayed=True))
    return answer


def _run(call: Call) -> Answer:
    asked = _resolved(call)
    _authorise(call, asked)
    _check_switched_on(call, asked)
    executor_for(asked)  # before validation: corrected args do not help an op that has no executor
    op, args = _validated(call, asked)
    work = Work(
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
        return writes.run(call, work, executor) if executor.transactional else remote.run(call, work, executor)
    prepared = executor.prepare(work)
    with database.read_within(work.deadline, timeout_ms=op.timeout_ms):
        outcome = writes.timed(call.trace, executor, work, prepared)
    answer = calls.succeeded(call, work, outcome)
    events.later(calls.event(call, answer))
    return answer


def _require_confirmation(call: Call, work: Work, executor: Executor) -> None:
    """Raise Conflict if the end user must agree first. It holds the result of a dry run and the token."""
    asks = work.op.confirm and call.caller.key.confirms and not call.dry_run
    if asks and not confirmation.is_given(call.caller, work):
        rehearsal = (writes if executor.transactional else remote).rehearse(call, work, executor)
        if rehearsal.envelope["ok"]:  # a call that would fail needs no agreement
            raise confirmation.required(call.caller, work, rehearsal.envelope)


def _resolved(call: Call) -> CatalogOp:
    if call.op is not None and call.op.is_active:
        return call.op
    if call.op is not None:
        successor = call.op.successor
        close = [successor] if successor in call.view.ops else []
        message = f"{call.op.op} is retired." + (f" Use {successor}." if close else "")
    else:
        close = [path for path in help.did_you_mean(call.catalog, call.view, call.name) if path in call.view.ops]
        what = f"{call.path} is a group, not an op." if call.name in call.view.children else "There is no such op."
        message = what + (f" Did you mean {', '.join(close)}?" if close else "")
    raise Missing(
        message,
        reason="unknown_op",
        details={"did_you_mean": close} if close else None,
    )


def _authorise(call: Call, op: CatalogOp) -> None:
    decision = policies.may_run(call.caller, op)
    if not decision.allowed:
        raise Denied(decision.message, reason=decision.reason)


def _check_switched_on(call: Call, op: CatalogOp) -> None:
    if told := call.view.off.get(op.op):
        raise Denied(f"{told} Nothing was done.", reason="switched_off")


def _validated(call: Call, op: CatalogOp) -> tuple[CatalogOp, dict[str, Any]]:
    """Return the op to run and its args in canonical form. A get without its id runs another op.

    Raises Invalid with all field errors at once.
    """
    found = normalise.normalise(op, call.args, call.caller.context)
    op, found = standins.stand_in(op, found, catalog=call.catalog, caller=call.caller) or (op, found)
    call.warnings += found.warnings
    call.applied_defaults = found.applied_defaults
    errors = field_errors(op.validator, op.schema, found.args, id_sources=_id_sources(call, op))
    if normalise.changes_nothing(op, found.args):
        errors.append(_no_change(op))
    if errors:
        raise _invalid(call, op, found.without_defaults, errors)
    return op, found.args


def _no_change(op: CatalogOp) -> FieldError:
    fields = ", ".join(name for name in op.arguments if name not in op.required | normalise.STRATEGY)
    return FieldError("", "no_change", f"The update changes nothing. Send one or more of {fields}.")


def _invalid(call: Call, op: CatalogOp, args: dict[str, Any], errors: list[FieldError]) -> Invalid:
    retry_with = repair.corrected(op, args, errors, call.caller.context)
    schema = signatures.without_annotations(op.schema, prose=False)
    tell = retry_with is None and len(orjson.dumps(schema)) <= SCHEMA_CHARACTERS
    return Invalid(
        f"{op.op} cannot run with these args. " + " ".join(error.message for error in errors[:3]),
        reason="invalid_args",
        field_errors=errors,
        retry_with=retry_with,
        details={"schema": schema} if tell else None,
    )


class _Listers(dict[tuple[str, str], str]):
    """Maps (connection, entity) to the op that lists the entity. Ids of one upstream mean nothing to another."""


def _id_sources(call: Call, op: CatalogOp) -> dict[str, str]:
    """Return, for each id argument of an op, the op that lists such ids, unless it is switched off."""
    listers = call.catalog.derived(_Listers, lambda: _listers(call.catalog))
    entities = {name: (op.connection, name[:-3]) for name in op.arguments if name[-3:] == "_id"}
    found = {name: listers[entity] for name, entity in entities.items() if entity in listers}
    return {name: path for name, path in found.items() if path not in call.view.off}


def _listers(catalog: Catalog) -> _Listers:
    lists = (op for op in catalog.ops.values() if op.action == "list" and op.is_active and op.entity)
    return _Listers({(op.connection, op.entity): op.op for op in lists})


def _refused(call: Call, error: GatewayError) -> Answer:
    """Return the response to a failed call, record its event and log it. Caller mistakes are logged as INFO."""
    answer = calls.failed(call, error)
    events.later(calls.event(call, answer))
    level = logging.WARNING if error.status >= 500 else logging.INFO
    name = call.op.op if call.op else "-"
    log.log(level, "exec.failed op=%s code=%s reason=%s trace=%s", name, error.code, error.reason, call.trace.id)
    return answer
