"""An inverted index ranked by BM25F: a word counts by its field, its rarity and its frequency.

Robertson, Zaragoza, Taylor: Simple BM25 extension to multiple weighted fields, CIKM 2004.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from registry.search import words
from registry.search.fields import FIELDS, WEIGHTS, Read

SATURATION = 0.8  # k1: how soon the second mention of a word stops counting
LENGTH = 0.5  # b: how much less a word counts in a long field
NAME = FIELDS.index("name")  # the tool name repeats the path, so a word counts once here


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

    def covered(self, stems: Iterable[str]) -> NDArray[np.float32]:
        """Return the share of the stems that each op has, 0 to 1. Rare stems count more."""
        scores = np.zeros(self.count, dtype=np.float32)
        whole = 0.0
        for stem in dict.fromkeys(stems):
            at = self.stems.get(stem)
            if at is None:
                whole += self.unknown
                continue
            having = slice(self.starts[at], self.starts[at + 1])
            scores[self.ops[having]] += self.rarity[at] * self.weights[having]
            whole += float(self.rarity[at])
        return scores / whole if whole else scores


def build(read: Read, count: int) -> Postings:
    """Return the postings of the words of `count` ops."""
    stems: dict[str, int] = {}
    of_word = np.array([_place(stems, words.stem(word)) for word in read.vocabulary], dtype=np.int64)
    telling = of_word[read.word] >= 0
    stem, op, field = of_word[read.word][telling], read.op[telling], read.field[telling]

    # One entry for each stem of each field of each op, then one for each stem of each op.
    entries, times = np.unique((stem * count + op) * len(FIELDS) + field, return_counts=True)
    pairs, at = entries // len(FIELDS), entries % len(FIELDS)
    times = np.where(at == NAME, 1, times)
    counted = times * np.array(list(WEIGHTS.values()))[at] / _lengths(op, field, count)[at, pairs % count]
    first = np.flatnonzero(np.diff(pairs, prepend=-1))
    frequency = np.add.reduceat(counted, first) if len(first) else counted
    having = pairs[first]

    starts = np.searchsorted(having // count, np.arange(len(stems) + 1)) if count else np.zeros(1, dtype=np.int64)
    return Postings(
        stems=stems,
        starts=starts,
        ops=(having % count if count else having).astype(np.int32),
        weights=(frequency / (frequency + SATURATION)).astype(np.float32),
        rarity=_rarity(np.diff(starts), count),
        unknown=math.log(1 + (count + 0.5) / 0.5),
        count=count,
    )


def _place(stems: dict[str, int], stem: str) -> int:
    return stems.setdefault(stem, len(stems)) if stem else -1


def _lengths(op: NDArray[np.int64], field: NDArray[np.int64], count: int) -> NDArray[np.float64]:
    """Return the divisor of each field and op, shape (fields, ops): 1 at average length, more if longer."""
    lengths = np.bincount(field * count + op, minlength=len(FIELDS) * count).reshape(len(FIELDS), count)
    usual = lengths.sum(axis=1) / np.maximum(1, (lengths > 0).sum(axis=1))
    found: NDArray[np.float64] = 1 - LENGTH + LENGTH * lengths / np.maximum(usual, 1)[:, None]
    return found


def _rarity(having: NDArray[np.int64], count: int) -> NDArray[np.float32]:
    """Return BM25's inverse document frequency, never negative."""
    found: NDArray[np.float32] = np.log(1 + (count - having + 0.5) / (having + 0.5)).astype(np.float32)
    return found
