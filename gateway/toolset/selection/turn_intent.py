"""What the newest message asks for, given the conversation before it."""

from collections.abc import Sequence
from dataclasses import replace

from gateway.toolset.conversation import ToolsetConversation
from gateway.toolset.selection.message_intent import REPORT, Intent, MessageIntent, detect_message_intent
from registry.catalog.model import CatalogOp

MAX_ANSWER = 4  # words of an answer that may begin as a question does: "yes do"
MAX_LAST_CALLS = 3  # of the turn before, that say whether it changed something


def resolve_intent(conversation: ToolsetConversation, recent: Sequence[CatalogOp]) -> MessageIntent:
    """Return what the newest message asks for. `recent` are the ops called lately, the newest first.

    - An answer to the assistant's question, and a message that only agrees, continue what was asked before.
    - A statement in a conversation ("the second one is finished") reports a change; after a change, it corrects it.
    """
    asked = detect_message_intent(conversation.message, conversation.earlier_text)
    before = find_request(conversation)
    is_answer = _answers(asked, conversation)
    if asked.is_chat and not (is_answer and asked.is_agreement):
        return asked
    if before is not None and (asked.is_agreement or is_answer):
        return _continue(asked, before)
    if asked.asks or not asked.is_known_language or not (conversation.earlier or recent):
        return asked
    has_changed = any(op.is_write for op in recent[:MAX_LAST_CALLS])
    if asked.is_sure and asked.intent == Intent.READ and not has_changed:
        return asked
    wanted = Intent.WRITE if has_changed or asked.intent == Intent.WRITE else Intent.MIXED
    return replace(asked, intent=wanted, actions=asked.actions or REPORT, is_sure=True)


def _answers(asked: MessageIntent, conversation: ToolsetConversation) -> bool:
    """Whether a message answers a question of the assistant, rather than asking for something else."""
    if asked.is_question or not conversation.last_reply.rstrip().endswith("?"):
        return False
    return not asked.asks or len(conversation.message.split()) <= MAX_ANSWER


def _continue(asked: MessageIntent, before: MessageIntent) -> MessageIntent:
    """Return what a message wants that goes on with an earlier one."""
    same = before.intent == asked.intent or asked.is_agreement or not asked.actions
    return replace(
        asked,
        intent=before.intent if same else Intent.MIXED,
        actions=asked.actions | before.actions,
        is_sure=before.is_sure or asked.is_sure,
        is_follow_up=True,
        is_chat=False,
    )


def find_request(conversation: ToolsetConversation) -> MessageIntent | None:
    """Return what the user asked for last, before the newest message."""
    for text in conversation.earlier_requests:
        before = detect_message_intent(text, conversation.earlier_text)
        if not before.is_agreement and not before.is_chat:
            return before
    return None
