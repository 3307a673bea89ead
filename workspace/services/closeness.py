"""Trigram search over titles. It finds misspelt and inflected words when no row has the words of the query.

A title matches a word if it has at least half of the word's trigrams: its runs of three characters, including a space
on either side. The comparison runs in Python, so that every database gives the same results.
"""

import re
from collections.abc import Iterable, Sequence, Set

from workspace.kinds import Kind
from workspace.services import ranking
from workspace.services.ranking import Hit

MOST_TITLES = 2_000  # the most recently updated; comparing them takes less than 250 ms
CLOSE = 0.5  # the share of a word's trigrams that a title must have

_BETWEEN_WORDS = re.compile(r"[\W_]+")


def find(
    kinds: Iterable[Kind], *, subject: str, project_id: str | None, words: Sequence[str], limit: int
) -> tuple[list[Hit], int]:
    """Return the rows with the most similar titles, and the number of all similar rows, in one query."""
    sought = [(word, grams) for word in words if (grams := trigrams(word))]
    if not sought:
        return [], 0
    parts = [ranking.visible(kind, subject=subject, project_id=project_id).values(*ranking.COLUMNS) for kind in kinds]
    hits = []
    for row in ranking.together(parts).order_by("-found_at", "-pk")[:MOST_TITLES]:
        close = shares(sought, row["found_title"])
        if close:
            score = sum(close.values()) / len(words)
            hits.append(ranking.hit(row, score=score, matched=tuple(close)))
    hits.sort(key=lambda hit: -hit.score)  # stable sort: ties stay in order of their update
    return hits[:limit], len(hits)


def shares(sought: Iterable[tuple[str, Set[str]]], title: str) -> dict[str, float]:
    """Return the share of trigrams found in the title, for each word that is similar enough."""
    there = trigrams(title)
    found = {word: len(grams & there) / len(grams) for word, grams in sought}
    return {word: share for word, share in found.items() if share >= CLOSE}


def trigrams(text: str) -> set[str]:
    """Return the trigrams of a text. Empty if it has neither letters nor digits."""
    spaced = _BETWEEN_WORDS.sub(" ", f" {text.casefold()} ")
    return {spaced[at : at + 3] for at in range(len(spaced) - 2)}
