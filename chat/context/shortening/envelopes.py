"""Shorten the answer of one call to a budget or to a level of detail. It stays valid JSON.

Rows lose columns before any row is left out. What is missing is said in the member `shown`. Where rows of a page are
left out, its cursor would skip them, so it is taken out, and `shown` says how to read on.
"""

import copy
import json
from collections.abc import Sequence
from typing import Any

from chat.context.shortening import columns, json_nodes, outlines, text_fields
from chat.context.shortening.answers import Detail, ReadableAnswer
from chat.context.shortening.json_nodes import Node
from chat.context.shortening.json_text import dump
from core.text import token_budget

NOTE_TOKENS = 60  # kept for the text of `shown`
MAX_STEPS = 30  # then the answer is replaced as a whole
MAX_NAMED = 6  # columns in `shown`
CHARS_A_TOKEN = 4  # of JSON, roughly
ALL = 1_000_000  # more tokens than an answer has


def shorten(answer: ReadableAnswer, budget: int, *, keeps_rows: bool = False) -> str:
    """Return the JSON of an answer within the budget, if its outline fits. Errors are never shortened.

    With `keeps_rows`, and of a write always, no id is left out: that is for answers that a model has read before.
    """
    if answer.is_error or token_budget.fits(answer.text, budget):
        return answer.text
    if answer.is_batch:
        return _shorten_batch(answer, budget, keeps_rows=keeps_rows)
    shortened, keeps_rows = _ShortenedAnswer(answer), keeps_rows or answer.is_write
    for _ in range(MAX_STEPS):
        if token_budget.fits(text := shortened.text, budget):
            return text
        if not shortened.remove_something(_estimate_excess(text, budget), keeps_rows=keeps_rows):
            break
    outline = _choose_outline(answer, budget)
    return outline if keeps_rows or token_budget.fits(outline, budget) else _reduce(answer, Detail.OUTCOME)


def _estimate_excess(text: str, budget: int) -> int:
    return token_budget.estimate(text) + NOTE_TOKENS - budget


def reduce(answer: ReadableAnswer, detail: Detail) -> str:
    """Return the JSON of an answer at a level of detail, or the whole answer if that is not longer."""
    text = _reduce(answer, detail)
    return text if len(text) < len(answer.text) else answer.text


def build_batch_counts(answer: ReadableAnswer) -> str:
    """Return how many calls of a batch succeeded and failed, by op: for batches of which not even the ids fit."""
    counts: dict[str, dict[str, int]] = {}
    for each in answer.entries:
        by_outcome = counts.setdefault(str(each.content.get("op"))[: outlines.MAX_NAME_CHARS], {})
        outcome = "failed" if each.content.get("ok") is False else "done" if each.is_write else "read"
        by_outcome[outcome] = by_outcome.get(outcome, 0) + 1
    return dump({**outlines.get_facts(answer.content), "counts": counts, "shown": "counts only"})


def _reduce(answer: ReadableAnswer, detail: Detail) -> str:
    if detail == Detail.WHOLE:
        return answer.text
    if answer.is_batch:
        head = outlines.get_facts(answer.content) if detail == Detail.OUTCOME else answer.content
        return dump({**head, answer.entries_name: [json.loads(reduce(each, detail)) for each in answer.entries]})
    if detail == Detail.ROWS:
        return answer.text if answer.is_error else _reduce_rows(answer)
    if answer.is_error:
        build_error = outlines.build_failed if detail == Detail.OUTCOME else outlines.build_short_error
        return build_error(answer.content)
    if answer.is_write:
        build_write = outlines.build_outcome if detail == Detail.OUTCOME else outlines.build_write_outline
        return build_write(answer.content, answer.operation)
    if detail == Detail.OUTCOME:
        return outlines.build_left_out(answer.content)
    return outlines.build_read_outline(answer.content, has_names=detail == Detail.NAMES)


def _reduce_rows(answer: ReadableAnswer) -> str:
    shortened = _ShortenedAnswer(answer)
    for _ in range(MAX_STEPS):
        if not shortened.remove_detail():
            break
    return shortened.text


def _choose_outline(answer: ReadableAnswer, budget: int) -> str:
    return token_budget.render_to_fit(lambda detail: _reduce(answer, detail), (Detail.NAMES, Detail.IDS), budget=budget)


def _shorten_batch(batch: ReadableAnswer, budget: int, *, keeps_rows: bool) -> str:
    around = token_budget.count(dump({**batch.content, batch.entries_name: []})) + len(batch.entries)
    texts = share(batch.entries, budget - around, keeps_rows=keeps_rows)
    text = dump({**batch.content, batch.entries_name: [json.loads(each) for each in texts]})
    return text if token_budget.fits(text, budget) else _choose_outline(batch, budget)


def share(answers: Sequence[ReadableAnswer], room: int, *, keeps_rows: bool = False) -> list[str]:
    """Return the texts of answers, each shortened to an equal share of the room; what small ones leave is shared."""
    texts = [each.text for each in answers]
    sizes = [token_budget.count(text) for text in texts]
    for position, index in enumerate(sorted(range(len(texts)), key=sizes.__getitem__)):
        part = max(room, 0) // (len(texts) - position)
        if sizes[index] > part:
            texts[index] = shorten(answers[index], part, keeps_rows=keeps_rows)
        room -= token_budget.count(texts[index])
    return texts


