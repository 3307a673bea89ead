"""Count tokens, and make text and JSON fit a number of them.

The vocabulary is o200k_base, which ships in the tokenizer's wheel and works offline.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import splintr

from core import memory
from core.text import json_text

MAX_TOKEN_CHARS = 128  # no token is longer
MAX_COUNTED_CHARS = 100_000  # about 10 ms
NOTE_TOKENS = 40

T = TypeVar("T")


@cache
def load_tokenizer() -> splintr.AnyTokenizer:
    """Return the tokenizer. It takes 32 ms and 32 MB, so that only processes that count tokens load it."""
    tokenizer = splintr.Tokenizer.from_pretrained("o200k_base")
    memory.return_freed_memory()
    return tokenizer


def count(text: str | bytes) -> int:
    """Return the number of tokens in a text. Names of special tokens count as ordinary text."""
    return len(load_tokenizer().encode_ordinary(text if isinstance(text, str) else text.decode()))


def count_json(value: Any) -> int:
    """Return the tokens of a value as compact JSON, as it is sent."""
    return count(json_text.dump(value))


def estimate(text: str) -> int:
    """Return the tokens of a text. For a very long one, it is a low estimate that takes no time."""
    return count(text) if len(text) <= MAX_COUNTED_CHARS else len(text) // 8


def fits(text: str | bytes, limit: int) -> bool:
    """Return whether a text has at most `limit` tokens. What obviously fits or does not is not counted."""
    if len(text) > limit * MAX_TOKEN_CHARS:
        return False
    size = len(text if isinstance(text, bytes) else text.encode("utf-8", "replace"))
    return size <= limit or count(text) <= limit  # no token is shorter than a byte


def render_to_fit(render: Callable[[T], str], sizes: Iterable[T], *, budget: int) -> str:
    """Return the text of the first size that fits the budget, or of the last one. Sizes go from large to small."""
    text = ""
    for size in sizes:
        text = render(size)
        if fits(text, budget):
            break
    return text


def find_longest_beginning(length: int, is_fitting: Callable[[int], bool]) -> int:
    """Return the largest number of characters, at most `length`, that fits; 0 if none does."""
    shortest, longest = 0, max(length, 0)
    while shortest < longest:
        middle = (shortest + longest + 1) // 2
        if is_fitting(middle):
            shortest = middle
        else:
            longest = middle - 1
    return shortest


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
    room, shown = budget - NOTE_TOKENS, 0
    for line in lines:
        if not fits(line, room - 1):
            break
        room -= count(f"{line}\n")
        shown += 1
    return FittedLines("\n".join([*lines[:shown], note(len(lines) - shown)]), is_cut=True)


def find_last_row(rows: Sequence[Any], limit: int) -> int:
    """Return the index after the last row that fits."""
    end, used = 0, 0
    while end < len(rows):
        size = count_json(rows[end]) + 1  # and a comma
        if used + size > limit:
            break
        end, used = end + 1, used + size
    return end
