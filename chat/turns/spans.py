"""The spans of a turn, by the conventions for GenAI agents: the turn, and each tool that the model calls."""

from collections.abc import Mapping
from typing import Any

from chat.gateway import envelopes
from chat.models import Conversation, Message
from core import tracing
from core.tracing import TraceSpan

AGENT = "chat"


def start_turn_span(conversation: Conversation, turn: Message) -> TraceSpan:
    """Return the span of a turn, to enter. Its trace has all that the turn makes the model and the gateway do."""
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": AGENT,
        "gen_ai.conversation.id": str(conversation.pk),
        "gateway.turn": str(turn.pk),
    }
    return tracing.start_span(f"invoke_agent {AGENT}", attributes=attributes)


def end_turn_span(span: TraceSpan, turn: Message) -> None:
    """Say how a turn ended, and what it was shown and spent."""
    if turn.finish == Message.Finish.ERROR:
        span.fail(str((turn.error or {}).get("code") or "error"))
    span.add(
        {
            "gateway.outcome": str(turn.finish or ""),
            "gateway.surface": turn.surface,
            "gateway.release": turn.release,
            "gateway.cohort": turn.cohort,
            "gen_ai.usage.input_tokens": turn.usage.get("input"),
            "gen_ai.usage.output_tokens": turn.usage.get("output"),
        }
    )


def start_tool_span(name: str, call_id: str) -> TraceSpan:
    """Return the span of a tool that the model calls, to enter."""
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": call_id,
    }
    return tracing.start_span(f"execute_tool {name}", attributes=attributes)


def end_tool_span(span: TraceSpan, answer: Mapping[str, Any]) -> None:
    """Say whether the call of a tool failed."""
    if answer.get("ok") is False and "error" in answer:
        span.fail(envelopes.get_reason(answer) or "error")