class _ShortenedAnswer:
    """A copy of an answer from which parts are removed, with notes about them."""

    def __init__(self, answer: ReadableAnswer) -> None:
        self._content: dict[str, Any] = copy.deepcopy(answer.content)
        self._notes: dict[str, str] = {}
        self._dropped: dict[int, list[str]] = {}  # columns by the identity of their list
        self._missing: dict[int, str] = {}  # what to say about rows, by the identity of their list
        self._is_compact, self._is_write = False, answer.is_write

    @property
    def text(self) -> str:
        """The JSON with `shown`: the note itself if there is one, else each with its name."""
        if not self._notes:
            return dump(self._content)
        notes = list(self._notes.values())
        shown = notes[0] if len(notes) == 1 else ". ".join(f"{name}: {note}" for name, note in self._notes.items())
        return dump({**self._content, "shown": shown})

    def remove_something(self, excess: int, *, keeps_rows: bool) -> bool:
        """Remove what is missed least, about `excess` tokens of it. Return False if there is nothing left."""
        if self._drop_empty() or self._remove_largest(excess):
            return True
        return (not keeps_rows and self._drop_rows(excess)) or (not self._is_write and self._drop_member())

    def remove_detail(self) -> bool:
        """Remove columns, or cut a text to its first characters. Return False if there is nothing left."""
        return self._drop_empty() or self._remove_largest(excess=ALL)

    def _drop_empty(self) -> bool:
        if self._is_compact:
            return False
        self._is_compact = True
        self._content = columns.drop_empty_members(self._content)
        return True

    def _remove_largest(self, excess: int) -> bool:
        """Cut the longest text, or take columns out of the longest list, whichever of them is longer."""
        text = json_nodes.find_longest_text(self._content, over=text_fields.MIN_CHARS)
        rows = json_nodes.find_longest_list(self._content, is_wanted=columns.has_more_columns)
        if text and (rows is None or text.size > rows.size):
            note = text_fields.cut_text(text, excess=excess)
            self._notes[_get_label(text, otherwise="text")] = note.partition(";")[0] if self._is_write else note
            return True
        if rows is None:
            return False
        dropped = self._dropped.setdefault(id(rows.value), [])
        while excess > 0 and (name := columns.find_largest_column(rows.value)):
            excess -= columns.drop_column(rows.value, name) // CHARS_A_TOKEN
            dropped.append(name[: outlines.MAX_NAME_CHARS])
        self._note_rows(rows)
        return True

    def _drop_rows(self, excess: int) -> bool:
        """Take the last rows out of the longest list, as many as needed, down to one row."""
        node = json_nodes.find_longest_list(self._content)
        if node is None:
            return False
        rows = node.value
        if id(rows) not in self._missing:
            self._missing[id(rows)] = self._prepare_missing_rows(node)
        while len(rows) > 1 and excess > 0:
            excess -= token_budget.count(dump(rows.pop())) + 1
        self._note_rows(node)
        return True

    def _drop_member(self) -> bool:
        node = json_nodes.find_longest_member(self._content)
        if node is None:
            return False
        self._notes[_get_label(node, otherwise="")] = "left out"
        node.remove()
        return True

    def _note_rows(self, node: Node) -> None:
        dropped = self._dropped.get(id(node.value), [])
        parts = [self._missing[id(node.value)].format(len(node.value))] if id(node.value) in self._missing else []
        if dropped:
            more = f" and {len(dropped) - MAX_NAMED} more" if len(dropped) > MAX_NAMED else ""
            parts.append(f"without {', '.join(dropped[:MAX_NAMED])}{more}, which a get of one row has")
        self._notes[_get_label(node, otherwise="rows")] = "; ".join(parts)

    def _prepare_missing_rows(self, node: Node) -> str:
        """Return what to say about the rows that are left, and correct what the answer says about its page."""
        count, meta = len(node.value), self._content.get("meta")
        if isinstance(meta, dict) and meta.pop("next_cursor", None):  # the gateway had cut the answer of a service
            return f"{{0}} of more than {count}; ask for fewer fields, or send a smaller max_tokens and its cursor"
        page = node.parent if isinstance(node.parent, dict) else {}
        if not page.keys() & {"next_cursor", "has_more", "total"}:
            return f"{{0}} of {count}; for the rest ask for less at once, such as by a filter or fields"
        if isinstance(page.get("next_cursor"), str):
            del page["next_cursor"]  # it goes on after the rows that are missing
        page["has_more"] = True
        total = page.get("total")
        whole = max(count, total) if isinstance(total, int) else count
        return f"{{0}} of {whole}; to read on, send limit {{0}}, then its next_cursor"


def _get_label(node: Node, *, otherwise: str) -> str:
    return node.name[: outlines.MAX_NAME_CHARS] or otherwise
