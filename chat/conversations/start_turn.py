"""Begin a turn: store the user's message, and the assistant's message that will hold the answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from django.db import IntegrityError, connection, transaction
from django.db.models import Q

from chat.context.layers import GLOBAL
from chat.conversations.store import get_conversation
from chat.conversations.summaries import shorten_title
from chat.errors import ApiError
from chat.events import failed_turns
from chat.models import Conversation, Message, ToolCall
from core.background import leases

MAX_MESSAGES_A_MINUTE = 20
MAX_TURNS_AT_ONCE = 2

Status = ToolCall.Status


@dataclass(frozen=True, slots=True)
class UserDecision:
    """What the user answered to a call that needs their agreement."""

    call_id: str  # of our ToolCall
    is_approved: bool


@dataclass(frozen=True, slots=True)
class NewTurn:
    """A turn to run. `message` is empty if it goes on after decisions."""

    conversation: Conversation
    turn: Message
    message: str
    decisions: tuple[UserDecision, ...]


def start_turn(
    *,
    subject: str,
    message: str,
    session_id: str | None,
    context: dict[str, Any] | None,
    decisions: Sequence[UserDecision],
    at: datetime,
    creates: bool = False,
) -> NewTurn:
    """Store the messages of a new turn. Without a session there is a new conversation; with `creates` it gets that id.

    Raises ApiError: 404 for a conversation of somebody else, 409 while a turn runs in it or if a decision comes too
    late, 429 over a limit.
    """
    failed_turns.mark_dead_turns_sometimes()
    try:
        with transaction.atomic():
            _lock_subject(subject)
            _check_limits(subject, at)
            conversation = _get_or_create(subject, session_id, message, context, at, creates=creates and not decisions)
            for decision in decisions:
                _check_decision(conversation, decision)
            turn = _add_messages(conversation, message, at)
    except IntegrityError:
        text = "An answer is still being written in this conversation. Wait until it ends, or cancel it."
        raise ApiError(409, "turn_running", text) from None
    return NewTurn(conversation, turn, message, tuple(decisions))


def _get_or_create(
    subject: str,
    session_id: str | None,
    message: str,
    context: dict[str, Any] | None,
    at: datetime,
    *,
    creates: bool,
) -> Conversation:
    if session_id is None or (creates and not Conversation.objects.filter(pk=session_id).exists()):
        return Conversation.objects.create(
            pk=session_id or uuid4(),
            subject=subject,
            title=shorten_title(message),
            context=context or {"type": GLOBAL},
            created_at=at,
            updated_at=at,
        )
    conversation = get_conversation(subject, session_id)
    conversation.updated_at = at
    if context is not None and not context.items() <= conversation.context.items():  # a task keeps its project
        conversation.context = context
    conversation.save(update_fields=["updated_at", "context"])
    return conversation


def _add_messages(conversation: Conversation, message: str, at: datetime) -> Message:
    last = conversation.messages.order_by("-position").values_list("position", flat=True).first() or 0
    messages = [
        Message(conversation=conversation, position=last + 1, role=Message.Role.USER, text=message, created_at=at)
        for message in ([message] if message else [])
    ]
    position = last + len(messages) + 1
    turn = Message(
        conversation=conversation,
        position=position,
        role=Message.Role.ASSISTANT,
        created_at=at,
        **leases.begin(failed_turns.LEASE),
    )
    Message.objects.bulk_create([*messages, turn])
    return turn


def _lock_subject(subject: str) -> None:
    """Let a subject's requests count one after the other. On SQLite the transaction does that."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"chat:{subject}"])


def _check_limits(subject: str, at: datetime) -> None:
    since = at - timedelta(minutes=1)
    turns = Message.objects.filter(conversation__subject=subject, role=Message.Role.ASSISTANT)
    recent_or_running = turns.filter(Q(created_at__gt=since) | Q(finish="")).order_by("created_at")
    rows = list(recent_or_running.values_list("created_at", "finish"))
    times = [created_at for created_at, _ in rows if created_at > since]
    if len(times) >= MAX_MESSAGES_A_MINUTE:
        wait = times[-MAX_MESSAGES_A_MINUTE] + timedelta(minutes=1) - at
        text = f"More than {MAX_MESSAGES_A_MINUTE} messages in a minute. Try again in {_count_seconds(wait)} s."
        raise ApiError(429, "rate_limited", text, retry_after=_count_seconds(wait))
    if sum(not finish for _, finish in rows) >= MAX_TURNS_AT_ONCE:
        text = f"{MAX_TURNS_AT_ONCE} answers are being written already. Wait for one of them, or cancel it."
        raise ApiError(429, "rate_limited", text, retry_after=2)


def _count_seconds(wait: timedelta) -> int:
    return max(1, int(wait.total_seconds()) + 1)


def _check_decision(conversation: Conversation, decision: UserDecision) -> None:
    """Refuse a decision about a call that does not wait for one, or no longer."""
    call = ToolCall.objects.filter(pk=decision.call_id, message__conversation=conversation).first()
    if call is None or call.status != Status.CONFIRM or _has_message_after(conversation, call):
        text = "This call no longer waits for an answer. Ask for it again in a new message."
        raise ApiError(409, "not_waiting", text)


def _has_message_after(conversation: Conversation, call: ToolCall) -> bool:
    """Return whether the user wrote something else since."""
    return conversation.messages.filter(role=Message.Role.USER, position__gt=call.message.position).exists()
