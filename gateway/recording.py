"""Operation events of calls: what was asked, how it ended, under what and for whom."""

from collections.abc import Mapping
from typing import Any

from analytics import events
from analytics.models import OperationEvent
from gateway.callers import Caller, is_uuid
from gateway.envelopes import Trace
from registry.catalogs import CatalogOp

FIELD_ERRORS_KEPT = 20


def event(
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
    """Return the event of one call. `name` stands for the op where none was resolved; `error` is the envelope's."""
    fields: dict[str, Any] = {"op": name, "ok": not error, "status": status, **more}
    if op is not None:
        fields |= {"op": op.op, "tool_name": op.tool_name, "group": op.group, "kind": op.kind}
        fields |= {"entity": op.entity, "action": op.action}
    if error:
        details = error["details"]
        pairs = [[each["path"], each["code"]] for each in details["field_errors"][:FIELD_ERRORS_KEPT]]
        fields |= {"code": str(error["code"]), "reason": details["reason"], "field_errors": pairs}
    trace.told = (str(kind), op.kind if op else "", fields.get("code", "OK"), fields.get("reason", ""))
    return events.new(
        time=trace.at,
        type=kind,
        source=trace.source,
        latency_ms=round(trace.elapsed_ms(), 3),
        release=release,
        client=caller.key.client,
        key=caller.key.prefix,
        subject=caller.subject,
        session=caller.session,
        turn=caller.turn,
        trace_id=trace.id,
        **fields,
    )


def entity_id(op: CatalogOp, args: dict[str, Any], found: str | None = None) -> str:
    """Return the id of what a call is about: as the upstream says, else as the args name it."""
    named = found or args.get(f"{op.entity}_id")
    return named if isinstance(named, str) and is_uuid(named) else ""
