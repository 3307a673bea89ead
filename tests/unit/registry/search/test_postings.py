"""Postings: BM25F as its paper has it, held against the formula computed by hand."""

import math

import pytest

from registry.search import fields, postings
from registry.search.fields import WEIGHTS
from registry.search.postings import LENGTH_WEIGHT, SATURATION
from tests.support.op_entries import catalog, op


def built(*ops: dict) -> postings.Postings:
    found = list(catalog(*ops).ops.values())
    return postings.build_postings(fields.read_op_words(found, [[]] * len(found)), len(found))


def test_covered_is_bm25f() -> None:
    found = built(
        op("a.one", summary="alpha alpha beta"), op("b.two", summary="gamma"), op("c.three", summary="alpha beta gamma")
    )
    usual = (3 + 1 + 3) / 3

    frequency = 2 * WEIGHTS["summary"] / (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * 3 / usual)

    rare = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    unknown = math.log(1 + 3.5 / 0.5)
    share = rare * frequency / (frequency + SATURATION) / (rare + unknown)
    assert found.score_coverage(["alpha", "nowhere", "alpha"])[0] == pytest.approx(share, rel=1e-5)
    assert found.score_coverage(["alpha"])[1] == 0


def test_a_word_counts_by_where_it_stands() -> None:
    found = built(
        op("x.alpha", summary="one"),
        op("x.b", summary="one", aliases=["alpha"]),
        op("x.c", summary="alpha"),
        op("x.d", summary="one", description="alpha"),
        op("x.e", summary="one", notes="alpha"),
    )

    scores = list(found.score_coverage(["alpha"]))
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == len(scores)


def test_path_and_tool_name_say_a_word_once() -> None:
    found = built(op("x.alpha", tool_name="alpha_one"), op("y.alpha", tool_name="two_three"))

    twice, once = found.score_coverage(["alpha"])
    assert twice == once


def test_a_rare_word_covers_more_than_a_common_one() -> None:
    found = built(*(op(f"g{at}.x", summary="common" if at else "common rare") for at in range(5)))

    assert found.score_coverage(["rare", "common"])[1] < 0.2


@pytest.mark.parametrize("stems", [[], ["nowhere"]])
def test_nothing_is_covered_of_nothing_known(stems: list[str]) -> None:
    assert built(op("a.one"), op("b.two")).score_coverage(stems).tolist() == [0, 0]


def test_no_ops_have_postings_too() -> None:
    assert built().score_coverage(["alpha"]).tolist() == []
