"""Choose the rows that a rough title could mean, for errors that ask which one is meant."""

import re
from collections.abc import Hashable, Mapping
from typing import TypeVar

from rapidfuzz import fuzz, process

from workspace.services.search.matching import fold_case
from workspace.services.search.search import leave_out_stop_words, split_words

T = TypeVar("T", bound=Hashable)

MAX_ROWS = 3
MAX_CANDIDATES = 500  # rows whose titles are compared, newest first
MIN_SIMILARITY = 60  # of 100
MIN_LETTERS = 3  # of a text that can be a part of a title; shorter ones begin too many words
MAX_WORDS = 12

_NOT_LETTERS = re.compile(r"[\W_]+")


def split_title(title: str) -> list[str]:
    """Return the words of a title by which rows are looked up; none if it has neither letters nor digits."""
    return leave_out_stop_words(split_words(_NOT_LETTERS.sub(" ", title)))[:MAX_WORDS]


def strip_title(title: str) -> str:
    """Return the letters and digits of a title, to compare it with others."""
    return _NOT_LETTERS.sub("", fold_case(title))


def choose_similar(title: str, titles: Mapping[T, str]) -> tuple[list[T], bool]:
    """Return up to three of the rows {row: its title}, the most similar first, and whether they have all the words.

    Rows with all words of the sent title, each in full or the beginning of one, hide those that are only similar.
    """
    words = [fold_case(word) for word in split_title(title)]
    has_letters = len(strip_title(title)) >= MIN_LETTERS
    with_words = {row: each for row, each in titles.items() if has_letters and words and _has_words(each, words)}
    matches = process.extract(
        title,
        with_words or titles,
        scorer=fuzz.token_sort_ratio,
        processor=str.casefold,
        limit=MAX_ROWS,
        score_cutoff=0 if with_words else MIN_SIMILARITY,
    )
    return [row for _, _, row in matches], bool(with_words)


def _has_words(title: str, words: list[str]) -> bool:
    title_words = _NOT_LETTERS.sub(" ", fold_case(title)).split()
    return all(any(each.startswith(word) for each in title_words) for word in words)
