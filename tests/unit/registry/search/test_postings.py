"""Postings: every text of an op in its field, and BM25F as in its paper, compared with the formula by hand."""

import math

import numpy as np
import pytest

from registry.search import postings
from registry.search.postings import LENGTH_WEIGHT, SATURATION, WEIGHTS, Postings
from tests.support.rows.op_entries import build_catalog, build_op_entry, build_schema


class Scorer:
    """Postings of ops, each a document of its own unless `documents` puts several in one."""

    def __init__(self, *ops: dict, documents: list[int] | None = None) -> None:
        catalog_ops = list(build_catalog(*ops).ops.values())
        stemmed = postings.stem_words(postings.read_op_words(catalog_ops, [[]] * len(catalog_ops)))
        document_of_op = np.array(documents if documents else range(len(catalog_ops)), dtype=np.int64)
        self.stems = stemmed.stems
        self.postings: Postings = stemmed.build_postings(document_of_op, len(set(document_of_op)))
        self.rarity = postings.compute_rarity(self.postings)

    def score(self, *stems: str) -> list[float]:
        stem_ids = [self.stems[stem] for stem in stems if stem in self.stems]
        return self.postings.score(stem_ids, self.rarity).tolist()


def test_score_is_bm25f() -> None:
    scorer = Scorer(
        build_op_entry("a.one", summary="alpha alpha beta"),
        build_op_entry("b.two", summary="gamma"),
        build_op_entry("c.three", summary="alpha beta gamma"),
    )
    usual = (3 + 1 + 3) / 3

    frequency = 2 * WEIGHTS["text"] / (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * 3 / usual)

    rarity = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    score = rarity * frequency * (SATURATION + 1) / (frequency + SATURATION)
    assert scorer.score("alpha", "nowhere")[0] == pytest.approx(score, rel=1e-5)
    assert scorer.score("alpha")[1] == 0


def test_word_weight_depends_on_its_field() -> None:
    scorer = Scorer(
        build_op_entry("x.a", tool_name="alpha", summary="one"),
        build_op_entry("x.b", tool_name="b", summary="one", aliases=["alpha"]),
        build_op_entry("x.c", tool_name="c", summary="alpha"),
        build_op_entry("x.e", tool_name="e", summary="one", notes="alpha"),
    )

    scores = scorer.score("alpha")
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == len(scores)


def test_ops_in_one_document_share_their_words() -> None:
    scorer = Scorer(
        build_op_entry("a.one", summary="alpha"),
        build_op_entry("a.two", summary="beta"),
        build_op_entry("b.three", summary="gamma"),
        documents=[0, 0, 1],
    )

    assert [score > 0 for score in scorer.score("alpha", "beta")] == [True, False]


ENTRY = build_op_entry(
    "onto.task.add",
    tool_name="addTask",
    summary="Summary\nof two lines",
    description="Described",
    notes="Noted",
    keywords=["todo", "to do"],
    aliases=["alias_one"],
    entity="entity",
    action="action",
    parameters_schema=build_schema(
        due_at={"type": "string", "description": "Deadline text", "enum": ["Soonest", 3]},
        odd=True,
    ),
    argument_aliases={"deadline": "due_at"},
    policy={"do": ["Done"], "dont": ["Undone"]},
    examples=[{"title": "Titled", "args": {}, "note": "Exemplary"}],
)


def words_by_field(ops: list[dict], former: list[list[str]]) -> list[dict[str, list[str]]]:
    read = postings.read_op_words(list(build_catalog(*ops).ops.values()), former)
    words_by_op: list[dict[str, list[str]]] = [{} for _ in ops]
    for word, at, field in zip(read.word_ids, read.op_ids, read.field_ids, strict=True):
        words_by_op[at].setdefault(postings.FIELDS[field], []).append(read.vocabulary[word])
    return words_by_op


def test_every_text_is_indexed_in_its_field() -> None:
    assert words_by_field([ENTRY], [["old_name"]]) == [
        {
            "name": ["add", "task"],
            "aliases": ["alias", "one", "old", "name"],
            "keywords": ["todo", "to", "do", "entity", "action"],
            "text": ["summary", "of", "two", "lines", "described"],
            "arguments": ["due", "at", "odd", "deadline"],
            "argument_texts": ["deadline", "text", "soonest"],
            "prose": ["task", "add", "noted", "done", "undone", "titled", "exemplary"],
        }
    ]


def test_words_belong_to_their_op_and_a_summary_that_begins_the_description_counts_once() -> None:
    first = build_op_entry("a.one", summary="First\n\none", description="First\n\none of all.")

    read = words_by_field([first, build_op_entry("b.two", summary="Second")], [[], []])

    assert [words["text"] for words in read] == [["first", "one", "of", "all"], ["second"]]
