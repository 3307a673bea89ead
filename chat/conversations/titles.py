"""Titles of conversations: the beginning of the first message, then one by the fast model."""

import logging
from collections.abc import Callable

from django.db import DatabaseError, InterfaceError

from chat.conversations import turn_store
from chat.conversations.title_text import shorten_title
from chat.models import Conversation, Message
from core import llm
from core.database.deadlines import Deadline

log = logging.getLogger(__name__)

MAX_WORDS = 6
MAX_POSITION = 6  # of the answer after which no title is tried any more
TITLE_SECONDS = 3  # the end of the answer waits for it
MAX_READ = 1_500  # characters of the question and of the answer
INSTRUCTION = (
    f"Write a title for this conversation: at most {MAX_WORDS} words, in the user's language, without quotation marks "
    "and without a full stop. Answer with the title only."
)


Count = Callable[[llm.Usage], None]


def choose_title(conversation: Conversation, turn: Message, *, question: str, spent: Count) -> str:
    """Return a title by the model after the first answer, and store it; empty if there is nothing new to show.

    A title by a person or by the model stays. Without a model, the beginning of the first message stays. `spent` is
    called with what the title costs.
    """
    if conversation.title_by != Conversation.TitleBy.MESSAGE or turn.position > MAX_POSITION or not turn.text.strip():
        return ""
    title = _ask_model(question, turn.text, spent)
    try:
        if title and turn_store.store_title(conversation, title):
            return title
        return turn_store.load_title(conversation) if turn.position == 2 else ""  # the page has not shown it yet
    except (DatabaseError, InterfaceError):
        return ""  # the answer counts more


def _ask_model(question: str, answer: str, spent: Count) -> str:
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
    spent(completion.usage)
    words = completion.text.strip().strip("\"'“”.").split()
    return shorten_title(" ".join(words[:MAX_WORDS]))
