"""The turns before this one as messages for the model, the last one in more detail."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from chat.context import budgets
from chat.context.layers import PastCall, PastStep, PastTurn
from chat.context.reads import collect_names
from chat.context.shortening import arguments, clipping, envelopes
from chat.context.shortening.clipping import clip
from chat.context.shortening.json_text import dump, parse
from chat.context.tool_results import shorten_results
from core.text import token_budget

MAX_OPS, MAX_ROWS = 12, 8
MAX_SEARCHED_CHARS = 600  # of the end of an answer, for its question
MAX_OP_CHARS, MAX_NAME_CHARS, MAX_QUESTION_CHARS = 60, 60, 300
_QUESTION = re.compile(r"[^.!?\n]{0,400}\?(?=\s|$|[\"”’)*_])")
__all__ = ["History", "PastTurn", "build_history", "describe_last_turn"]
Message = dict[str, Any]

# Tokens for all results of one past turn: the first that fit are used. Only the last turn can have the largest number.
RESULT_SIZES = (1_000, 400, 150, 0)
MAX_ARGUMENT_TOKENS = 300  # of one past call
SUMMARY_HEADING = "Earlier in this conversation:"


def describe_last_turn(turn: PastTurn, names: Mapping[str, str]) -> str:
    """Return the description, or an empty text if nothing was run and nothing is open. `names` are ids seen before.

    As a message it has at most 300 tokens: the rows touched first are left out first, then the ops, then the question
    is shorter.
    """
    envelopes = [envelope for step in turn.steps for call in step.calls for envelope in _list_envelopes(call)]
    ops = list(dict.fromkeys(map(_describe_op, envelopes)))
    rows = _list_touched_rows(envelopes, names)
    question = _find_question(turn.answer)
    if not ops and not question:
        return ""
    sizes = [(MAX_ROWS, MAX_OPS, MAX_QUESTION_CHARS), (4, 6, MAX_QUESTION_CHARS), (2, 3, 100), (0, 3, 40), (0, 0, 20)]

    def render(size: tuple[int, int, int]) -> str:
        row_count, op_count, chars = size
        return _render_last_turn(_take_last(ops, op_count), _take_last(rows, row_count), clip(question, chars))

    return token_budget.render_to_fit(render, sizes, budget=budgets.LAST_TURN - budgets.MESSAGE)


def _take_last(lines: list[str], count: int) -> list[str]:
    return lines[max(len(lines) - count, 0) :]


def _render_last_turn(ops: list[str], rows: list[str], question: str) -> str:
    lines = ["Last turn:"]
    lines += [f"- Ran {', '.join(ops)}"] if ops else []
    lines += [f"- Touched {'; '.join(rows)}"] if rows else []
    lines += [f"- Open question: {question}"] if question else []
    return "\n".join(lines)


def _list_envelopes(call: PastCall) -> Iterator[dict[str, Any]]:
    """Yield the answer of a call, or each answer of a batch. One without an op has the tool's name as its op."""
    try:
        answer = parse(call.result)
    except ValueError:
        answer = {}
    answers = answer.get("results") if isinstance(answer, dict) and "batch_id" in answer else [answer]
    for each in answers if isinstance(answers, list) else ():
        known = {key: value for key, value in each.items() if value} if isinstance(each, dict) else {}
        yield {"op": call.name, **known}


def _describe_op(envelope: Mapping[str, Any]) -> str:
    failed = " (failed)" if "error" in envelope else ""
    return f"{clip(envelope['op'], MAX_OP_CHARS)}{failed}"


def _list_touched_rows(envelopes: list[dict[str, Any]], names: Mapping[str, str]) -> list[str]:
    """Return action, name and id of the rows that the calls were about, in order. Lists touch none of their rows."""
    known = {**names, **collect_names(envelopes)}
    rows = []
    for envelope in envelopes:
        meta = envelope.get("meta")
        operation = meta.get("operation") if isinstance(meta, dict) else None
        if isinstance(operation, dict) and (id := operation.get("entity_id")) and "error" not in envelope:
            name = clip(known.get(str(id), ""), MAX_NAME_CHARS)
            kind = clip(operation.get("entity"), 20)
            rows.append(" ".join(filter(None, (kind, f"“{name}”" if name else "", clip(id, 36)))))
    return list(dict.fromkeys(rows))


