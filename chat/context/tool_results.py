"""Fit the answers of a turn's calls into their budget."""

from collections.abc import Mapping, Sequence
from typing import Any

from chat.context import budgets
from chat.context.shortening import envelopes, token_fit
from chat.context.shortening.json_text import dump
from core import tokens

STUB_TOKENS = 60  # of an old answer, while there is room


def fit_results(results: Sequence[Mapping[str, Any] | list[Any]], *, budget: int = budgets.TOOL_RESULTS) -> list[str]:
    """Return the JSON texts of the answers, in order, within the budget together.

    The newest get room first; every older one keeps at least what it was and which row it is about. Errors are whole.
    Only these, and the least of very many answers, can exceed the budget.
    """
    prepared = [envelopes.prepare(each) for each in results]
    texts = [dump(each) for each in prepared]
    if token_fit.fits("".join(texts), budget - len(texts)):
        return texts
    sizes = [tokens.count(text) for text in texts]
    least = [min(size, _count_least(each)) for each, size in zip(prepared, sizes, strict=True)]
    room = budget - sum(least)
    for index in reversed(range(len(texts))):
        given = min(sizes[index], least[index] + max(room, 0))
        if given < sizes[index]:
            texts[index] = envelopes.shorten(prepared[index], given)
        room -= tokens.count(texts[index]) - least[index]
    return texts


def _count_least(answer: dict[str, Any]) -> int:
    return tokens.count(envelopes.build_least(answer, STUB_TOKENS))
