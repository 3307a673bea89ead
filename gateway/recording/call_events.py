"""Build and record the events of calls, also of those that failed before an op was known."""

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import orjson
from django.conf import settings

from analytics.events import event_log
from analytics.events.models import OperationEvent
from analytics.rollout import evaluation
from core.metrics import CallLabels
from gateway.access.request_context import Caller, is_uuid
from gateway.contracts import envelopes
from gateway.contracts.envelopes import Envelope, EnvelopeResponse, Trace
from gateway.contracts.errors import GatewayError
from registry.catalog.model import CatalogOp
from registry.models import Op

MAX_FIELD_ERRORS = 20
_SORTED = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS


def build_event(
    kind: OperationEvent.Type,
    *,
    caller: Caller,
    trace: Trace,
    op: CatalogOp | None = None,
    name: str = "",
    release: str = "",
    status: int = 200,
    error: Mapping[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Return the event of one call.

    `name` is used if no op was resolved; `error` is the `error` of the envelope.
    """
    routing, key = caller.routing, caller.key
    event: dict[str, Any] = {
        "time": trace.at,
        "type": kind.value,
        "op": name,
        "ok": not error,
        "status": status,
        "source": trace.source,
        "latency_ms": round(trace.elapsed_ms(), 3),
        "release": release,
        "surface": routing.surface,
        "cohort": routing.cohort,
        "model": evaluation.get_model_family(caller.model)[:40],
        "agent": caller.agent.name if caller.agent else "",
        "client": key.client,
        "key": key.prefix,
        "subject": caller.subject,
        "session": caller.session,
        "turn": caller.turn,
        "purpose": caller.purpose,
        "data_flow": trace.data_flow,
        "trace_id": trace.id,
    }
    if op is not None:
        event["op"], event["tool_name"], event["group"] = op.op, op.tool_name, op.group
        event["kind"], event["entity"], event["action"] = op.kind, op.entity, op.action
    event |= more
    if error:
        details = error["details"]
        pairs = [[each["path"], each["code"]] for each in details["field_errors"][:MAX_FIELD_ERRORS]]
        event |= {"code": str(error["code"]), "reason": details["reason"], "field_errors": pairs}
    return event_log.cut_names(event)


def build_metric_labels(
    kind: OperationEvent.Type, *, op_kind: str = "", error: Mapping[str, Any] | None = None
) -> CallLabels:
    """Return the metric labels of one call; `error` is the `error` of the envelope."""
    if error:
        return str(kind), op_kind, str(error["code"]), error["details"]["reason"]
    return str(kind), op_kind, "OK", ""


def build_exec_labels(response: EnvelopeResponse) -> CallLabels:
    """Return the metric labels of an exec call from its response."""
    return build_metric_labels(OperationEvent.Type.EXEC, op_kind=response.op_kind, error=response.envelope.get("error"))


def hash_call(caller: Caller, kind: str, body: Mapping[str, Any]) -> str:
    """Return a keyed hash that is equal for equal calls within one turn; empty without a turn."""
    if not caller.turn:
        return ""
    payload = orjson.dumps([caller.key.client_id, caller.session, caller.turn, kind, body], option=_SORTED)
    # The pepper prevents readers of events from guessing args: the event holds all other inputs of the hash.
    return hashlib.blake2b(payload, key=_hash_pepper(settings.GATEWAY_KEY_PEPPER), digest_size=8).hexdigest()


@lru_cache(maxsize=1)
def _hash_pepper(pepper: str) -> bytes:
    """Return the pepper at a key length that BLAKE2 accepts."""
    return hashlib.sha256(pepper.encode()).digest()


def count_items(op: CatalogOp, result: Any) -> int | None:
    """Return the length of a read's list, if the result is a list or holds exactly one; else None."""
    if op.kind != Op.Kind.READ:
        return None
    lists = [each for each in (result.values() if isinstance(result, dict) else [result]) if isinstance(each, list)]
    return len(lists[0]) if len(lists) == 1 else None


def resolve_entity_id(op: CatalogOp, args: dict[str, Any], upstream_id: str | None = None) -> str:
    """Return the id of the entity of a call, in lower case: from the upstream, else from the args.

    Empty if it is not a UUID.
    """
    candidate = upstream_id or args.get(f"{op.entity}_id")
    return candidate.lower() if isinstance(candidate, str) and is_uuid(candidate) else ""


def record_failed_call(
    event_type: OperationEvent.Type, error: GatewayError, *, caller: Caller | None, trace: Trace, name: str
) -> tuple[Envelope, CallLabels]:
    """Return the envelope of a failed call and its metric labels. Records its event if the caller is known.

    `name` is the path or op as it was sent.
    """
    envelope = envelopes.build_failure(None, error, envelopes.build_meta(trace))
    if caller is not None:
        event = build_event(
            event_type,
            caller=caller,
            trace=trace,
            name=name,
            release=trace.release,
            status=error.status,
            error=envelope["error"],
        )
        event_log.enqueue_event(event)
    return envelope, build_metric_labels(event_type, error=envelope["error"])
