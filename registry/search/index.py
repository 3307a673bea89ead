"""Index the ops of one catalog, and rank them for a request by words, meaning and action."""

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

LONGEST = 1_000  # characters of a request; the rest is ignored
BRIEF = 3  # significant words; a longer request is a sentence
CLAUSES = 4  # clauses of a request that are scored separately

# Weights relative to word coverage (0 to 1). Tuned on the development set of benchmarks/search.py.
MEANING = 1.2
CLAUSE = 0.2
ACTION = 0.03
KEYWORD = 0.5  # a request that equals one of an op's keywords
FITS = 0.2  # least cosine at which an op without any word of the request still matches

_DIGIT = re.compile("[0-9]")

TOLD = ("summary", "description")
BESIDE = ("name", "aliases", "keywords", "arguments")
OPS_AT_ONCE = 250  # ops per matrix product; more would briefly use many MB


class Index:
    """The active ops of a catalog with their words, vectors and actions. A retired op's names find its successor."""

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
        """Return the paths of the ops that match a request, best first."""
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
        """Return the words of each clause that begins with a verb. Other clauses only count in the whole request."""
        orders = (clause for clause in words.clauses(text) if actions.of_request(words.split(clause)[:1]))
        return [self._asked(order) for order in islice(orders, CLAUSES)]

    def _asked(self, text: str) -> list[str]:
        """Return the significant words of a text, with typos corrected, without ids and other values."""
        said = [word for word in words.split(text) if words.stem(word)]
        kept = [word for word in said if word in self._known or not _DIGIT.search(word)] or said
        # Without vectors, ordinary words look like typos. A long request has many that are in no op.
        return [self._mended(word) for word in kept] if self._vectors or len(kept) <= BRIEF else kept

    def _mended(self, word: str) -> str:
        if word in self._known or words.stem(word) in self._postings.stems:
            return word
        if self._vectors and self._vectors.is_word(word):
            return word
        return self._speller.meant(word) or word

    def _fit(self, asked: Sequence[str]) -> tuple[Floats, Floats]:
        """Return (share of the words that each op has, cosine of its vector to theirs), each of shape (ops,)."""
        covered = self._postings.covered(map(words.stem, asked))
        if self._vectors is None or self._meant is None or not asked:
            return covered, np.zeros_like(covered)
        wanted = meaning.directions(self._vectors.of(asked).sum(axis=0, keepdims=True))[0]
        # Not with BLAS: its threads wait for each other when all cores are busy.
        return covered, np.einsum("ij,j->i", self._meant, wanted)

    def _means(self, asked: Sequence[str]) -> bool:
        """Return whether any word is a known one. Vectors of nonsense such as zzqx are close to something, too."""
        return self._vectors is not None and any(map(self._vectors.is_word, asked))

    def _agreement(self, action: str) -> Floats:
        """Return a bonus for ops with the action, a penalty for a write instead of a read or the reverse."""
        if not action:
            return np.zeros(len(self.ops), dtype=np.float32)
        same = (self._actions == action).astype(int)
        against = (self._writes != (action != actions.READ)).astype(int)
        return np.asarray(ACTION * (same - against), dtype=np.float32)


def _former(listed: Sequence[CatalogOp], active: Sequence[CatalogOp]) -> list[Sequence[str]]:
    """Return for each active op the names of the retired ops that it succeeds."""
    names: dict[str, list[str]] = defaultdict(list)
    for op in listed:
        if not op.is_active and op.successor:
            names[op.successor] += [op.op, op.tool_name, *op.aliases]
    return [names.get(op.op, ()) for op in active]


def _keywords(ops: Sequence[CatalogOp]) -> dict[str, list[int]]:
    """Return {keyword: op indexes}. A keyword may consist of stop words only, such as who am i."""
    found: dict[str, list[int]] = defaultdict(list)
    for at, op in enumerate(ops):
        for bare in {words.bare(keyword) for keyword in op.keywords}:
            found[bare].append(at)
    return dict(found)


def _directions(vectors: Vectors, read: Read, count: int) -> Floats:
    """Return the unit vector of each op, shape (ops, size): between its whole text and its descriptive fields."""
    of_word = vectors.of([word if words.stem(word) else "" for word in read.vocabulary])
    told, beside = (_sums(of_word, read, names, count) for names in (TOLD, BESIDE))
    return (meaning.directions(told + beside) + meaning.directions(told)) / np.float32(2)


def _sums(of_word: Floats, read: Read, names: Sequence[str], count: int) -> Floats:
    """Return for each op the sum of the vectors of its words in some fields, shape (ops, size)."""
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
