"""Summaries of earlier turns, and titles of conversations, written by the fast model."""

import logging
import re
from collections.abc import Callable

from django.db import DatabaseError, InterfaceError

from chat.connections import gives_connection_back
from chat.context import budgets
from chat.context.history import PastTurn, build_history
from chat.context.shortening.clipping import clip_to_tokens
from chat.context.spent_calls import leave_out_spent_calls
from chat.context.turn_facts import describe_turn
from chat.conversations import past_turns, turn_store
from chat.models import Conversation, Message
from core import llm
from core.database.deadlines import Deadline

log = logging.getLogger(__name__)
KEPT_TURNS = 4  # that stay word for word
SUMMARY_SECONDS = 20
MAX_READ_TURN = 1_200  # characters of a message
UNLIMITED = 1_000_000  # a position after all
SUMMARY_INSTRUCTION = (
    "Summarise this part of a conversation for the assistant that goes on with it, in at most 300 words. Keep the "
    "names of all rows with their ids, what the user decided, what was changed, and which questions are open. Add "
    "nothing. Answer with the summary only."
)
MAX_WORDS = 6
MAX_MADE_TITLE = 40  # characters; a title by a person can be longer
MIN_SENTENCE_SPACES = 2  # a shorter first sentence is a greeting
SMALL_WORDS = frozenset("a an the and or of to for with in on at by my our then that from into".split())  # no good ends
_SENTENCE = re.compile(r"([^.?!:;]{1,200}[.?!:;])\s")
MAX_POSITION = 6  # of the answer after which no more titles are tried
TITLE_SECONDS = 3  # the end of the answer waits for it
MAX_READ_TEXT = 1_500  # characters of the question and of the answer
TITLE_INSTRUCTION = (
    f"Write a title for this conversation: at most {MAX_WORDS} words, in the user's language, without quotation marks "
    "and without a full stop. Answer with the title only."
)
Count = Callable[[llm.Usage], None]


def compress_when_long(conversation: Conversation, *, last: int) -> bool:
    """Summarise the oldest turns if some no longer fit into the history. Return whether that was done.

    `last` is the position of the last message. Without a model nothing is summarised: the oldest turns are then left
    out of the history.
    """
    if not llm.is_configured() or last - conversation.summarised_until <= KEPT_TURNS:
        return False
    until = _find_last_summarised(conversation)
    if until is None:
        return False
    turns = past_turns.load_past_turns(conversation, before=until + 1, learn=lambda _: None)
    recent = past_turns.load_past_turns(conversation, before=UNLIMITED, learn=lambda _: None)
    if not build_history(leave_out_spent_calls(recent), summary=conversation.summary).left_out:
        return False
    completion = _ask_for_summary(conversation.summary, turns)
    if completion is None:
        return False
    _store_summary(conversation, clip_to_tokens(completion.text.strip(), budgets.SUMMARY), until)
    spent = completion.usage
    turn_store.add_spending(conversation, tokens=spent.input_tokens + spent.output_tokens, dollars=spent.dollars)
    return True


@gives_connection_back
def _find_last_summarised(conversation: Conversation) -> int | None:
    """Return the position of the last turn that a summary would hold. None if there are too few turns."""
    answers = conversation.messages.shown().filter(role=Message.Role.ASSISTANT)
    turns = answers.filter(position__gt=conversation.summarised_until)
    positions = list(turns.exclude(finish="").order_by("position").values_list("position", flat=True))
    old = positions[:-KEPT_TURNS][: past_turns.MAX_TURNS]  # more than that is left to the next time
    return old[-1] if old else None


@gives_connection_back
def _store_summary(conversation: Conversation, summary: str, until: int) -> None:
    conversation.summary, conversation.summarised_until = summary, until
    conversation.save(update_fields=["summary", "summarised_until"])


def _ask_for_summary(earlier: str, turns: list[PastTurn]) -> llm.Completion | None:
    parts = [f"Summary so far:\n{earlier}"] if earlier else []
    parts += [_describe(turn) for turn in turns]
    messages = [{"role": "system", "content": SUMMARY_INSTRUCTION}, {"role": "user", "content": "\n\n".join(parts)}]
    deadline = Deadline.after(milliseconds=SUMMARY_SECONDS * 1000)
    try:
        return llm.complete(messages, tier=llm.Tier.FAST, purpose="summary", deadline=deadline)
    except llm.LlmError:
        return None  # the next turn tries again


def _describe(turn: PastTurn) -> str:
    lines = [f"User: {turn.user_text[:MAX_READ_TURN]}"] if turn.user_text else []
    if done := describe_turn(turn):
        lines.append(done)
    lines.append(f"Assistant: {turn.answer[:MAX_READ_TURN]}")
    return "\n".join(lines)


def shorten_title(message: str) -> str:
    """Return the beginning of a message as a title: its first sentence, or whole words of it, at most 40 characters."""
    text = " ".join(message[:MAX_READ_TEXT].split())
    sentence = _SENTENCE.match(text)
    if sentence and sentence[1].count(" ") >= MIN_SENTENCE_SPACES:
        text = sentence[1]
    text = text.rstrip(".:; ")
    if len(text) <= MAX_MADE_TITLE:
        return text
    words = text[:MAX_MADE_TITLE].rpartition(" ")[0].split() or [text[: MAX_MADE_TITLE - 1]]
    while len(words) > 1 and words[-1].lower().strip(",") in SMALL_WORDS:
        words.pop()
    return f"{' '.join(words).rstrip(',.:; ')}…"


def choose_title(conversation: Conversation, turn: Message, *, question: str, spent: Count) -> str:
    """Return a title by the model after the first answer, and store it; empty if there is nothing new to show.

    A title by a person or by the model stays. Without a model, the beginning of the first message stays. `spent` is
    called with the usage of the title.
    """
    if conversation.title_by != Conversation.TitleBy.MESSAGE or turn.position > MAX_POSITION or not turn.text.strip():
        return ""
    title = _ask_for_title(question, turn.text, spent)
    try:
        if title and turn_store.store_title(conversation, title):
            return title
        return turn_store.load_title(conversation) if turn.position == 2 else ""  # the page has not shown it yet
    except (DatabaseError, InterfaceError):
        return ""  # the answer counts more


def _ask_for_title(question: str, answer: str, spent: Count) -> str:
    if not llm.is_configured():
        return ""
    messages = [
        {"role": "system", "content": TITLE_INSTRUCTION},
        {"role": "user", "content": f"User: {question[:MAX_READ_TEXT]}\n\nAssistant: {answer[:MAX_READ_TEXT]}"},
    ]
    deadline = Deadline.after(milliseconds=TITLE_SECONDS * 1000)
    try:
        completion = llm.complete(messages, tier=llm.Tier.FAST, purpose="title", deadline=deadline)
    except llm.LlmError:
        return ""
    spent(completion.usage)
    words = completion.text.strip().strip("\"'“”.").split()
    return shorten_title(" ".join(words[:MAX_WORDS]))
