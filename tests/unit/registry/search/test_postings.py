"""Postings: BM25F as in its paper, compared with the formula computed by hand."""

import math

import pytest

from registry.search import fields, postings
from registry.search.fields import WEIGHTS
from registry.search.postings import LENGTH_WEIGHT, SATURATION
from tests.support.op_entries import build_catalog, build_op_entry


def build(*ops: dict) -> postings.Postings:
    catalog_ops = list(build_catalog(*ops).ops.values())
    return postings.build_postings(fields.read_op_words(catalog_ops, [[]] * len(catalog_ops)), len(catalog_ops))


def test_covered_is_bm25f() -> None:
    index = build(
        build_op_entry("a.one", summary="alpha alpha beta"),
        build_op_entry("b.two", summary="gamma"),
        build_op_entry("c.three", summary="alpha beta gamma"),
    )
    usual = (3 + 1 + 3) / 3

    frequency = 2 * WEIGHTS["summary"] / (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * 3 / usual)

    rare = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    unknown = math.log(1 + 3.5 / 0.5)
    share = rare * frequency / (frequency + SATURATION) / (rare + unknown)
    assert index.score_coverage(["alpha", "nowhere", "alpha"])[0] == pytest.approx(share, rel=1e-5)
    assert index.score_coverage(["alpha"])[1] == 0


def test_word_weight_depends_on_its_field() -> None:
    index = build(
        build_op_entry("x.alpha", summary="one"),
        build_op_entry("x.b", summary="one", aliases=["alpha"]),
        build_op_entry("x.c", summary="alpha"),
        build_op_entry("x.d", summary="one", description="alpha"),
        build_op_entry("x.e", summary="one", notes="alpha"),
    )

    scores = list(index.score_coverage(["alpha"]))
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == len(scores)


def test_word_in_path_and_tool_name_counts_once() -> None:
    index = build(build_op_entry("x.alpha", tool_name="alpha_one"), build_op_entry("y.alpha", tool_name="two_three"))

    twice, once = index.score_coverage(["alpha"])
    assert twice == once


def test_rare_word_weighs_more_than_a_common_one() -> None:
    index = build(*(build_op_entry(f"g{at}.x", summary="common" if at else "common rare") for at in range(5)))

    assert index.score_coverage(["rare", "common"])[1] < 0.2


@pytest.mark.parametrize("stems", [[], ["nowhere"]])
def test_unknown_words_cover_nothing(stems: list[str]) -> None:
    assert build(build_op_entry("a.one"), build_op_entry("b.two")).score_coverage(stems).tolist() == [0, 0]


def test_postings_of_no_ops_are_empty() -> None:
    assert build().score_coverage(["alpha"]).tolist() == []
