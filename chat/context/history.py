"""The turns before this one as messages for the model."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from chat.context import budgets
from chat.context.layers import PastStep, PastTurn
from chat.context.shortening import arguments, clipping, envelopes
from chat.context.shortening.answers import Detail, ReadableAnswer, read_answer
from chat.context.shortening.json_text import parse
from chat.context.spent_calls import leave_out_spent_calls
from core.text import token_budget

__all__ = ["History", "PastTurn", "build_history", "build_past_messages"]
Message = dict[str, Any]

MAX_ARGUMENT_TOKENS = 300  # of one past call
RECENT_TURNS = 2  # whose rows keep state and date while the history fits
TOLD = "Done before, with a tool that is not offered now: {call}. Its answer: {result}"
SUMMARY_HEADING = "Earlier in this conversation:"


@dataclass(frozen=True, slots=True)
class History:
    """Messages in the form of OpenAI's Chat Completions, oldest first.

    `is_cut`: something of the turns is missing. `left_out`: how many of the oldest turns are missing as a whole.
    """

    messages: list[Message]
    tokens: int
    is_cut: bool
    left_out: int = 0


def build_history(turns: Sequence[PastTurn], *, summary: str, budget: int = budgets.HISTORY) -> History:
    """Return the summary of earlier turns, if there is one, and the newest turns that fit.

    Beyond budgets.PAST_DETAILS, rows lose columns, the oldest turn first: they keep id, name, state and date; then, in
    all but the last turns, also state and date, which may have changed since. If that does not fit, results lose
    more: in all turns before any turn loses more, the oldest turn first, ids last. Then the oldest turns are left
    out. A call is never parted from its result. Some of the last turn is always sent.
    """
    head = [_build_summary(summary, min(budgets.SUMMARY, budget // 2))] if summary.strip() else []
    room = budget - count_tokens(head)
    shown = [_render(turn, Detail.WHOLE) for turn in turns]
    tokens = [each.tokens for each in shown]
    for detail, last, target in _list_reductions(len(turns), room):
        for index, turn in enumerate(turns[:last]):
            if sum(tokens) <= target:
                break
            if turn.steps:
                shown[index] = _render(turn, detail)
                tokens[index] = shown[index].tokens
    first = 0
    while sum(tokens[first:]) > room and first < len(turns) - 1:
        first += 1
    if turns and tokens[-1] > room:
        shown[-1] = _cut_turn(turns[-1], room)
    messages = [*head, *(message for turn in shown[first:] for message in turn.messages)]
    return History(messages, count_tokens(messages), first > 0 or any(each.is_cut for each in shown), first)


def _list_reductions(count: int, room: int) -> Iterator[tuple[Detail, int, int]]:
    """Yield a level of detail, to how many of the turns it applies, and down to how many tokens of all."""
    few = min(room, budgets.PAST_DETAILS)
    yield Detail.ROWS, count, few
    yield Detail.NAMES, max(count - RECENT_TURNS, 0), few
    for detail in (Detail.NAMES, Detail.IDS, Detail.OUTCOME):
        yield detail, count, room


def build_past_messages(turns: Sequence[PastTurn], *, summary: str) -> tuple[list[Message], dict[str, Any]]:
    """Return the history without spent calls, and what the page shows of this layer."""
    history = build_history(leave_out_spent_calls(turns), summary=summary)
    layer = {"name": "history", "tokens": history.tokens, "budget": budgets.HISTORY, "cut": history.is_cut}
    return history.messages, layer


def count_tokens(messages: Sequence[Message]) -> int:
    """Return the tokens of messages: texts, names and arguments, and some for each message."""
    return sum(budgets.MESSAGE + sum(map(token_budget.count, _list_texts(message))) for message in messages)


def _list_texts(message: Message) -> Iterator[str]:
    yield from (message[name] for name in ("content", "tool_call_id") if message.get(name))
    for call in message.get("tool_calls", ()):
        yield from (call["id"], call["function"]["name"], call["function"]["arguments"])


def _build_summary(summary: str, budget: int) -> Message:
    room = budget - budgets.MESSAGE - token_budget.count(SUMMARY_HEADING) - 1
    return {"role": "system", "content": f"{SUMMARY_HEADING}\n{clipping.clip_to_tokens(clipping.clean(summary), room)}"}


def _cut_turn(turn: PastTurn, room: int) -> History:
    """Leave out the first rounds of a turn, then cut what was said."""
    for first in range(1, len(turn.steps)):
        shorter = _render(replace(turn, steps=turn.steps[first:]), Detail.OUTCOME)
        if shorter.tokens <= room:
            return replace(shorter, is_cut=True)
    half = max(room // 2 - budgets.MESSAGE, 0)
    user_text = clipping.clip_to_tokens(clipping.clean(turn.user_text), half) if turn.user_text else turn.user_text
    answer = clipping.clip_to_tokens(clipping.clean(turn.answer), half)
    return replace(_render(PastTurn(user_text, (), answer), Detail.WHOLE), is_cut=True)


def _render(turn: PastTurn, detail: Detail) -> History:
    """Return the messages of a turn with its results at a level of detail."""
    results = [_read_result(call.result) for step in turn.steps for call in step.calls]
    texts = [envelopes.reduce(result, detail) for result in results]
    is_cut = any(text != result.text for text, result in zip(texts, results, strict=True))
    remaining = iter(texts)
    messages: list[Message] = [{"role": "user", "content": clipping.clean(turn.user_text)}] if turn.user_text else []
    for step in turn.steps:
        if step.calls:
            messages += _render_step(step, remaining)
        elif step.text and step.text != turn.answer:
            messages.append({"role": "assistant", "content": clipping.clean(step.text)})
    if turn.answer:
        messages.append({"role": "assistant", "content": clipping.clean(turn.answer)})
    return History(messages, count_tokens(messages), is_cut)


def _render_step(step: PastStep, texts: Iterator[str]) -> Iterator[Message]:
    """Yield the message with the calls of a round, a message for the result of each, then what is told as a text."""
    pairs = [(call, next(texts)) for call in step.calls]
    made = [(call, text) for call, text in pairs if not call.told_as]
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": arguments.shorten(call.arguments, MAX_ARGUMENT_TOKENS)},
        }
        for call, _ in made
    ]
    text = clipping.clean(step.text) or None
    if calls:
        yield {"role": "assistant", "content": text, "tool_calls": calls}
    elif text:
        yield {"role": "assistant", "content": text}
    for call, result in made:
        yield {"role": "tool", "tool_call_id": call.id, "content": result}
    told = [TOLD.format(call=call.told_as, result=result) for call, result in pairs if call.told_as]
    if told:
        yield {"role": "system", "content": "\n".join(told)}


def _read_result(text: str) -> ReadableAnswer:
    try:
        value = parse(text)
    except ValueError:
        value = text
    return read_answer(value if isinstance(value, dict | list) else {"result": value})
