"""Index the ops of one catalog, and rank them for a request by words, meaning and action."""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import OSA

from registry.catalog.model import CatalogOp
from registry.search import embeddings_endpoint, intent, postings, request_intent, tokenizer, word_vectors
from registry.search.action_ranking import ActionRanker
from registry.search.op_embeddings import OpEmbeddings
from registry.search.postings import FIELDS, IndexedWords
from registry.search.service_ranking import ServiceRanker
from registry.search.word_vectors import Floats, WordVectors

MIN_LETTERS = 4  # letters; a typo in a shorter word often makes another word
TWO_TYPO_LETTERS = 8  # letters from which two typos are allowed
MAX_REQUEST = 1_000  # characters of a request; the rest is ignored
MAX_SHORT_REQUEST = 3  # significant words; a longer request is a sentence
MAX_CLAUSES = 8  # clauses of a request that vote

# How an op's score is put together. Chosen on public sets of tools by leaving one set out (docs/adr/0011).
OWN_WEIGHT = 0.75  # words of the op itself
FAMILY_WEIGHT = 0.25  # words of its siblings
WORDS_SCALE = 5  # brings the sum of the words to the size of a cosine
VOTE_WEIGHT = 0.3
VOTE_SHARPNESS = 12
HEAD_WEIGHT = 0.1  # the beginning of a request of one clause, without what follows its first preposition
KEYWORD_WEIGHT = 1  # a request that equals one of an op's keywords
PHRASE_WEIGHT = 0.15  # for each word but the first of a keyword that is part of a request
NEAREST_OPS = 8  # ops with the highest cosines from the embeddings endpoint, which may match without any word
MIN_STANDOUT = 0.2  # the least distance of such an op's cosine from the mean of all ops, as a share of the way to 1
MIN_COSINE = 0.2  # least cosine at which an op without any word of the request still matches

MIN_CLEAR_SCORE = 0.4  # of the best op by words and static vectors; what scores less is usually a coincidence
_DIGIT = re.compile("[0-9]")
_ID = re.compile(r"\bids?\b", re.IGNORECASE)  # a request that has an id needs no op that finds it
VECTOR_FIELDS = ("name", "aliases", "keywords", "text")
OPS_PER_PRODUCT = 250  # ops per matrix product; more would briefly use many MB


class Speller:
    """The words of an index by their first letter, which is rarely mistyped."""

    def __init__(self, vocabulary: Iterable[str]) -> None:
        self._words: dict[str, list[str]] = defaultdict(list)
        for word in vocabulary:
            if len(word) >= MIN_LETTERS and word.isalpha():
                self._words[word[0]].append(word)

    def suggest(self, word: str) -> str | None:
        """Return the nearest word within one or two typos: a wrong, missing, extra or swapped letter."""
        if len(word) < MIN_LETTERS or not word.isalpha():
            return None
        max_typos = 2 if len(word) >= TWO_TYPO_LETTERS else 1
        match = process.extractOne(word, self._words.get(word[0], ()), scorer=OSA.distance, score_cutoff=max_typos)
        return match[0] if match else None


@dataclass(frozen=True, slots=True)
class Ranking:
    """The ops that match a request, best first, each with its score as a share of the best one's."""

    shares: dict[str, float]  # by path
    is_clear: bool  # whether the best op is likely to be meant, and not only the nearest one


