"""What a user thinks of an answer: passed on to the gateway, and stored for the page."""

from chat.conversations.store import get_conversation
from chat.errors import ApiError
from chat.gateway.client import Credentials, GatewayClient, GatewayRefused, GatewayUnavailable
from chat.models import Message

MAX_REASON = 2_000  # characters, as the gateway's


def rate_answer(credentials: Credentials, session_id: str, message_id: str, *, thumb: str, reason: str) -> None:
    """Store a thumb on an answer; the last one counts. Raises ApiError."""
    conversation = get_conversation(credentials.subject, session_id)
    turns = conversation.messages.filter(pk=message_id, role=Message.Role.ASSISTANT)
    if not turns.exclude(finish="").exists():
        raise ApiError(404, "not_found", "There is no such answer, or it is still being written.")
    gateway = GatewayClient(credentials, session=session_id)
    try:
        gateway.send_feedback({"turn": message_id, "thumb": thumb, "reason": reason})
    except GatewayRefused as refusal:
        raise ApiError(503 if refusal.status >= 429 else 403, "gateway_refused", refusal.message) from None
    except GatewayUnavailable:
        raise ApiError(503, "gateway_unavailable", "The gateway cannot be reached. Try again soon.") from None
    turns.update(thumb=thumb, thumb_reason=reason)
