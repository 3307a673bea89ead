"""Clip texts to a number of characters or tokens. A clipped text says so."""

import re

from core.text import token_budget

ELLIPSIS = "…"
_MARKER = re.compile(rf"{ELLIPSIS} \[[0-9,]{{1,20}} of ([0-9,]{{1,20}}) characters\]\Z")
MIN_MARKED_CHARS = 20  # a shorter beginning is not worth the marker


def clean(text: str) -> str:
    """Return a text that UTF-8 can write: halves of pairs become question marks."""
    return text.encode("utf-8", "replace").decode()


def to_one_line(text: object) -> str:
    """Return a text on one line. Rows hold texts of people, which must not look like headings of ours."""
    return "" if text is None else clean(" ".join(str(text).split()))


def clip(text: object, chars: int) -> str:
    """Return a text on one line, with an ellipsis instead of what exceeds `chars`."""
    line = to_one_line(text)
    return line if len(line) <= chars else line[: max(chars - 1, 0)].rstrip() + ELLIPSIS


def mark_cut(beginning: str, length: int) -> str:
    """Return the beginning of a text of `length` characters with a marker of how much it is."""
    return f"{beginning}{ELLIPSIS} [{len(beginning):,} of {length:,} characters]"


def split_marker(text: str) -> tuple[str, int]:
    """Return a text without the marker of how much it is, and the length of the whole."""
    match = _MARKER.search(text)
    return (text[: match.start()], int(match[1].replace(",", ""))) if match else (text, len(text))


def clip_to_tokens(text: str, budget: int) -> str:
    """Return the longest beginning that fits the budget with its marker, or the text if it fits as a whole."""
    if token_budget.fits(text, budget):
        return text
    chars = token_budget.find_longest_beginning(
        len(text) - 1, lambda end: token_budget.fits(mark_cut(text[:end], len(text)), budget)
    )
    return mark_cut(text[:chars], len(text)) if chars >= MIN_MARKED_CHARS else ELLIPSIS
