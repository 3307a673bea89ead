"""Versions of messages: an edited question, or another answer to it. One is shown, with what follows it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q

from chat.conversations.store import get_conversation, lock_subject
from chat.errors import ApiError
from chat.models import Conversation, Message, ToolCall

Role, Finish = Message.Role, Message.Finish

HAS_WRITTEN = (
    "An answer that this replaces has changed something, and sending the question again may change it a second time. "
    "Send repeat_writes: true to do it anyway."
)
RUNNING = "An answer is still being written in this conversation. Wait until it ends, or cancel it."


@dataclass(frozen=True, slots=True)
class Replaced:
    """What a new turn replaces: the question, and the first version of the message that gets another one."""

    question: Message
    first_version: Message


def hide_version(conversation: Conversation, question_id: str, *, is_edit: bool, repeats_writes: bool) -> Replaced:
    """Hide a question that is edited, or the answer to it, with all that follows. Within a transaction.

    Raises ApiError: 404 if the question is not shown, 409 if what is hidden has written, unless `repeats_writes`.
    """
    shown = conversation.messages.shown()
    question = shown.filter(pk=question_id, role=Role.USER).select_related("version_of").first()
    if question is None:
        raise ApiError(404, "not_found", "There is no such question in this conversation. Load the conversation again.")
    answers = shown.filter(position__gt=question.position).order_by("position")
    message = question if is_edit else answers.select_related("version_of")[0]  # a question is stored with an answer
    has_written = any(
        operation["status"] == "success"
        for written in answers.values_list("written", flat=True)
        for operation in written
    )
    if has_written and not repeats_writes:
        raise ApiError(409, "has_written", HAS_WRITTEN)
    _hide(conversation, message)
    return Replaced(question, message.version_of or message)


def show_version(subject: str, session_id: str, message_id: str) -> None:
    """Show a version of a message with what follows it, instead of the one that is shown. Raises ApiError."""
    with transaction.atomic():
        lock_subject(subject)
        conversation = get_conversation(subject, session_id)
        messages = conversation.messages.all()
        version = messages.filter(pk=message_id, hidden_under=F("pk")).first()
        first_id = version and (version.version_of_id or version.pk)
        current = messages.shown().filter(Q(pk=first_id) | Q(version_of=first_id)).first() if version else None
        if version is None or current is None:
            raise ApiError(404, "not_found", "There is no such version to show. Load the conversation again.")
        if messages.filter(role=Role.ASSISTANT, finish="").exists():
            raise ApiError(409, "turn_running", RUNNING)
        _hide(conversation, current)
        messages.filter(hidden_under=version).update(hidden_under=None)


def map_versions(conversation: Conversation) -> Mapping[UUID, Sequence[UUID]]:
    """Return the versions of each message that has several, oldest first, by the id of each of them.

    Answers that failed before they began are left out: there is nothing to go back to.
    """
    failed = Q(finish__in=(Finish.ERROR, Finish.INTERRUPTED), text="")
    calls = ToolCall.objects.filter(message=OuterRef("pk"))
    rows = conversation.messages.filter(Q(version_of__isnull=False) | Q(versions__isnull=False)).distinct()
    groups = defaultdict(list)
    for id, first_id in rows.exclude(failed & ~Exists(calls)).order_by("position").values_list("pk", "version_of_id"):
        groups[first_id or id].append(id)
    return {id: group for group in groups.values() if len(group) > 1 for id in group}


def _hide(conversation: Conversation, message: Message) -> None:
    """Hide a message and what follows it. A summary that has them is begun anew."""
    conversation.messages.shown().filter(position__gte=message.position).update(hidden_under=message)
    if conversation.summarised_until >= message.position:
        conversation.summary, conversation.summarised_until = "", 0
        conversation.save(update_fields=["summary", "summarised_until"])
