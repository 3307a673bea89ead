"""The turns before this one as messages for the model, the last one in more detail."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from chat.context import budgets
from chat.context.layers import PastCall, PastStep, PastTurn
from chat.context.reads import collect_names
from chat.context.shortening import arguments, clipping, envelopes
from chat.context.shortening.answers import Detail, ReadableAnswer, read_answer
from chat.context.shortening.clipping import clip
from chat.context.shortening.json_text import parse
from core.text import token_budget

MAX_OPS, MAX_ROWS = 12, 8
MAX_SEARCHED_CHARS = 600  # of the end of an answer, for its question
MAX_OP_CHARS, MAX_NAME_CHARS, MAX_QUESTION_CHARS = 60, 60, 300
_QUESTION = re.compile(r"[^.!?\n]{0,400}\?(?=\s|$|[\"”’)*_])")
__all__ = ["History", "PastTurn", "build_history", "build_past_messages", "describe_last_turn"]
Message = dict[str, Any]

MAX_ARGUMENT_TOKENS = 300  # of one past call
TOLD = "Done before, with a tool that is not offered now: {call}. Its answer: {result}"
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
    """Messages in the form of OpenAI's Chat Completions, oldest first.

    `is_cut`: something of the turns is missing. `left_out`: how many of the oldest turns are missing as a whole.
    """

    messages: list[Message]
    tokens: int
    is_cut: bool
    left_out: int = 0


def build_history(turns: Sequence[PastTurn], *, summary: str, budget: int = budgets.HISTORY) -> History:
    """Return the summary of earlier turns, if there is one, and the newest turns that fit.

    Nothing is shortened while all of it fits. Then results lose details: in all turns before any turn loses more, the
    oldest turn first, ids last. Then the oldest turns are left out. A call is never parted from its result. Some of the
    last turn is always sent.
    """
    head = [_build_summary(summary, min(budgets.SUMMARY, budget // 2))] if summary.strip() else []
    room = budget - count_tokens(head)
    shown = [_render(turn, Detail.WHOLE) for turn in turns]
    tokens = [each.tokens for each in shown]
    for detail in (Detail.ROWS, Detail.NAMES, Detail.IDS, Detail.OUTCOME):
        for index, turn in enumerate(turns):
            if sum(tokens) <= room:
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


def build_past_messages(
    turns: Sequence[PastTurn], *, summary: str, names: Mapping[str, str]
) -> tuple[list[Message], dict[str, Any]]:
    """Return the history with what the last turn did, and what the page shows of this layer."""
    history = build_history(turns, summary=summary, budget=budgets.HISTORY - budgets.LAST_TURN)
    last_turn = describe_last_turn(turns[-1], names) if turns else ""
    messages = [*history.messages, *([{"role": "system", "content": last_turn}] if last_turn else [])]
    tokens = count_tokens(messages)
    return messages, {"name": "history", "tokens": tokens, "budget": budgets.HISTORY, "cut": history.is_cut}


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
