"""The index of one catalog's ops, and how well each fits a request: by its words, by their meaning, by its action."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import islice

import numpy as np

from registry.catalogs import CatalogOp
from registry.search import actions, fields, meaning, postings, words
from registry.search.fields import FIELDS, Read
from registry.search.meaning import Floats, Vectors
from registry.search.typos import Speller

LONGEST = 1_000  # characters of a request that are read
BRIEF = 3  # telling words; a longer request is a sentence
CLAUSES = 4  # of a request that are looked at one by one

# What counts how much beside a covered share of 0 to 1. Found on the development set of benchmarks/search.py.
MEANING = 1.2
CLAUSE = 0.2
ACTION = 0.03
KEYWORD = 0.5  # a request that is one of an op's keywords and nothing else
FITS = 0.2  # cosine from which on an op that has none of a request's words is still an answer

_DIGIT = re.compile("[0-9]")

TOLD = ("summary", "description")
BESIDE = ("name", "aliases", "keywords", "arguments")
OPS_AT_ONCE = 250  # whose vectors are added up as one product of matrices; more would hold many MB for a moment


class Index:
    """Active ops of a catalog, each with its words, its vector and its action. Retired ones lend theirs their names."""

    def __init__(self, ops: Iterable[CatalogOp]) -> None:
        listed = list(ops)
        self.ops = [op for op in listed if op.is_active]
        self.paths = [op.op for op in self.ops]
        read = fields.read(self.ops, _former(listed, self.ops))
        self._postings = postings.build(read, len(self.ops))
        self._known = frozenset(read.vocabulary)
        self._speller = Speller(read.vocabulary)
        self._vectors = meaning.vectors()
        self._meant = _directions(self._vectors, read, len(self.ops)) if self._vectors else None
        self._keywords = _keywords(self.ops)
        self._actions = np.array([actions.of_op(op) for op in self.ops])
        self._writes = np.array([op.is_write for op in self.ops], dtype=bool)

    def ranked(self, request: str) -> list[str]:
        """Return the paths of the ops that fit a request, best first."""
        text = words.wanted(request[:LONGEST])
        asked = self._asked(text)
        covered, near = self._fit(asked)
        scores = covered + MEANING * near
        orders = self._orders(text)
        if orders:
            fits = [self._fit(order) for order in orders]
            scores += CLAUSE * np.max([has + MEANING * means for has, means in fits], axis=0)
        scores += self._agreement(actions.of_request(orders[0] if orders else asked))
        named = self._keywords.get(words.bare(request), [])
        scores[named] += KEYWORD
        covered[named] = 1
        fitting = np.flatnonzero((covered > 0) | (near >= FITS if self._means(asked) else False))
        return [self.paths[at] for at in fitting[np.argsort(-scores[fitting], kind="stable")]]

    def _orders(self, text: str) -> list[list[str]]:
        """Return the clauses of a text that say what to do; others only say why, and count with the whole."""
        orders = (clause for clause in words.clauses(text) if actions.of_request(words.split(clause)[:1]))
        return [self._asked(order) for order in islice(orders, CLAUSES)]

    def _asked(self, text: str) -> list[str]:
        """Return the telling words of a text, slips mended, ids and other values left out."""
        said = [word for word in words.split(text) if words.stem(word)]
        kept = [word for word in said if word in self._known or not _DIGIT.search(word)] or said
        # Without vectors nobody knows the usual words, of which a long request has many that no op has.
        return [self._mended(word) for word in kept] if self._vectors or len(kept) <= BRIEF else kept

    def _mended(self, word: str) -> str:
        if word in self._known or words.stem(word) in self._postings.stems:
            return word
        if self._vectors and self._vectors.is_word(word):
            return word
        return self._speller.meant(word) or word

    def _fit(self, asked: Sequence[str]) -> tuple[Floats, Floats]:
        """Return for each op which share of some words it covers, and the cosine to their meaning."""
        covered = self._postings.covered(map(words.stem, asked))
        if self._vectors is None or self._meant is None or not asked:
            return covered, np.zeros_like(covered)
        wanted = meaning.directions(self._vectors.of(asked).sum(axis=0, keepdims=True))[0]
        # Not by BLAS, whose threads wait for each other where all cores are busy serving.
        return covered, np.einsum("ij,j->i", self._meant, wanted)

    def _means(self, asked: Sequence[str]) -> bool:
        """Whether any word is a usual one: the pieces of zzqx are like those of something, too."""
        return self._vectors is not None and any(map(self._vectors.is_word, asked))

    def _agreement(self, action: str) -> Floats:
        """Return what an op gains for doing what is asked, and loses for writing when asked to read, or reading."""
        if not action:
            return np.zeros(len(self.ops), dtype=np.float32)
        same = (self._actions == action).astype(int)
        against = (self._writes != (action != actions.READ)).astype(int)
        return np.asarray(ACTION * (same - against), dtype=np.float32)


def _former(listed: Sequence[CatalogOp], active: Sequence[CatalogOp]) -> list[Sequence[str]]:
    """Return for each active op the names of the retired ones that it succeeds."""
    names: dict[str, list[str]] = defaultdict(list)
    for op in listed:
        if not op.is_active and op.successor:
            names[op.successor] += [op.op, op.tool_name, *op.aliases]
    return [names.get(op.op, ()) for op in active]


def _keywords(ops: Sequence[CatalogOp]) -> dict[str, list[int]]:
    """Return the places of ops by keyword: one may be a phrase of words that say nothing each, such as who am i."""
    found: dict[str, list[int]] = defaultdict(list)
    for at, op in enumerate(ops):
        for bare in {words.bare(keyword) for keyword in op.keywords}:
            found[bare].append(at)
    return dict(found)


def _directions(vectors: Vectors, read: Read, count: int) -> Floats:
    """Return the direction of each op, shape (ops, size): between all that it is about and what it says it does."""
    of_word = vectors.of([word if words.stem(word) else "" for word in read.vocabulary])
    told, beside = (_sums(of_word, read, names, count) for names in (TOLD, BESIDE))
    return (meaning.directions(told + beside) + meaning.directions(told)) / np.float32(2)


def _sums(of_word: Floats, read: Read, names: Sequence[str], count: int) -> Floats:
    """Return for each op the sum over its words in some fields, shape (ops, size)."""
    chosen = np.isin(read.field, [FIELDS.index(name) for name in names])
    word, op = read.word[chosen], read.op[chosen]
    order = np.argsort(op, kind="stable")
    word, op = word[order], op[order]
    found = np.zeros((count, of_word.shape[1]), dtype=np.float32)
    for start in range(0, count, OPS_AT_ONCE):
        end = min(start + OPS_AT_ONCE, count)
        some = slice(*np.searchsorted(op, (start, end)))
        said, at = np.unique(word[some], return_inverse=True)
        times = np.bincount((op[some] - start) * len(said) + at, minlength=(end - start) * len(said))
        found[start:end] = times.reshape(end - start, len(said)).astype(np.float32) @ of_word[said]
    return found
