"""The words of ops, read field by field into an inverted index that is ranked by BM25F.

Robertson, Zaragoza, Taylor: Simple BM25 extension to multiple weighted fields, CIKM 2004.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from registry.catalog.model import CatalogOp
from registry.jsonschema.dialect import Schema
from registry.search import tokenizer
from registry.search.word_vectors import Floats

# The weight of a word in each field. "vocabulary" has other words for the kind of row that an op is about. "prose" is
# the path, notes, policy and examples; it often names other ops.
WEIGHTS = {
    "name": 3.0,
    "aliases": 2.0,
    "keywords": 2.0,
    "text": 1.0,
    "vocabulary": 0.5,
    "arguments": 0.5,
    "argument_texts": 0.3,
    "prose": 0.3,
}
FIELDS = tuple(WEIGHTS)
MAX_TEXT = 4_000  # characters of a description, and of all texts on arguments, that are indexed

# Ends each text, so that all texts of a field are split in one call. A call for each takes ten times as long.
_TEXT_END = tokenizer.BREAK
SATURATION = 1.2  # k1: how soon repeated mentions of a word stop counting
LENGTH_WEIGHT = 0.75  # b: how much less a word counts in a long field
Indexes = NDArray[np.int64]


@dataclass(frozen=True)
class IndexedWords:
    """Every word of every op, in three arrays of the same length."""

    vocabulary: list[str]  # folded, not stemmed
    word_ids: NDArray[np.int64]  # index in `vocabulary`
    op_ids: NDArray[np.int64]  # index of its op
    field_ids: NDArray[np.int64]  # index of its field in FIELDS


def read_op_words(ops: Sequence[CatalogOp], former_names: Sequence[Sequence[str]]) -> IndexedWords:
    """Return the words of ops. `former_names` has further names for each op, such as those of ops it succeeds."""
    word_indexes: dict[str, int] = defaultdict(lambda: len(word_indexes))
    end_index = word_indexes[_TEXT_END]
    texts = [_list_field_texts(op, names) for op, names in zip(ops, former_names, strict=True)]
    parts = []
    for field_index, field in enumerate(FIELDS):
        field_words = tokenizer.split_words("".join(text[field].replace(_TEXT_END, " ") + _TEXT_END for text in texts))
        word = np.array([word_indexes[each] for each in field_words], dtype=np.int64)
        is_word = word != end_index
        op = np.cumsum(~is_word)[is_word]
        parts.append((word[is_word], op, np.full(len(op), field_index)))
    word, op, field_of = (np.concatenate(part) for part in zip(*parts, strict=True))
    return IndexedWords(list(word_indexes), word, op, field_of)


def _list_field_texts(op: CatalogOp, former_names: Sequence[str]) -> dict[str, str]:
    titles = (example.get(part, "") for example in op.examples for part in ("title", "note"))
    path_in_group = op.op.partition(".")[2]
    return {
        "name": op.tool_name,
        "aliases": " ".join((*op.aliases, *former_names)),
        "keywords": " ".join((*op.keywords, op.entity, op.action)),
        "text": _join_summary(op.summary, op.description),
        "vocabulary": " ".join(op.vocabulary.get_entity_words(op.entity)),
        "arguments": " ".join((*op.arguments, *op.argument_aliases)),
        "argument_texts": " ".join(_iter_argument_texts(op))[:MAX_TEXT],
        "prose": " ".join(
            (path_in_group, op.notes, *(rule for rules in op.policy.values() for rule in rules), *titles)
        ),
    }


def _join_summary(summary: str, description: str) -> str:
    """Return both texts. The summary of an imported op often is the beginning of its description."""
    text = description[:MAX_TEXT]
    return text if text.startswith(summary) else f"{summary} {text}"


def _iter_argument_texts(op: CatalogOp) -> Iterator[str]:
    """Yield the descriptions and the values in words of the arguments."""
    for schema in op.arguments.values():
        if isinstance(schema, dict):
            yield from _iter_schema_texts(schema)


def _iter_schema_texts(schema: Schema) -> Iterator[str]:
    yield str(schema.get("description", ""))
    values = schema.get("enum", ())
    if isinstance(values, list):
        yield from (value for value in values if isinstance(value, str))


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
