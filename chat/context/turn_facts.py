"""What a past turn did, in a few lines: for the summary of earlier turns."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from chat.context import budgets
from chat.context.layers import PastCall, PastTurn
from chat.context.reads import collect_names
from chat.context.shortening.answers import is_write
from chat.context.shortening.clipping import clip
from chat.context.shortening.json_text import parse
from core.text import token_budget

MAX_OPS, MAX_ROWS = 12, 8
MAX_SEARCHED_CHARS = 600  # of the end of an answer, for its question
MAX_OP_CHARS, MAX_NAME_CHARS, MAX_QUESTION_CHARS = 60, 60, 300
_QUESTION = re.compile(r"[^.!?\n]{0,400}\?(?=\s|$|[\"”’)*_])")


def describe_turn(turn: PastTurn) -> str:
    """Return what a turn ran, the rows that it changed, and its open question; empty if there is none of these.

    At most 300 tokens: the rows changed first are left out first, then the ops, then the question is shorter.
    """
    envelopes = [envelope for step in turn.steps for call in step.calls for envelope in _list_envelopes(call)]
    ops = list(dict.fromkeys(map(_describe_op, envelopes)))
    rows = _list_changed_rows(envelopes)
    question = _find_question(turn.answer)
    if not ops and not question:
        return ""
    sizes = [(MAX_ROWS, MAX_OPS, MAX_QUESTION_CHARS), (4, 6, MAX_QUESTION_CHARS), (2, 3, 100), (0, 3, 40), (0, 0, 20)]

    def render_size(size: tuple[int, int, int]) -> str:
        row_count, op_count, chars = size
        return _render(_take_last(ops, op_count), _take_last(rows, row_count), clip(question, chars))

    return token_budget.render_to_fit(render_size, sizes, budget=budgets.TURN_FACTS)


def _take_last(lines: list[str], count: int) -> list[str]:
    return lines[max(len(lines) - count, 0) :]


def _render(ops: list[str], rows: list[str], question: str) -> str:
    lines = [f"- Ran {', '.join(ops)}"] if ops else []
    lines += [f"- Changed {'; '.join(rows)}"] if rows else []
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


def _list_changed_rows(envelopes: list[dict[str, Any]]) -> list[str]:
    """Return kind, name and id of the rows that the calls changed, in order."""
    known = collect_names(envelopes)
    rows = []
    for envelope in envelopes:
        meta = envelope.get("meta")
        operation = meta.get("operation") if isinstance(meta, dict) else None
        if not isinstance(operation, dict) or "error" in envelope or not is_write(operation):
            continue
        if id := operation.get("entity_id"):
            name = clip(known.get(str(id), ""), MAX_NAME_CHARS)
            kind = clip(operation.get("entity"), 20)
            rows.append(" ".join(filter(None, (kind, f"“{name}”" if name else "", clip(id, 36)))))
    return list(dict.fromkeys(rows))


def _find_question(answer: str) -> str:
    """Return the last question of an answer, if it is in its last paragraph."""
    paragraphs = answer.strip().rsplit("\n\n", 1)
    questions = _QUESTION.findall(paragraphs[-1][-MAX_SEARCHED_CHARS:])
    return questions[-1].strip() if questions else ""
