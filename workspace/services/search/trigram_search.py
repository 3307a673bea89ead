"""Trigram search over titles. It finds misspelt and inflected words when no row has the words of the query.

A title matches a word if it has at least half of the word's trigrams: its runs of three characters, including a space
on either side. The comparison runs in Python, so that every database gives the same results.
"""

import re
from collections.abc import Iterable, Sequence, Set

from workspace.entity_types import EntityType
from workspace.services.search import ranking
from workspace.services.search.ranking import SearchHit

MAX_TITLES = 2_000  # the most recently updated; comparing them takes less than 250 ms
MIN_SHARE = 0.5  # the share of a word's trigrams that a title must have

_BETWEEN_WORDS = re.compile(r"[\W_]+")


def find_similar_titles(
    kinds: Iterable[EntityType], *, subject: str, project_id: str | None, words: Sequence[str], limit: int
) -> tuple[list[SearchHit], int]:
    """Return the rows with the most similar titles, and the number of all similar rows, in one query."""
    trigrams_by_word = [(word, grams) for word in words if (grams := extract_trigrams(word))]
    if not trigrams_by_word:
        return [], 0
    parts = [
        ranking.query_visible_rows(kind, subject=subject, project_id=project_id).values(*ranking.HIT_COLUMNS)
        for kind in kinds
    ]
    hits = []
    for row in ranking.union_all(parts).order_by("-found_at", "-pk")[:MAX_TITLES]:
        matches = get_trigram_shares(trigrams_by_word, row["found_title"])
        if matches:
            score = sum(matches.values()) / len(words)
            hits.append(ranking.build_hit(row, score=score, matched=tuple(matches)))
    hits.sort(key=lambda hit: -hit.score)  # stable sort: ties stay in order of their update
    return hits[:limit], len(hits)


def get_trigram_shares(trigrams_by_word: Iterable[tuple[str, Set[str]]], title: str) -> dict[str, float]:
    """Return the share of trigrams found in the title, for each word that is similar enough."""
    title_trigrams = extract_trigrams(title)
    shares_by_word = {word: len(grams & title_trigrams) / len(grams) for word, grams in trigrams_by_word}
    return {word: share for word, share in shares_by_word.items() if share >= MIN_SHARE}


def extract_trigrams(text: str) -> set[str]:
    """Return the trigrams of a text. Empty if it has neither letters nor digits."""
    spaced = _BETWEEN_WORDS.sub(" ", f" {text.casefold()} ")
    return {spaced[at : at + 3] for at in range(len(spaced) - 2)}
