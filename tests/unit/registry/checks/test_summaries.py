"""Summaries: short, and told apart among thousands in time."""

from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import synthetic
from registry.checks import summaries
from registry.checks.context import CheckContext
from registry.checks.similarity import MIN_SIMILARITY as BOUND
from registry.checks.similarity import SummaryIndex, extract_words
from tests.support.check_findings import context
from tests.support.cpu_budget import within
from tests.support.op_entries import op


@pytest.mark.parametrize(
    ("summary", "message"),
    [
        ("word " * 13, "13 words, 65 characters; the limits are 12 and 200."),
        ("x" * 201, "1 words, 201 characters; the limits are 12 and 200."),
        ("word " * 12, None),
    ],
)
def test_a_summary_is_one_short_line(summary: str, message: str | None) -> None:
    entry = op("a.b", summary=summary)

    found = list(summaries.check(entry, context(entry)))

    assert [finding.message for finding in found] == ([message] if message else [])
    assert all("For example: “" in finding.fix for finding in found)


def test_the_first_op_of_all_is_like_no_other() -> None:
    assert SummaryIndex({}).find_similar("a.b", "Add one") == []


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
def test_summaries_are_alike_when_the_words_that_tell_ops_apart_are(one: str, other: str, alike: bool) -> None:
    others = [op(f"b.{number}", summary=f"Guests and tasks of goal {number}") for number in range(5)]
    everything = context(op("a.one", summary=one), op("a.other", summary=other), *others)

    found = list(summaries.check(everything.ops["a.one"], everything))

    assert [finding.rule for finding in found] == ["summary_like_another"] * alike
    assert all("the same as a.other." in finding.message and other in finding.fix for finding in found)


def test_an_edit_is_compared_with_others_and_not_with_what_it_was() -> None:
    everything = context(op("a.b", summary="Send an alert"), op("a.c", summary="Read the news"))

    assert list(summaries.check(op("a.b", summary="Send the alerts"), everything)) == []
    assert [found.rule for found in summaries.check(op("a.b", summary="Read news"), everything)] == [
        "summary_like_another"
    ]
    assert [found.rule for found in summaries.check(op("a.new", summary="Read news"), everything)] == [
        "summary_like_another"
    ]


def test_a_retired_op_is_like_no_other() -> None:
    everything = context(op("a.b", summary="Send it"), op("a.c", summary="Send it", status="retired"))

    assert [list(summaries.check(entry, everything)) for entry in everything.ops.values()] == [[], []]


def test_several_are_counted() -> None:
    everything = context(*(op(f"a.x{number}", summary="Send it away") for number in range(4)))

    (found,) = summaries.check(everything.ops["a.x1"], everything)

    assert found.message == "It says nearly the same as a.x0 and 2 more."


@pytest.mark.parametrize(
    "said", [lambda op: op["summary"], lambda _: "List tasks", lambda op: f"List tasks {op['op']}"]
)
def test_six_thousand_ops_are_compared_in_time(said: object) -> None:
    told = {entry["op"]: said(entry) for entry in synthetic.build_ops(6_000)}  # type: ignore[operator]

    def compare() -> None:
        index = SummaryIndex(told)
        for path, summary in list(told.items())[:1_000]:
            index.find_similar(path, summary)

    index = SummaryIndex(told)
    within(0.1, lambda: index.find_similar("new", "List signed contracts of sales"))  # 0.1 ms alone
    within(5, compare)  # all 6,000 take 0.5 where nothing else runs


def test_the_context_holds_every_listed_summary_once() -> None:
    listed = CheckContext.from_content({"groups": [], "ops": synthetic.build_ops(100)})

    assert not any(listed.summary_index.find_similar(path, entry["summary"]) for path, entry in listed.ops.items())


WORDS = st.lists(
    st.sampled_from(["list", "get", "task", "goal", "plan", "rare", "open", "sales", "in", "out"]),
    min_size=1,
    max_size=7,
)


@given(st.lists(WORDS, min_size=2, max_size=30))
def test_the_index_finds_what_comparing_all_with_all_finds(said: list[list[str]]) -> None:
    summaries = {f"a.{number}": " ".join(listed) for number, listed in enumerate(said)}
    sets = {path: extract_words(summary) for path, summary in summaries.items()}
    weights = {
        word: log(1 + len(sets) / sum(word in each for each in sets.values())) for word in set().union(*sets.values())
    }
    index = SummaryIndex(summaries)

    def weigh(listed: frozenset[str]) -> float:
        return sum(weights[word] for word in listed)

    for path, own in sets.items():
        likeness = {
            other: weigh(own & each) / weigh(own | each) for other, each in sets.items() if other != path and own
        }
        certain = {other for other in likeness if likeness[other] > BOUND + 1e-9}
        possible = {other for other in likeness if likeness[other] > BOUND - 1e-9}
        assert certain <= set(index.find_similar(path, summaries[path])) <= possible
