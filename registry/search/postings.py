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

SATURATION = 0.8  # k1: how soon the second mention of a word stops counting
LENGTH_WEIGHT = 0.5  # b: how much less a word counts in a long field
NAME_FIELD = FIELDS.index("name")  # the tool name repeats the path, so a word counts once here


@dataclass(frozen=True)
class Postings:
    """The ops of each stem, as slices of two arrays: stem i has starts[i] to starts[i + 1]."""

    stems: dict[str, int]
    starts: NDArray[np.int64]
    ops: NDArray[np.int32]
    weights: NDArray[np.float32]  # 0 to 1
    rarity: NDArray[np.float32]
    unknown: float  # the rarity of a word that no op has
    count: int  # ops

    def score_coverage(self, stems: Iterable[str]) -> NDArray[np.float32]:
        """Return the share of the stems that each op has, 0 to 1. Rare stems count more."""
        scores = np.zeros(self.count, dtype=np.float32)
        total = 0.0
        for stem in dict.fromkeys(stems):
            stem_index = self.stems.get(stem)
            if stem_index is None:
                total += self.unknown
                continue
            entries = slice(self.starts[stem_index], self.starts[stem_index + 1])
            scores[self.ops[entries]] += self.rarity[stem_index] * self.weights[entries]
            total += float(self.rarity[stem_index])
        return scores / total if total else scores


def build_postings(indexed_words: IndexedWords, count: int) -> Postings:
    """Return the postings of the words of `count` ops."""
    stems: dict[str, int] = {}
    stem_of_word = np.array(
        [_get_stem_index(stems, tokenizer.stem(word)) for word in indexed_words.vocabulary], dtype=np.int64
    )
    is_significant = stem_of_word[indexed_words.word_ids] >= 0
    stem, op, field = (
        stem_of_word[indexed_words.word_ids][is_significant],
        indexed_words.op_ids[is_significant],
        indexed_words.field_ids[is_significant],
    )

    # One entry for each stem of each field of each op, then one for each stem of each op.
    entries, times = np.unique((stem * count + op) * len(FIELDS) + field, return_counts=True)
    pairs, field_of_entry = entries // len(FIELDS), entries % len(FIELDS)
    times = np.where(field_of_entry == NAME_FIELD, 1, times)
    weighted = (
        times
        * np.array(list(WEIGHTS.values()))[field_of_entry]
        / _compute_length_divisors(op, field, count)[field_of_entry, pairs % count]
    )
    first = np.flatnonzero(np.diff(pairs, prepend=-1))
    frequency = np.add.reduceat(weighted, first) if len(first) else weighted
    pairs_found = pairs[first]

    starts = np.searchsorted(pairs_found // count, np.arange(len(stems) + 1)) if count else np.zeros(1, dtype=np.int64)
    return Postings(
        stems=stems,
        starts=starts,
        ops=(pairs_found % count if count else pairs_found).astype(np.int32),
        weights=(frequency / (frequency + SATURATION)).astype(np.float32),
        rarity=_compute_rarity(np.diff(starts), count),
        unknown=math.log(1 + (count + 0.5) / 0.5),
        count=count,
    )


def _get_stem_index(stems: dict[str, int], stem: str) -> int:
    return stems.setdefault(stem, len(stems)) if stem else -1


def _compute_length_divisors(op: NDArray[np.int64], field: NDArray[np.int64], count: int) -> NDArray[np.float64]:
    """Return the divisor of each field and op, shape (fields, ops): 1 at average length, more if longer."""
    lengths = np.bincount(field * count + op, minlength=len(FIELDS) * count).reshape(len(FIELDS), count)
    average = lengths.sum(axis=1) / np.maximum(1, (lengths > 0).sum(axis=1))
    divisors: NDArray[np.float64] = 1 - LENGTH_WEIGHT + LENGTH_WEIGHT * lengths / np.maximum(average, 1)[:, None]
    return divisors


def _compute_rarity(op_counts: NDArray[np.int64], count: int) -> NDArray[np.float32]:
    """Return BM25's inverse document frequency, never negative."""
    rarity: NDArray[np.float32] = np.log(1 + (count - op_counts + 0.5) / (op_counts + 0.5)).astype(np.float32)
    return rarity
