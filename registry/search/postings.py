"""An inverted index ranked by BM25F: a word counts by its field, its rarity and its frequency.

Robertson, Zaragoza, Taylor: Simple BM25 extension to multiple weighted fields, CIKM 2004.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from registry.search import tokenizer
from registry.search.fields import FIELDS, WEIGHTS, IndexedWords
from registry.search.word_vectors import Floats

SATURATION = 1.2  # k1: how soon the second mention of a word stops counting
LENGTH_WEIGHT = 0.75  # b: how much less a word counts in a long field

Indexes = NDArray[np.int64]


@dataclass(frozen=True)
class Postings:
    """The documents of each stem, as slices of two arrays: stem i has starts[i] to starts[i + 1]."""

    starts: Indexes
    documents: NDArray[np.int32]
    weights: Floats  # 0 to SATURATION + 1
    count: int  # documents

    def score(self, stem_ids: Iterable[int], rarity: Floats) -> Floats:
        """Return the BM25F score of each document for some stems, each of which weighs by its rarity."""
        scores = np.zeros(self.count, dtype=np.float32)
        for stem_id in stem_ids:
            entries = slice(self.starts[stem_id], self.starts[stem_id + 1])
            scores[self.documents[entries]] += rarity[stem_id] * self.weights[entries]
        return scores


@dataclass(frozen=True)
class StemmedWords:
    """The words of an index without stop words, as stems."""

    stems: dict[str, int]
    stem_ids: Indexes  # of each word
    op_ids: Indexes
    field_ids: Indexes

    def build_postings(self, document_of_op: Indexes, count: int) -> Postings:
        """Return the postings of `count` documents, each of which holds the words of one or more ops."""
        document = document_of_op[self.op_ids]
        # One entry for each stem of each field of each document, then one for each stem of each document.
        entries, times = np.unique(
            (self.stem_ids * count + document) * len(FIELDS) + self.field_ids, return_counts=True
        )
        pairs, field_of_entry = entries // len(FIELDS), entries % len(FIELDS)
        divisors = _compute_length_divisors(document, self.field_ids, count)
        weighted = (
            times * np.array(list(WEIGHTS.values()))[field_of_entry] / divisors[field_of_entry, pairs % max(count, 1)]
        )
        first = np.flatnonzero(np.diff(pairs, prepend=-1))
        frequency = np.add.reduceat(weighted, first) if len(first) else weighted
        stem, document = np.divmod(pairs[first], max(count, 1))
        return Postings(
            starts=np.searchsorted(stem, np.arange(len(self.stems) + 1)),
            documents=document.astype(np.int32),
            weights=(frequency * (SATURATION + 1) / (frequency + SATURATION)).astype(np.float32),
            count=count,
        )


def stem_words(indexed_words: IndexedWords) -> StemmedWords:
    """Return the stems of indexed words."""
    stems: dict[str, int] = {}
    stem_of_word = np.array(
        [_get_stem_index(stems, tokenizer.stem(word)) for word in indexed_words.vocabulary], dtype=np.int64
    )
    stem_ids = stem_of_word[indexed_words.word_ids]
    is_significant = stem_ids >= 0
    return StemmedWords(
        stems, stem_ids[is_significant], indexed_words.op_ids[is_significant], indexed_words.field_ids[is_significant]
    )


def compute_rarity(postings: Postings) -> Floats:
    """Return BM25's inverse document frequency of each stem, never negative."""
    documents = np.diff(postings.starts)
    rarity: Floats = np.log(1 + (postings.count - documents + 0.5) / (documents + 0.5)).astype(np.float32)
    return rarity


def compute_unknown_rarity(count: int) -> float:
    """Return the rarity of a stem that none of `count` documents has."""
    return math.log(1 + (count + 0.5) / 0.5)


def _get_stem_index(stems: dict[str, int], stem: str) -> int:
    return stems.setdefault(stem, len(stems)) if stem else -1


def _compute_length_divisors(document: Indexes, field: Indexes, count: int) -> NDArray[np.float64]:
    """Return the divisor of each field and document, shape (fields, documents): 1 at average length, more if longer."""
    lengths = np.bincount(field * count + document, minlength=len(FIELDS) * count).reshape(len(FIELDS), count)
    average = lengths.sum(axis=1) / np.maximum(1, (lengths > 0).sum(axis=1))
    divisors: NDArray[np.float64] = 1 - LENGTH_WEIGHT + LENGTH_WEIGHT * lengths / np.maximum(average, 1)[:, None]
    return divisors
