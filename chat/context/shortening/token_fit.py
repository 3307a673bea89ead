"""Check whether something fits a budget of tokens, without counting the tokens of what obviously does or does not."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from core.text import token_budget

T = TypeVar("T")

MAX_TOKEN_CHARS = 128  # no token of o200k_base is longer
NOTE_TOKENS = 40
MAX_COUNTED_CHARS = 100_000  # about 10 ms


def fits(text: str, budget: int) -> bool:
    """Return whether a text has at most `budget` tokens."""
    if len(text) > budget * MAX_TOKEN_CHARS:
        return False
    return len(text.encode("utf-8", "replace")) <= budget or token_budget.count(text) <= budget


def render_to_fit(render: Callable[[T], str], sizes: Iterable[T], *, budget: int) -> str:
    """Return the text of the first size that fits the budget, or of the last one. Sizes go from large to small."""
    text = ""
    for size in sizes:
        text = render(size)
        if fits(text, budget):
            break
    return text


def estimate(text: str) -> int:
    """Return the tokens of a text. Of a very long one, it is a low estimate that takes no time."""
    return token_budget.count(text) if len(text) <= MAX_COUNTED_CHARS else len(text) // 8


@dataclass(frozen=True, slots=True)
class FittedLines:
    """Lines that fit, as one text, and whether some were left out."""

    text: str
    is_cut: bool


def fit_lines(lines: Sequence[str], *, budget: int, note: Callable[[int], str]) -> FittedLines:
    """Return the lines, or the first ones that fit with a last line that says how many are missing.

    `note` makes that line, of at most 40 tokens.
    """
    if fits(text := "\n".join(lines), budget):
        return FittedLines(text, is_cut=False)
    room, count = budget - NOTE_TOKENS, 0
    for line in lines:
        if not fits(line, room - 1):
            break
        room -= token_budget.count(f"{line}\n")
        count += 1
    return FittedLines("\n".join([*lines[:count], note(len(lines) - count)]), is_cut=True)
