"""Report turns to the gateway."""

import logging

from chat.gateway.client import GatewayClient, GatewayUnavailable
from chat.models import Message
from chat.turns.model_endpoint import Spent
from chat.turns.turn_loop import TurnLoop

log = logging.getLogger(__name__)
Finish = Message.Finish
OUTCOMES = {
    Finish.STOP: "succeeded",
    Finish.ASK: "unknown",  # it goes on in the next turn
    Finish.CANCELLED: "abandoned",
}
MAX_NAMES = 500


def send_report(gateway: GatewayClient, turn: Message, loop: TurnLoop | None, spent: Spent) -> None:
    """Send what the model was shown and used. A report that is lost is only logged."""
    if loop is None:
        return
    report = {
        "toolset": loop.toolset["id"],
        "turn": str(turn.pk),
        "tools_loaded": [each["function"]["name"] for each in loop.toolset["tools"]][:MAX_NAMES],
        "tools_used": list(dict.fromkeys(loop.tools.tools_used))[:MAX_NAMES],
        "tool_misses": list(dict.fromkeys(name[:200] for name in loop.tool_misses if name))[:MAX_NAMES],
        "tool_escalations": list(dict.fromkeys(loop.escalated))[:MAX_NAMES],
        "tokens": spent.tokens,
        "outcome": _choose_outcome(turn, loop),
    }
    try:
        answer = gateway.send_telemetry(report)
    except GatewayUnavailable as error:
        log.warning("chat.telemetry_lost turn=%s reason=%s", turn.pk, error)
        return
    if answer.status >= 400:
        log.warning("chat.telemetry_refused turn=%s status=%d", turn.pk, answer.status)


def _choose_outcome(turn: Message, loop: TurnLoop) -> str:
    """Return how the turn ended for the user. An answer that only says what could not be done is a failure."""
    ledger = loop.tools.ledger
    if ledger and all(operation["status"] == "error" for operation in ledger):
        return "failed"
    return OUTCOMES.get(Finish(turn.finish), "failed")
