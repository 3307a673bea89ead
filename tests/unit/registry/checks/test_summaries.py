"""Summaries are short, and similar ones are found quickly among thousands."""

from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.checks import single_op
from registry.checks.context import MIN_SIMILARITY as BOUND
from registry.checks.context import SummaryIndex, extract_words
from tests.support.growth import assert_linear
from tests.support.rows.check_findings import build_check_context
from tests.support.rows.op_entries import build_op_entry


@pytest.mark.parametrize(
    ("summary", "message"),
    [
        ("word " * 13, "13 words; the limit is 12."),
        ("x" * 201, "201 characters; the limit is 200."),
        ("word " * 12, None),
    ],
)
def test_summary_is_one_short_line(summary: str, message: str | None) -> None:
    entry = build_op_entry("a.b", summary=summary)

    findings = list(single_op.check_summary(entry, build_check_context(entry)))

    assert [finding.message for finding in findings] == ([message] if message else [])
    assert all("For example: “" in finding.fix for finding in findings)


ALIKE = [
    ("Retrieve statistics of a football player", "Retrieve the statistic of football players"),
    ("Add a product to the store", "Adding products to a store"),
    ("获取天气", "获取天气"),
]
APART = [
    ("Get one task with all its fields", "Get one goal with all its fields"),
    ("Check in a guest", "Check out a guest"),
    ("List signed contracts of sales", "List draft contracts of sales"),
    ("List tasks", "List archived tasks"),
]


@pytest.mark.parametrize(
    ("one", "other", "alike"), [(*pair, True) for pair in ALIKE] + [(*pair, False) for pair in APART]
)
def test_summaries_are_similar_when_their_distinctive_words_are(one: str, other: str, alike: bool) -> None:
    others = [build_op_entry(f"b.{number}", summary=f"Guests and tasks of goal {number}") for number in range(5)]
    everything = build_check_context(
        build_op_entry("a.one", summary=one), build_op_entry("a.other", summary=other), *others
    )

    findings = list(single_op.check_summary(everything.ops["a.one"], everything))

    assert [finding.rule for finding in findings] == ["summary_like_another"] * alike
    assert all("the same as that of a.other." in finding.message and other in finding.fix for finding in findings)


def test_edited_summary_is_not_compared_with_its_old_version() -> None:
    everything = build_check_context(
        build_op_entry("a.b", summary="Send an alert"), build_op_entry("a.c", summary="Read the news")
    )

    assert list(single_op.check_summary(build_op_entry("a.b", summary="Send the alerts"), everything)) == []
    assert [
        finding.rule for finding in single_op.check_summary(build_op_entry("a.b", summary="Read news"), everything)
    ] == ["summary_like_another"]
    assert [
        finding.rule for finding in single_op.check_summary(build_op_entry("a.new", summary="Read news"), everything)
    ] == ["summary_like_another"]


def test_similar_summaries_of_active_ops_are_counted() -> None:
    entries = [build_op_entry(f"a.x{number}", summary="Send it away") for number in range(5)]
    entries[4]["status"] = "retired"
    everything = build_check_context(*entries)

    (finding,) = single_op.check_summary(everything.ops["a.x1"], everything)

    assert finding.message == "The summary is almost the same as that of a.x0 and 2 more."
    assert list(single_op.check_summary(everything.ops["a.x4"], everything)) == []
    assert SummaryIndex({}).find_similar("a.b", "Add one") == []


WORDS = st.lists(
    st.sampled_from(["list", "get", "task", "goal", "plan", "rare", "open", "sales", "in", "out"]),
    min_size=1,
    max_size=7,
)


@given(st.lists(WORDS, min_size=2, max_size=30))
def test_similarity_index_agrees_with_comparing_all_pairs(word_lists: list[list[str]]) -> None:
    summaries = {f"a.{number}": " ".join(listed) for number, listed in enumerate(word_lists)}
    sets = {path: extract_words(summary) for path, summary in summaries.items()}
    weights = {
        word: log(1 + len(sets) / sum(word in each for each in sets.values())) for word in set().union(*sets.values())
    }
    index = SummaryIndex(summaries)

    def sum_weights(listed: frozenset[str]) -> float:
        return sum(weights[word] for word in listed)

    for path, own in sets.items():
        likeness = {
            other: sum_weights(own & each) / sum_weights(own | each)
            for other, each in sets.items()
            if other != path and own
        }
        certain = {other for other in likeness if likeness[other] > BOUND + 1e-9}
        possible = {other for other in likeness if likeness[other] > BOUND - 1e-9}
        assert certain <= set(index.find_similar(path, summaries[path])) <= possible


@pytest.mark.parametrize("summary", ["List users of the team", "List users of the team in the company named x{}"])
def test_summaries_that_are_nearly_the_same_are_found_in_linear_time(summary: str) -> None:
    def find_all(all_summaries: dict[str, str]) -> None:
        index = SummaryIndex(all_summaries)
        for path, text in all_summaries.items():
            index.find_similar(path, text)

    assert_linear(find_all, lambda size: {f"a{at}": summary.format(at) for at in range(size)}, size=2_000)
