"""What the last turn did, in a few lines: the ops it ran, the rows it touched, the question it left open."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from chat.context import budgets
from chat.context.names import collect_names
from chat.context.shortening import token_fit
from chat.context.shortening.clipping import clip
from chat.context.shortening.json_text import parse
from chat.context.turns import Call, PastTurn

MAX_OPS, MAX_ROWS = 12, 8
MAX_SEARCHED_CHARS = 600  # of the end of an answer, for its question
MAX_OP_CHARS, MAX_NAME_CHARS, MAX_QUESTION_CHARS = 60, 60, 300

_QUESTION = re.compile(r"[^.!?\n]{0,400}\?(?=\s|$|[\"”’)*_])")


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
        return _render(_take_last(ops, op_count), _take_last(rows, row_count), clip(question, chars))

    return token_fit.render_to_fit(render, sizes, budget=budgets.LAST_TURN - budgets.MESSAGE)


def _take_last(lines: list[str], count: int) -> list[str]:
    return lines[max(len(lines) - count, 0) :]


def _render(ops: list[str], rows: list[str], question: str) -> str:
    lines = ["Last turn:"]
    lines += [f"- Ran {', '.join(ops)}"] if ops else []
    lines += [f"- Touched {'; '.join(rows)}"] if rows else []
    lines += [f"- Open question: {question}"] if question else []
    return "\n".join(lines)


def _list_envelopes(call: Call) -> Iterator[dict[str, Any]]:
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