class SearchIndex:
    """The active ops of a catalog with their words, vectors and actions. A retired op's names find its successor."""

    def __init__(self, ops: Iterable[CatalogOp]) -> None:
        all_ops = list(ops)
        self.ops = [op for op in all_ops if op.is_active]
        self.paths = [op.op for op in self.ops]
        count = len(self.ops)
        indexed_words = postings.read_op_words(self.ops, _list_former_names(all_ops, self.ops))
        stemmed_words = postings.stem_words(indexed_words)
        self._family_of_op, family_count = intent.number_families(self.ops)
        self._stems = stemmed_words.stems
        self._own_words = stemmed_words.build_postings(np.arange(count), count)
        self._family_words = stemmed_words.build_postings(self._family_of_op, family_count)
        self._rarity = postings.compute_rarity(self._own_words)
        self._lookups = intent.IdLookups(self.ops)
        self._vocabulary = frozenset(indexed_words.vocabulary)
        self._speller = Speller(indexed_words.vocabulary)
        self._vectors = word_vectors.load_vectors()
        self._op_vectors = _compute_op_vectors(self._vectors, indexed_words, count) if self._vectors else None
        self.embeddings = OpEmbeddings(self.ops)
        self._keywords = _index_keywords(self.ops)
        self._phrases = _index_phrases(self.ops)
        self._phrase_lengths = sorted({len(phrase) for phrase in self._phrases})
        self._summaries = frozenset(tokenizer.normalise_name(op.summary) for op in self.ops)
        self._action_ranker = ActionRanker(self.ops)
        self._service_ranker = ServiceRanker(self.ops, indexed_words)

    def rank(self, request: str, *, use_endpoint: bool = True) -> Ranking:
        """Return the ops that match a request. An op's summary needs no endpoint to match."""
        name = tokenizer.normalise_name(request)
        text = tokenizer.extract_request(request[:MAX_REQUEST])
        request_words = self._select_words(text)
        own, word_scores = self._score_words(request_words)
        cosines = self._compute_cosines(request_words)
        clauses = tokenizer.split_clauses(text)[:MAX_CLAUSES]
        heads = request_intent.find_heads(text)[:MAX_CLAUSES]
        phrases = self._score_phrases(text)
        head_scores, votes = self._score_parts(clauses, heads)
        scores = word_scores + cosines + VOTE_WEIGHT * votes + HEAD_WEIGHT * head_scores + phrases
        needs_endpoint = use_endpoint and name not in self._summaries
        best_score = float(scores.max(initial=0))  # embeddings of each model have another range
        embedding_cosines = self._compute_embedding_cosines(request if needs_endpoint else "")
        standouts = _find_standouts(embedding_cosines, NEAREST_OPS)
        scores += embedding_cosines
        self._action_ranker.lower_scores(scores, request_intent.detect_intent(text))
        matches = (own > 0) | (phrases > 0) | (cosines >= MIN_COSINE if self._has_known_word(request_words) else False)
        has_match = bool(matches.any())
        matches[standouts] = True
        if not _ID.search(request):
            # If the request is about the catalog, an op that does not match may still say what is needed first.
            candidates = np.ones_like(matches) if has_match else matches
            matches[self._lookups.raise_scores(scores, candidates)] = True
        keyword_matches = self._keywords.get(name, [])
        scores[keyword_matches] += KEYWORD_WEIGHT
        matches[keyword_matches] = True
        self._service_ranker.raise_scores(scores, request)
        found = np.flatnonzero(matches)
        found = found[np.argsort(-scores[found], kind="stable")]
        is_clear = best_score >= MIN_CLEAR_SCORE or bool(len(standouts)) or bool(keyword_matches)
        shares = scores[found] / max(float(scores[found].max(initial=0)), 1e-6)
        return Ranking(dict(zip([self.paths[each] for each in found], shares.tolist(), strict=True)), is_clear)

    def _score_parts(self, clauses: Sequence[str], heads: Sequence[str]) -> tuple[Floats, Floats]:
        """Return (score of each op for the head of a request of one clause, highest share of a part's vote).

        Each clause and each head shares one vote among all ops.
        """
        best = np.zeros(len(self.ops), dtype=np.float32)
        votes = np.zeros(len(self.ops), dtype=np.float32)
        for part in (*clauses, *heads):
            part_words = self._select_words(part)
            scores = self._score_words(part_words)[1] + self._compute_cosines(part_words)
            if part in heads and not clauses:
                np.maximum(best, scores, out=best)
            weights = np.exp(VOTE_SHARPNESS * (scores - scores.max(initial=0)))
            np.maximum(votes, weights / weights.sum(), out=votes)
        return best, votes

    def _score_phrases(self, text: str) -> Floats:
        """Return for each op the bonus of its longest keyword of several words that is part of the text.

        Such a keyword says more than its words: in "what could go wrong", only "wrong" is not a stop word.
        """
        scores = np.zeros(len(self.ops), dtype=np.float32)
        stems = _stem_phrase(text) if self._phrases else ()
        for length in self._phrase_lengths:  # rising, so that the longest one counts
            for start in range(len(stems) - length + 1):
                scores[self._phrases.get(stems[start : start + length], [])] = PHRASE_WEIGHT * (length - 1)
        return scores

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
        if word in self._vocabulary or tokenizer.stem(word) in self._stems:
            return word
        if self._vectors and self._vectors.is_word(word):
            return word
        return self._speller.suggest(word) or word

    def _score_words(self, request_words: Sequence[str]) -> tuple[Floats, Floats]:
        """Return (score of each op by its own words, score by its own and its family's), each of shape (ops,)."""
        stems = dict.fromkeys(map(tokenizer.stem, request_words))
        stem_ids = [self._stems[stem] for stem in stems if stem in self._stems]
        own = self._own_words.score(stem_ids, self._rarity)
        family = self._family_words.score(stem_ids, self._rarity)[self._family_of_op]
        unknown_rarity = (len(stems) - len(stem_ids)) * postings.compute_unknown_rarity(len(self.ops))
        size = WORDS_SCALE * math.sqrt(float(self._rarity[stem_ids].sum()) + unknown_rarity)
        scores = (OWN_WEIGHT * own + FAMILY_WEIGHT * family) / (size or 1)
        return own, scores.astype(np.float32)

    def _compute_cosines(self, request_words: Sequence[str]) -> Floats:
        """Return the cosine of each op's vector to that of the words, shape (ops,)."""
        if self._vectors is None or self._op_vectors is None or not request_words:
            return np.zeros(len(self.ops), dtype=np.float32)
        request_vector = word_vectors.scale_to_unit_length(
            self._vectors.embed_words(request_words).sum(axis=0, keepdims=True)
        )[0]
        # Not with BLAS: its threads wait for each other when all cores are busy.
        cosines: Floats = np.einsum("ij,j->i", self._op_vectors, request_vector)
        return cosines

    def _compute_embedding_cosines(self, request: str) -> Floats:
        """Return the cosine of each op's embedding to the request's; zeros if one of them is missing."""
        no_cosines = np.zeros(len(self.ops), dtype=np.float32)
        op_vectors = self.embeddings.vectors
        if op_vectors is None or not request:
            return no_cosines
        request_vector = embeddings_endpoint.embed_request(request[:MAX_REQUEST], size=op_vectors.shape[1])
        if request_vector is None:
            return no_cosines
        if op_vectors.shape[1:] != request_vector.shape:
            self.embeddings.change_size(len(request_vector))
            return no_cosines
        cosines: Floats = np.einsum("ij,j->i", op_vectors, request_vector)
        return cosines

    def _has_known_word(self, request_words: Sequence[str]) -> bool:
        """Return whether any word is a known one. Vectors of nonsense such as zzqx are also close to something."""
        return self._vectors is not None and any(map(self._vectors.is_word, request_words))


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


