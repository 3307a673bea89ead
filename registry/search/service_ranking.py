"""Rank the ops of a service that a request names before others, and our own ops before those of services otherwise."""

import re
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from core.text.english import SERVICE_FILLERS
from registry.catalog.model import CatalogOp
from registry.search import tokenizer
from registry.search.postings import IndexedWords
from registry.search.word_vectors import Floats

# How much more an op of a connected service must score to rank before one of our own, unless the request names it. With
# copied words, tools of a service reached 1.14 times the score of the op that they copied.
SERVICE_HANDICAP = 1.15
PLACE_WEIGHT = 1.3  # of the ops of a service that the request names as the place: on Spotify
MIN_LETTERS = 3  # of a word that names a service alone
_PLACE = re.compile(r"\b(?:at|from|in|into|on|through|to|using|via|with|within) (?:(?:the|our|my) )?(\S+)")


class ServiceRanker:
    """Which ops are of which connected service, and the words that name it."""

    def __init__(self, ops: Sequence[CatalogOp], words: IndexedWords) -> None:
        self._is_own = np.array([not op.is_of_service for op in ops], dtype=bool)
        self._by_name: dict[str, NDArray[np.bool_]] = {}  # by the words of its whole name
        self._by_word: dict[str, NDArray[np.bool_]] = {}  # by a word of it that no other op has
        connections = sorted({op.connection for op in ops if op.is_of_service})
        ops_by_stem = _OpsByStem(words) if connections else None
        for connection in connections:
            of_service = np.array([op.connection == connection for op in ops], dtype=bool)
            name = tokenizer.split_words(connection)
            if name and ops_by_stem:
                self._by_name[" ".join(name)] = of_service
                self._by_word |= dict.fromkeys(_find_telling_words(name, of_service, ops_by_stem), of_service)

    def raise_scores(self, scores: Floats, request: str) -> None:
        """Raise the scores in place: of the services that a request names, else of our own ops."""
        if not self._by_name:
            return
        words = tokenizer.split_words(request)
        text = f" {' '.join(words)} "
        places = [self._by_word[word] for word in _PLACE.findall(text) if word in self._by_word]
        named = [ops for name, ops in self._by_name.items() if f" {name} " in text]
        named += [self._by_word[word] for word in words if word in self._by_word]
        if places:
            scores[np.any(places, axis=0)] *= PLACE_WEIGHT
        elif named:
            scores[np.any(named, axis=0)] *= SERVICE_HANDICAP
        else:
            scores[self._is_own] *= SERVICE_HANDICAP


class _OpsByStem:
    """The indexes of the ops that have a word with a stem."""

    def __init__(self, words: IndexedWords) -> None:
        self._words = words
        self._word_ids: dict[str, list[int]] = defaultdict(list)
        for id, word in enumerate(words.vocabulary):
            self._word_ids[tokenizer.stem(word)].append(id)

    def find(self, stem: str) -> NDArray[np.int64]:
        """Return the indexes, repeated for each time."""
        return self._words.op_ids[np.isin(self._words.word_ids, self._word_ids.get(stem, ()))]


def _find_telling_words(name: Sequence[str], of_service: NDArray[np.bool_], ops_by_stem: _OpsByStem) -> list[str]:
    """Return the words of a service's name that no other op has: spotify of spotify_music."""
    telling = (word for word in name if len(word) >= MIN_LETTERS and word not in SERVICE_FILLERS)
    return [word for word in telling if (stem := tokenizer.stem(word)) and of_service[ops_by_stem.find(stem)].all()]
