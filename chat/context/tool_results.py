"""Fit the answers of a turn's calls into their budget."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from chat.context import budgets
from chat.context.shortening import envelopes, outlines
from chat.context.shortening.answers import Detail, ReadableAnswer, read_answer
from core.text import token_budget

SMALL_TOKENS = 120  # an answer like "No tasks match.", and names of few rows: to shorten those saves little

Answer = Mapping[str, Any] | list[Any]


def fit_results(results: Sequence[Answer], *, budget: int = budgets.TOOL_RESULTS, seen: int = 0) -> list[str]:
    """Return the JSON texts of the answers, in order, within the budget together.

    The model has read the first `seen` of them in earlier rounds of the turn. They keep the ids of their rows. The
    others get room first, in equal shares, then those seen, the newest first. Writes always keep their outcome.

    If the outlines of all do not fit, errors are shortened, then reads are left out, then names of writes, the oldest
    first.
    """
    answers = [read_answer(each) for each in results]
    texts = [each.text for each in answers]
    if token_budget.fits("".join(texts), budget - len(texts)):
        return texts
    least = [_count_least(each, is_seen=index < seen) for index, each in enumerate(answers)]
    room = budget - sum(least)
    new = envelopes.share(answers[seen:], room + sum(least[seen:]))
    room -= sum(map(token_budget.count, new)) - sum(least[seen:])
    texts[seen:] = new
    for index in sorted(range(seen), key=lambda index: (token_budget.count(texts[index]) > SMALL_TOKENS, -index)):
        texts[index] = envelopes.shorten(answers[index], least[index] + max(room, 0), keeps_rows=True)
        room -= token_budget.count(texts[index]) - least[index]
    return _force_to_fit(answers, texts, budget)


def _count_least(answer: ReadableAnswer, *, is_seen: bool) -> int:
    """Return the tokens that an answer gets in any case: an error all of it, a read that is new only what it was."""
    if answer.is_error:
        return token_budget.count(answer.text)
    if is_seen or answer.is_batch or answer.is_write:
        names = token_budget.count(envelopes.reduce(answer, Detail.NAMES))
        return names if names <= SMALL_TOKENS else token_budget.count(envelopes.reduce(answer, Detail.IDS))
    return min(token_budget.count(outlines.build_left_out(answer.content)), token_budget.count(answer.text))


def _force_to_fit(answers: Sequence[ReadableAnswer], texts: list[str], budget: int) -> list[str]:
    """Replace the texts of the oldest answers by ever shorter ones until all fit."""
    sizes = [token_budget.count(text) for text in texts]
    for build in _list_last_resorts():
        for index, answer in enumerate(answers):
            if sum(sizes) <= budget:
                return texts
            text = build(answer)
            if text and (size := token_budget.count(text)) < sizes[index]:
                texts[index], sizes[index] = text, size
    return texts


def _list_last_resorts() -> Iterator[Callable[[ReadableAnswer], str]]:
    yield lambda answer: envelopes.reduce(answer, Detail.IDS)
    yield lambda answer: "" if answer.is_write or answer.is_batch else envelopes.reduce(answer, Detail.OUTCOME)
    yield lambda answer: envelopes.reduce(answer, Detail.OUTCOME)
    yield lambda answer: envelopes.build_batch_counts(answer) if answer.is_batch else ""
    yield lambda answer: "" if answer.is_write else outlines.build_bare(answer.content)
    yield lambda answer: outlines.build_bare(answer.content)
