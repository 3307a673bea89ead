"""The spans of calls in the gateway, by the conventions for GenAI tools. Names of our own begin with `gateway.`."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings

from core import tracing
from core.text import json_text
from core.tracing import Attributes, TraceSpan
from gateway.access.request_context import Caller
from gateway.contracts.envelopes import EnvelopeResponse, Trace
from gateway.recording import redaction
from registry.catalog.model import CatalogOp

EXECUTE_TOOL = "execute_tool"


def start_tool_span(caller: Caller, trace: Trace) -> TraceSpan:
    """Return the span of a call of an op, to enter."""
    return tracing.start_span(
        EXECUTE_TOOL,
        attributes={
            "gen_ai.operation.name": EXECUTE_TOOL,
            "gen_ai.tool.type": "function",
            "gen_ai.conversation.id": caller.session,
        },
        trace=trace.id,
    )


def end_tool_span(
    span: TraceSpan,
    answer: EnvelopeResponse,
    *,
    caller: Caller,
    trace: Trace,
    op: CatalogOp | None,
    args: Mapping[str, Any],
) -> None:
    """Say how the call of an op ended."""
    envelope = answer.envelope
    error = envelope.get("error")
    if error is not None:
        span.fail(str(error["details"]["reason"]))
    if not span.is_recorded:
        return
    name = op.op if op else str(envelope["op"] or "")[:200]
    span.name(f"{EXECUTE_TOOL} {name}".rstrip())
    span.add(
        {
            "gen_ai.tool.name": name,
            "gateway.op": name,
            "gateway.op.kind": answer.op_kind,
            "gateway.outcome": error["code"] if error else "ok",
            "gateway.upstream_ms": round(trace.handler_ms, 2),
            "gateway.replayed": envelope["meta"].get("replayed"),
            "gateway.dry_run": envelope["meta"].get("dry_run"),
            **describe_caller(caller, trace),
            **_describe_content(op, dict(args), answer),
        }
    )


def describe_caller(caller: Caller, trace: Trace) -> Attributes:
    """Return who called, and what was shown to the model: never the end user."""
    return {
        "gateway.client": caller.key.client,
        "gateway.trace_id": trace.id,
        "gateway.turn": caller.turn,
        "gateway.surface": caller.routing.surface,
        "gateway.release": trace.release,
        "gateway.cohort": caller.routing.cohort,
        "gateway.source": trace.source,
        "gen_ai.request.model": caller.model,
        "gen_ai.agent.name": caller.agent.name if caller.agent else "",
    }


def _describe_content(op: CatalogOp | None, args: dict[str, Any], answer: EnvelopeResponse) -> Attributes:
    """Return args and result as events store them, if both settings allow it."""
    if not settings.OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT:
        return {}
    content = redaction.build_content(op, args, answer) or {}
    return {
        f"gen_ai.tool.call.{told}": json_text.dump(content[part]).decode()
        for part, told in (("args", "arguments"), ("result", "result"))
        if part in content
    }
