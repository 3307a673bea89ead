"""Index the ops of one catalog, and rank them for a request by words, meaning and action."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import islice

import numpy as np

from registry.catalog.model import CatalogOp
from registry.search import embeddings, fields, intent, postings, tokenizer
from registry.search.embeddings import Floats, WordVectors
from registry.search.fields import FIELDS, IndexedWords
from registry.search.spelling import Speller

MAX_REQUEST = 1_000  # characters of a request; the rest is ignored
MAX_SHORT_REQUEST = 3  # significant words; a longer request is a sentence
MAX_CLAUSES = 4  # clauses of a request that are scored separately

# Weights relative to word coverage (0 to 1). Tuned on the development set of benchmarks/search.py.
MEANING_WEIGHT = 1.2
CLAUSE_WEIGHT = 0.2
ACTION_WEIGHT = 0.03
KEYWORD_WEIGHT = 0.5  # a request that equals one of an op's keywords
MIN_COSINE = 0.2  # least cosine at which an op without any word of the request still matches

_DIGIT = re.compile("[0-9]")

DESCRIPTIVE_FIELDS = ("summary", "description")
CONTEXT_FIELDS = ("name", "aliases", "keywords", "arguments")
OPS_PER_PRODUCT = 250  # ops per matrix product; more would briefly use many MB


class SearchIndex:
    """The active ops of a catalog with their words, vectors and actions. A retired op's names find its successor."""

    def __init__(self, ops: Iterable[CatalogOp]) -> None:
        all_ops = list(ops)
        self.ops = [op for op in all_ops if op.is_active]
        self.paths = [op.op for op in self.ops]
        indexed_words = fields.read_op_words(self.ops, _list_former_names(all_ops, self.ops))
        self._postings = postings.build_postings(indexed_words, len(self.ops))
        self._vocabulary = frozenset(indexed_words.vocabulary)
        self._speller = Speller(indexed_words.vocabulary)
        self._vectors = embeddings.load_vectors()
        self._op_vectors = _compute_op_vectors(self._vectors, indexed_words, len(self.ops)) if self._vectors else None
        self._keywords = _index_keywords(self.ops)
        self._actions = np.array([intent.detect_op_action(op) for op in self.ops])
        self._writes = np.array([op.is_write for op in self.ops], dtype=bool)

    def rank(self, request: str) -> list[str]:
        """Return the paths of the ops that match a request, best first."""
        text = tokenizer.extract_request(request[:MAX_REQUEST])
        request_words = self._select_words(text)
        coverage, cosines = self._score(request_words)
        scores = coverage + MEANING_WEIGHT * cosines
        commands = self._split_commands(text)
        if commands:
            command_scores = [self._score(command) for command in commands]
            scores += CLAUSE_WEIGHT * np.max(
                [
                    command_coverage + MEANING_WEIGHT * command_cosines
                    for command_coverage, command_cosines in command_scores
                ],
                axis=0,
            )
        scores += self._score_actions(intent.detect_request_action(commands[0] if commands else request_words))
        keyword_matches = self._keywords.get(tokenizer.normalise_name(request), [])
        scores[keyword_matches] += KEYWORD_WEIGHT
        coverage[keyword_matches] = 1
        matches = np.flatnonzero(
            (coverage > 0) | (cosines >= MIN_COSINE if self._has_known_word(request_words) else False)
        )
        return [self.paths[match] for match in matches[np.argsort(-scores[matches], kind="stable")]]

    def _split_commands(self, text: str) -> list[list[str]]:
        """Return the words of each clause that begins with a verb. Other clauses only count in the whole request."""
        commands = (
            clause
            for clause in tokenizer.split_clauses(text)
            if intent.detect_request_action(tokenizer.split_words(clause)[:1])
        )
        return [self._select_words(command) for command in islice(commands, MAX_CLAUSES)]

    def _select_words(self, text: str) -> list[str]:
        """Return the significant words of a text, with typos corrected, without ids and other values."""
        telling_words = [word for word in tokenizer.split_words(text) if tokenizer.stem(word)]
        wordlike = [
            word for word in telling_words if word in self._vocabulary or not _DIGIT.search(word)
        ] or telling_words
        # Without vectors, ordinary words look like typos. A long request has many that are in no op.
        return (
            [self._correct_spelling(word) for word in wordlike]
            if self._vectors or len(wordlike) <= MAX_SHORT_REQUEST
            else wordlike
        )

    def _correct_spelling(self, word: str) -> str:
        if word in self._vocabulary or tokenizer.stem(word) in self._postings.stems:
            return word
        if self._vectors and self._vectors.is_word(word):
            return word
        return self._speller.suggest(word) or word

    def _score(self, request_words: Sequence[str]) -> tuple[Floats, Floats]:
        """Return (share of the words that each op has, cosine of its vector to theirs), each of shape (ops,)."""
        coverage = self._postings.score_coverage(map(tokenizer.stem, request_words))
        if self._vectors is None or self._op_vectors is None or not request_words:
            return coverage, np.zeros_like(coverage)
        request_vector = embeddings.scale_to_unit_length(
            self._vectors.embed_words(request_words).sum(axis=0, keepdims=True)
        )[0]
        # Not with BLAS: its threads wait for each other when all cores are busy.
        return coverage, np.einsum("ij,j->i", self._op_vectors, request_vector)

    def _has_known_word(self, request_words: Sequence[str]) -> bool:
        """Return whether any word is a known one. Vectors of nonsense such as zzqx are close to something, too."""
        return self._vectors is not None and any(map(self._vectors.is_word, request_words))

    def _score_actions(self, action: str) -> Floats:
        """Return a bonus for ops with the action, a penalty for a write instead of a read or the reverse."""
        if not action:
            return np.zeros(len(self.ops), dtype=np.float32)
        is_same_action = (self._actions == action).astype(int)
        is_other_kind = (self._writes != (action != intent.READ)).astype(int)
        return np.asarray(ACTION_WEIGHT * (is_same_action - is_other_kind), dtype=np.float32)


