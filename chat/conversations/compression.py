"""Long conversations: the oldest turns become one summary, which the model reads in their place."""

import logging

from chat.connections import gives_connection_back
from chat.context import budgets
from chat.context.history import PastTurn, build_history, describe_last_turn
from chat.context.shortening.clipping import clip_to_tokens
from chat.conversations import past_turns, turn_store
from chat.models import Conversation, Message
from core import llm
from core.database.deadlines import Deadline

log = logging.getLogger(__name__)

KEPT_TURNS = 4  # that stay word for word
SUMMARY_SECONDS = 20
MAX_READ = 1_200  # characters of a message
UNLIMITED = 1_000_000  # tokens

INSTRUCTION = (
    "Summarise this part of a conversation for the assistant that goes on with it, in at most 300 words. Keep the "
    "names of all rows with their ids, what the user decided, what was changed, and which questions are open. Add "
    "nothing. Answer with the summary only."
)


def compress_when_long(conversation: Conversation, *, last: int) -> bool:
    """Summarise the oldest turns if the history exceeds its budget. Return whether that was done.

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
    if build_history(recent, summary=conversation.summary, budget=UNLIMITED).tokens <= budgets.HISTORY:
        return False
    completion = _ask_model(conversation.summary, turns)
    if completion is None:
        return False
    _store_summary(conversation, clip_to_tokens(completion.text.strip(), budgets.SUMMARY), until)
    spent = completion.usage
    turn_store.add_spending(conversation, tokens=spent.input_tokens + spent.output_tokens, dollars=spent.dollars)
    return True


@gives_connection_back
def _find_last_summarised(conversation: Conversation) -> int | None:
    """Return the position of the last turn that a summary would hold. None if there are too few turns."""
    turns = conversation.messages.filter(role=Message.Role.ASSISTANT, position__gt=conversation.summarised_until)
    positions = list(turns.exclude(finish="").order_by("position").values_list("position", flat=True))
    old = positions[:-KEPT_TURNS][: past_turns.MAX_TURNS]  # more than that is left to the next time
    return old[-1] if old else None


@gives_connection_back
def _store_summary(conversation: Conversation, summary: str, until: int) -> None:
    conversation.summary, conversation.summarised_until = summary, until
    conversation.save(update_fields=["summary", "summarised_until"])


def _ask_model(earlier: str, turns: list[PastTurn]) -> llm.Completion | None:
    parts = [f"Summary so far:\n{earlier}"] if earlier else []
    parts += [_describe(turn) for turn in turns]
    messages = [{"role": "system", "content": INSTRUCTION}, {"role": "user", "content": "\n\n".join(parts)}]
    deadline = Deadline.after(milliseconds=SUMMARY_SECONDS * 1000)
    try:
        return llm.complete(messages, tier=llm.Tier.FAST, purpose="summary", deadline=deadline)
    except llm.LlmError:
        return None  # the next turn tries again


def _describe(turn: PastTurn) -> str:
    lines = [f"User: {turn.user_text[:MAX_READ]}"] if turn.user_text else []
    if done := describe_last_turn(turn, {}):
        lines.append(done)
    lines.append(f"Assistant: {turn.answer[:MAX_READ]}")
    return "\n".join(lines)
