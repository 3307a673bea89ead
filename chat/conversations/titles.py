"""Titles of conversations: the beginning of the first message, then one by the fast model."""

import logging

from django.db import DatabaseError, InterfaceError

from chat.conversations import turn_store
from chat.conversations.title_text import shorten_title
from chat.models import Conversation, Message
from core import llm
from core.deadlines import Deadline

log = logging.getLogger(__name__)

MAX_WORDS = 6
TITLE_SECONDS = 6
MAX_READ = 1_500  # characters of the question and of the answer
INSTRUCTION = (
    f"Write a title for this conversation: at most {MAX_WORDS} words, in the user's language, without quotation marks "
    "and without a full stop. Answer with the title only."
)


def choose_title(conversation: Conversation, turn: Message, *, question: str) -> str:
    """Return the title after the first answer, and store it. Empty later, and after a turn that failed."""
    is_first = turn.position == 2
    if not is_first or not turn.text.strip():
        return conversation.title if is_first else ""
    title = _ask_model(question, turn.text)
    if not title:
        return conversation.title
    try:
        return title if turn_store.store_title(conversation, title) else ""
    except (DatabaseError, InterfaceError):
        return conversation.title  # the answer counts more


def _ask_model(question: str, answer: str) -> str:
    if not llm.is_configured():
        return ""
    messages = [
        {"role": "system", "content": INSTRUCTION},
        {"role": "user", "content": f"User: {question[:MAX_READ]}\n\nAssistant: {answer[:MAX_READ]}"},
    ]
    deadline = Deadline.after(milliseconds=TITLE_SECONDS * 1000)
    try:
        completion = llm.complete(messages, tier=llm.Tier.FAST, purpose="title", deadline=deadline)
    except llm.LlmError:
        return ""
    words = completion.text.strip().strip("\"'“”.").split()
    return shorten_title(" ".join(words[:MAX_WORDS]))