def _list_former_names(all_ops: Sequence[CatalogOp], active: Sequence[CatalogOp]) -> list[Sequence[str]]:
    """Return for each active op the names of the retired ops that it succeeds."""
    names: dict[str, list[str]] = defaultdict(list)
    for op in all_ops:
        if not op.is_active and op.successor:
            names[op.successor] += [op.op, op.tool_name, *op.aliases]
    return [names.get(op.op, ()) for op in active]


def _index_keywords(ops: Sequence[CatalogOp]) -> dict[str, list[int]]:
    """Return {keyword: op indexes}. A keyword may consist of stop words only, such as who am i."""
    places: dict[str, list[int]] = defaultdict(list)
    for op_index, op in enumerate(ops):
        for normalised in {tokenizer.normalise_name(keyword) for keyword in op.keywords}:
            places[normalised].append(op_index)
    return dict(places)


def _compute_op_vectors(vectors: WordVectors, indexed_words: IndexedWords, count: int) -> Floats:
    """Return the unit vector of each op, shape (ops, size): between its whole text and its descriptive fields."""
    word_vectors = vectors.embed_words([word if tokenizer.stem(word) else "" for word in indexed_words.vocabulary])
    descriptive_sum, context_sum = (
        _sum_vectors(word_vectors, indexed_words, names, count) for names in (DESCRIPTIVE_FIELDS, CONTEXT_FIELDS)
    )
    return (
        embeddings.scale_to_unit_length(descriptive_sum + context_sum)
        + embeddings.scale_to_unit_length(descriptive_sum)
    ) / np.float32(2)


def _sum_vectors(word_vectors: Floats, indexed_words: IndexedWords, names: Sequence[str], count: int) -> Floats:
    """Return for each op the sum of the vectors of its words in some fields, shape (ops, size)."""
    chosen = np.isin(indexed_words.field_ids, [FIELDS.index(name) for name in names])
    word, op = indexed_words.word_ids[chosen], indexed_words.op_ids[chosen]
    order = np.argsort(op, kind="stable")
    word, op = word[order], op[order]
    sums = np.zeros((count, word_vectors.shape[1]), dtype=np.float32)
    for start in range(0, count, OPS_PER_PRODUCT):
        end = min(start + OPS_PER_PRODUCT, count)
        batch = slice(*np.searchsorted(op, (start, end)))
        word_ids, positions = np.unique(word[batch], return_inverse=True)
        times = np.bincount((op[batch] - start) * len(word_ids) + positions, minlength=(end - start) * len(word_ids))
        sums[start:end] = times.reshape(end - start, len(word_ids)).astype(np.float32) @ word_vectors[word_ids]
    return sums
