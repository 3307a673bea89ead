"""Begin a turn: store the user's message, and the assistant's message that will hold the answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from django.db import IntegrityError, transaction
from django.db.models import Q

from chat.context.layers import GLOBAL
from chat.conversations import versions
from chat.conversations.replies import read_reply
from chat.conversations.store import get_conversation, lock_subject
from chat.conversations.summaries import shorten_title
from chat.conversations.versions import Replaced
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
    content: Mapping[str, Any] | None = field(default=None, repr=False)  # of the form that its service asked with


@dataclass(frozen=True, slots=True)
class NewTurn:
    """A turn to run. With decisions it goes on with the turn that asked for them: `question` is then a plain yes or no.

    `versions` are the ids of all versions of the message that it is another version of.
    """

    conversation: Conversation
    turn: Message
    question: Message | None
    decisions: tuple[UserDecision, ...]
    versions: Sequence[UUID] = ()

    @property
    def message(self) -> str:
        """What the user wrote."""
        return self.question.text if self.question else ""

    @property
    def begins_at(self) -> int:
        """The position of its first message."""
        return (self.question or self.turn).position

    @property
    def is_first(self) -> bool:
        """Whether the conversation begins with it, so that there is nothing to load of it."""
        return self.begins_at == 1


def start_turn(
    *,
    subject: str,
    message: str,
    session_id: str | None,
    context: dict[str, Any] | None,
    decisions: Sequence[UserDecision],
    at: datetime,
    creates: bool = False,
    replaces: str | None = None,
    repeats_writes: bool = False,
    files: Sequence[Mapping[str, Any]] = (),
) -> NewTurn:
    """Store the messages of a new turn. Without a session there is a new conversation; with `creates` it gets that id.

    `replaces` is the id of a question: with a message it is edited, without one it gets another answer. An edited
    question keeps its files.

    Raises ApiError: 404 for a conversation of somebody else, 409 while a turn runs in it, if a decision comes too late
    or if what is replaced has written, 429 over a limit.
    """
    failed_turns.mark_dead_turns_sometimes()
    try:
        with transaction.atomic():
            lock_subject(subject)
            _check_limits(subject, at)
            conversation = _get_or_create(subject, session_id, message, context, at, creates=creates and not decisions)
            for decision in decisions:
                _check_decision(conversation, decision)
            replaced = (
                versions.hide_version(conversation, replaces, is_edit=bool(message), repeats_writes=repeats_writes)
                if replaces
                else None
            )
            decisions = decisions or _read_typed_decisions(conversation, message)
            question, turn = _add_messages(conversation, message, at, replaced, files)
    except IntegrityError:
        raise ApiError(409, "turn_running", versions.RUNNING) from None
    new_version = question if message and question else turn
    ids = versions.map_versions(conversation).get(new_version.pk, ()) if replaced else ()
    return NewTurn(conversation, turn, question, tuple(decisions), ids)


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


def _add_messages(
    conversation: Conversation,
    message: str,
    at: datetime,
    replaced: Replaced | None,
    files: Sequence[Mapping[str, Any]],
) -> tuple[Message | None, Message]:
    """Store the turn, after the user's message if there is one. Return the question of the turn, and the turn."""
    last = conversation.messages.order_by("-position").values_list("position", flat=True).first() or 0
    question = Message(
        conversation=conversation,
        position=last + 1,
        role=Message.Role.USER,
        text=message,
        files=list(files) or (replaced.question.files if replaced else []),
        created_at=at,
    )
    new = [question] if message else []
    turn = Message(
        conversation=conversation,
        position=last + len(new) + 1,
        role=Message.Role.ASSISTANT,
        created_at=at,
        **leases.begin(failed_turns.LEASE),
    )
    if replaced:
        (question if message else turn).version_of = replaced.first_version
    Message.objects.bulk_create([*new, turn])
    if message:
        return question, turn
    return (replaced.question if replaced else None), turn


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
    calls = ToolCall.objects.filter(message__conversation=conversation, message__hidden_under=None)
    call = calls.filter(pk=decision.call_id).first()
    if call is None or call.status != Status.CONFIRM or _has_message_after(conversation, call):
        text = "This call no longer waits for an answer. Ask for it again in a new message."
        raise ApiError(409, "not_waiting", text)


def _read_typed_decisions(conversation: Conversation, message: str) -> Sequence[UserDecision]:
    """Return what a plain yes or no decides: all calls that wait."""
    reply = read_reply(message)
    if reply is None:
        return ()
    messages = conversation.messages.shown()
    last = messages.filter(role=Message.Role.USER).order_by("-position").values_list("position", flat=True).first()
    waiting = ToolCall.objects.filter(message__in=messages.filter(position__gt=last or 0), status=Status.CONFIRM)
    ids = waiting.order_by("message__position", "position").values_list("pk", flat=True)
    return [UserDecision(str(id), reply) for id in ids]


def _has_message_after(conversation: Conversation, call: ToolCall) -> bool:
    """Return whether the user wrote something else since."""
    return conversation.messages.shown().filter(role=Message.Role.USER, position__gt=call.message.position).exists()