def _find_question(answer: str) -> str:
    """Return the last question of an answer, if it is in its last paragraph."""
    paragraphs = answer.strip().rsplit("\n\n", 1)
    questions = _QUESTION.findall(paragraphs[-1][-MAX_SEARCHED_CHARS:])
    return questions[-1].strip() if questions else ""


@dataclass(frozen=True, slots=True)
class History:
    """Messages in the form of OpenAI's Chat Completions, oldest first. `is_cut`: something of the turns is missing."""

    messages: list[Message]
    tokens: int
    is_cut: bool


def build_history(turns: Sequence[PastTurn], *, summary: str, budget: int = budgets.HISTORY) -> History:
    """Return the summary of earlier turns, if there is one, and the newest turns that fit.

    The results of calls are shortened first, then the oldest turns are left out. A call is never parted from its
    result. Some of the last turn is always sent.
    """
    head = [_build_summary(summary, min(budgets.SUMMARY, budget // 2))] if summary.strip() else []
    room = budget - count_tokens(head)
    kept: list[list[Message]] = []
    is_cut = False
    for turn in reversed(turns):
        fitted = _fit_turn(turn, room, is_last=not kept)
        if fitted is None:
            is_cut = True
            break
        kept.append(fitted.messages)
        room -= fitted.tokens
        is_cut = is_cut or fitted.is_cut
    messages = [*head, *(message for turn_messages in reversed(kept) for message in turn_messages)]
    return History(messages, count_tokens(messages), is_cut)


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


def _fit_turn(turn: PastTurn, room: int, *, is_last: bool) -> History | None:
    """Return a turn with as much of its results as fits; None if it does not fit. The last turn always does."""
    for size in RESULT_SIZES if is_last else RESULT_SIZES[1:]:
        turn_history = _render(turn, size)
        if turn_history.tokens <= room:
            return turn_history
    return _cut_turn(turn, room) if is_last else None


def _cut_turn(turn: PastTurn, room: int) -> History:
    """Leave out the first rounds of a turn, then cut what was said."""
    for first in range(1, len(turn.steps)):
        shorter = _render(replace(turn, steps=turn.steps[first:]), 0)
        if shorter.tokens <= room:
            return replace(shorter, is_cut=True)
    half = max(room // 2 - budgets.MESSAGE, 0)
    user_text = clipping.clip_to_tokens(clipping.clean(turn.user_text), half) if turn.user_text else turn.user_text
    answer = clipping.clip_to_tokens(clipping.clean(turn.answer), half)
    return replace(_render(PastTurn(user_text, (), answer), 0), is_cut=True)


def _render(turn: PastTurn, result_size: int) -> History:
    """Return the messages of a turn with its results within `result_size` tokens."""
    results = [_parse_result(call.result) for step in turn.steps for call in step.calls]
    texts = shorten_results(results, budget=result_size)
    is_cut = any(text != dump(envelopes.prepare(result)) for text, result in zip(texts, results, strict=True))
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
    """Yield the message with the calls of a round, then a message for the result of each."""
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": arguments.shorten(call.arguments, MAX_ARGUMENT_TOKENS)},
        }
        for call in step.calls
    ]
    yield {"role": "assistant", "content": clipping.clean(step.text) or None, "tool_calls": calls}
    for call in step.calls:
        yield {"role": "tool", "tool_call_id": call.id, "content": next(texts)}


def _parse_result(text: str) -> dict[str, Any] | list[Any]:
    try:
        value = parse(text)
    except ValueError:
        value = text
    return value if isinstance(value, dict | list) else {"result": value}