def _index_phrases(ops: Sequence[CatalogOp]) -> dict[tuple[str, ...], list[int]]:
    """Return {keyword of several words, as stems: op indexes}."""
    places: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for op_index, op in enumerate(ops):
        for keyword in op.keywords:
            if len(phrase := _stem_phrase(keyword)) > 1:
                places[phrase].append(op_index)
    return dict(places)


def _stem_phrase(text: str) -> tuple[str, ...]:
    """Return the words of a text as stems, with stop words as they are."""
    return tuple(tokenizer.stem(word) or word for word in tokenizer.split_words(text))


def _find_standouts(cosines: Floats, count: int) -> NDArray[np.intp]:
    """Return the indexes of the highest cosines that stand out from the mean.

    Each model has its own range: cosines to unrelated texts are around 0 for one and around 0.8 for another.
    """
    mean = float(cosines.sum()) / max(len(cosines), 1)
    highest: NDArray[np.intp] = np.argsort(-cosines, kind="stable")[:count]
    return highest[cosines[highest] >= mean + MIN_STANDOUT * (1 - mean)]


def _compute_op_vectors(vectors: WordVectors, indexed_words: IndexedWords, count: int) -> Floats:
    """Return the unit vector of each op, shape (ops, size): the sum of the vectors of its telling words."""
    vector_of_word = vectors.embed_words([word if tokenizer.stem(word) else "" for word in indexed_words.vocabulary])
    chosen = np.isin(indexed_words.field_ids, [FIELDS.index(name) for name in VECTOR_FIELDS])
    word, op = indexed_words.word_ids[chosen], indexed_words.op_ids[chosen]
    order = np.argsort(op, kind="stable")
    word, op = word[order], op[order]
    sums = np.zeros((count, vector_of_word.shape[1]), dtype=np.float32)
    for start in range(0, count, OPS_PER_PRODUCT):
        end = min(start + OPS_PER_PRODUCT, count)
        batch = slice(*np.searchsorted(op, (start, end)))
        word_ids, positions = np.unique(word[batch], return_inverse=True)
        times = np.bincount((op[batch] - start) * len(word_ids) + positions, minlength=(end - start) * len(word_ids))
        sums[start:end] = times.reshape(end - start, len(word_ids)).astype(np.float32) @ vector_of_word[word_ids]
    return word_vectors.scale_to_unit_length(sums)
