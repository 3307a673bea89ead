"""Fit the answers of a turn's calls into their budget."""

from collections.abc import Mapping, Sequence
from typing import Any

from chat.context import budgets
from chat.context.shortening import envelopes, stubs
from chat.context.shortening.json_text import dump
from core.text import token_budget

STUB_TOKENS = 60  # of an old answer, while there is room
SMALL_TOKENS = 120  # an answer like "No tasks match.", which a stub would turn into advice to call again

Answer = Mapping[str, Any] | list[Any]


def fit_results(results: Sequence[Answer], *, budget: int = budgets.TOOL_RESULTS) -> list[str]:
    """Return the JSON texts of the answers, in order, within the budget together.

    They are shortened as by `shorten_results`. If that is not enough, because errors are large or there are very many
    answers, the oldest errors are shortened. After that, only the success of the oldest answers is reported, in a dozen
    tokens.
    """
    prepared = [envelopes.prepare(each) for each in results]
    texts = _shorten(prepared, budget)
    sizes = [token_budget.count(text) for text in texts]
    for build in (envelopes.build_short, stubs.build_empty):
        for index, answer in enumerate(prepared):
            if sum(sizes) <= budget:
                return texts
            text = build(answer)
            if (size := token_budget.count(text)) < sizes[index]:
                texts[index], sizes[index] = text, size
    return texts


def shorten_results(results: Sequence[Answer], *, budget: int) -> list[str]:
    """Return the JSON texts of the answers, in order. Together they fit the budget if that keeps the essential parts.

    The newest gets room first, then small ones, because shortening them saves little, then the next newest. Every one
    keeps at least what it was and which row it is about. Errors are whole.
    """
    return _shorten([envelopes.prepare(each) for each in results], budget)


def _shorten(prepared: Sequence[dict[str, Any]], budget: int) -> list[str]:
    texts = [dump(each) for each in prepared]
    if token_budget.fits("".join(texts), budget - len(texts)):
        return texts
    sizes = [token_budget.count(text) for text in texts]
    least = [min(size, _count_least(each)) for each, size in zip(prepared, sizes, strict=True)]
    room = budget - sum(least)
    *older, newest = range(len(texts))
    for index in (newest, *sorted(older, key=lambda index: (sizes[index] > SMALL_TOKENS, -index))):
        given = min(sizes[index], least[index] + max(room, 0))
        if given < sizes[index]:
            texts[index] = envelopes.shorten(prepared[index], given)
        room -= token_budget.count(texts[index]) - least[index]
    return texts


def _count_least(answer: dict[str, Any]) -> int:
    return token_budget.count(envelopes.build_least(answer, STUB_TOKENS))
