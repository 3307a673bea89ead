"""Shorten the answer of one call to a budget: first rows, then long texts, then members. It stays valid JSON.

What is missing is said in the member `shown`. Where a page of a list or a long text is shortened, the cursor or the
offset of the answer would skip what is missing, so these are taken out or corrected.
"""

import copy
import json
from collections.abc import Mapping
from typing import Any

from chat.context.shortening import json_nodes, stubs, text_fields
from chat.context.shortening.json_nodes import Node
from chat.context.shortening.json_text import dump
from core.text import token_budget

# Parts of meta that only the chat reads.
META_OF_CHAT = frozenset(("trace_id", "latency_ms", "operation"))

NOTE_TOKENS = 45  # kept for the text of `shown`
MAX_STEPS = 12  # of each kind; then the answer is replaced as a whole


def prepare(envelope: Mapping[str, Any] | list[Any]) -> dict[str, Any]:
    """Return what a model reads of an answer: everything but what only the chat needs. A list becomes an object."""
    if not isinstance(envelope, Mapping):
        return {"items": list(envelope)}
    meta = envelope.get("meta")
    kept = {name: each for name, each in meta.items() if name not in META_OF_CHAT and each} if meta else None
    prepared = {name: each for name, each in envelope.items() if name != "meta"} | ({"meta": kept} if kept else {})
    if is_batch(prepared):
        prepared["results"] = [prepare(each) for each in prepared["results"]]
    return prepared


def shorten(envelope: dict[str, Any], budget: int) -> str:
    """Return the JSON of a prepared answer within the budget. Errors are never shortened."""
    text = dump(envelope)
    if is_error(envelope) or token_budget.fits(text, budget):
        return text
    if is_batch(envelope):
        return _shorten_batch(envelope, budget)
    shortened = copy.deepcopy(envelope)
    notes: dict[str, str] = {}
    for step in (_drop_rows, _cut_texts, _drop_members):
        step(shortened, budget, notes)
        text = dump(_with_notes(shortened, notes))
        if token_budget.fits(text, budget):
            return text
    return build_least(envelope, budget)


def build_least(envelope: dict[str, Any], budget: int) -> str:
    """Return the stub of a prepared answer. A batch keeps its errors and stubs of its other answers."""
    if is_error(envelope):
        return dump(envelope)
    if is_batch(envelope):
        least = [each if is_error(each) else json.loads(stubs.build(each, 0)) for each in envelope["results"]]
        text = dump({**envelope, "results": least})
        if any(is_error(each) for each in least) or token_budget.fits(text, budget):
            return text
    return stubs.build(envelope, budget)


def build_short(envelope: dict[str, Any]) -> str:
    """Return a prepared answer in short, including its errors: the last resort if many do not fit."""
    if is_batch(envelope):
        return dump({**envelope, "results": [json.loads(build_short(each)) for each in envelope["results"]]})
    return stubs.build_error(envelope) if is_error(envelope) else stubs.build(envelope, 0)


def is_error(envelope: Any) -> bool:
    """Return whether this is the answer of one call that failed."""
    return isinstance(envelope, dict) and envelope.get("ok") is False and not is_batch(envelope)


def is_batch(envelope: dict[str, Any]) -> bool:
    """Return whether this is the answer of a batch."""
    results = envelope.get("results")
    return isinstance(results, list) and all(isinstance(each, dict) for each in results) and "batch_id" in envelope


def _shorten_batch(batch: dict[str, Any], budget: int) -> str:
    """Shorten each answer of a batch to an equal share; what small answers leave is for the large ones."""
    answers = batch["results"]
    texts = [dump(each) for each in answers]
    sizes = [token_budget.count(text) for text in texts]
    room = budget - token_budget.count(dump({**batch, "results": []})) - len(texts)
    for position, index in enumerate(sorted(range(len(texts)), key=sizes.__getitem__)):
        share = max(room, 0) // (len(texts) - position)
        if sizes[index] > share:
            texts[index] = shorten(answers[index], share)
        room -= token_budget.count(texts[index])
    text = dump({**batch, "results": [json.loads(each) for each in texts]})
    return text if token_budget.fits(text, budget) else build_least(batch, budget)


def _drop_rows(answer: dict[str, Any], budget: int, notes: dict[str, str]) -> None:
    """Take the last rows out of the longest lists, as many as needed, down to one row each."""
    counts: dict[int, int] = {}  # rows of each list at first, by the list's identity
    for _ in range(MAX_STEPS):
        excess = _get_excess(answer, notes, budget)
        node = json_nodes.find_longest_list(answer) if excess > 0 else None
        if node is None:
            return
        rows = node.value
        count = counts.setdefault(id(rows), len(rows))
        while len(rows) > 1 and excess > 0:
            excess -= token_budget.count(dump(rows.pop())) + 1
        notes[_get_label(node, otherwise="rows")] = _describe_rows(node.parent, len(rows), count)


def _describe_rows(parent: Any, shown: int, count: int) -> str:
    if not isinstance(parent, dict) or not parent.keys() & {"next_cursor", "has_more", "total"}:
        return f"{shown} of {count}; call again for less at once"
    parent.pop("next_cursor", None)  # it goes on after the rows that are missing
    total = parent.get("total")
    whole = max(count, total) if isinstance(total, int) else count
    return f"{shown} of {whole}; read on with a smaller limit ({shown}) and its cursor"


def _cut_texts(answer: dict[str, Any], budget: int, notes: dict[str, str]) -> None:
    """Replace the longest texts by their beginnings, as long as there is room."""
    for _ in range(MAX_STEPS):
        excess = _get_excess(answer, notes, budget)
        node = json_nodes.find_longest_text(answer, over=text_fields.MIN_CHARS) if excess > 0 else None
        if node is None:
            return
        notes[_get_label(node, otherwise="text")] = text_fields.cut_text(node, excess=excess)


def _drop_members(answer: dict[str, Any], budget: int, notes: dict[str, str]) -> None:
    """Take out the longest members that are not essential."""
    for _ in range(MAX_STEPS):
        node = json_nodes.find_longest_member(answer) if _get_excess(answer, notes, budget) > 0 else None
        if node is None:
            return
        notes[_get_label(node, otherwise="")] = "left out"
        node.remove()


def _get_excess(answer: dict[str, Any], notes: dict[str, str], budget: int) -> int:
    return token_budget.estimate(dump(_with_notes(answer, notes))) + NOTE_TOKENS - budget


def _with_notes(answer: dict[str, Any], notes: dict[str, str]) -> dict[str, Any]:
    """Return the answer with `shown`: the note itself if there is one, else each with its name."""
    if not notes:
        return answer
    if len(notes) == 1:
        return {**answer, "shown": next(iter(notes.values()))}
    return {**answer, "shown": ". ".join(f"{name}: {note}" for name, note in notes.items())}


def _get_label(node: Node, *, otherwise: str) -> str:
    return node.name[: stubs.MAX_NAME_CHARS] or otherwise
