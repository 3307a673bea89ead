"""The index: words, meaning and action weighed together."""

from typing import Any

import pytest

from registry.search.index import SearchIndex
from tests.support.op_entries import catalog, op


def ranked(request: str, *ops: dict[str, Any]) -> list[str]:
    return SearchIndex(catalog(*ops).ops.values()).rank(request)


SIBLINGS = [
    op("onto.task.get", summary="Read a task"),
    op("onto.task.list", summary="List tasks"),
    op("onto.task.create", kind="write", summary="Create a task"),
    op("onto.task.update", kind="write", summary="Change a task"),
    op("onto.task.delete", kind="write", summary="Delete a task"),
    op("cal.event.create", kind="write", summary="Create an event"),
    op("util.weather.get", summary="Weather forecast of a city"),
]


@pytest.mark.parametrize(
    ("request_", "best"),
    [
        ("add a task", "onto.task.create"),
        ("remove the task", "onto.task.delete"),
        ("edit the task", "onto.task.update"),
        ("Could you please show me all of my tasks?", "onto.task.list"),
        ("will it rain in 'Paris' tomorrow?", "util.weather.get"),  # not a word in common
    ],
)
def test_siblings_are_told_apart_by_what_is_wanted(request_: str, best: str) -> None:
    assert ranked(request_, *SIBLINGS)[0] == best


def test_a_write_verb_prefers_ops_that_write() -> None:
    twins = [op("a.item.handle", summary="Handle the item"), op("b.item.handle", summary="Handle the item")]
    twins[1]["kind"] = "write"

    assert ranked("item handle", *twins)[0] == "a.item.handle"  # no known verb: by order
    assert ranked("submit item handle", *twins)[0] == "b.item.handle"


def test_a_request_for_two_things_finds_both() -> None:
    assert set(ranked("create an event tomorrow and then delete the old task", *SIBLINGS)[:2]) == {
        "cal.event.create",
        "onto.task.delete",
    }


def test_a_keyword_that_says_nothing_by_its_words_is_found_whole() -> None:
    assert ranked("Who am I?", op("util.profile.get", keywords=["who am i"]), *SIBLINGS)[0] == "util.profile.get"


def test_an_id_is_no_word_unless_an_op_has_it() -> None:
    assert ranked("read task ksj29d8qhW", *SIBLINGS) == ranked("read task", *SIBLINGS)
    assert ranked("s3 bucket", op("x.s3.get", summary="Read"), *SIBLINGS)[0] == "x.s3.get"


def test_a_request_in_another_script_finds_ops_in_it() -> None:
    assert ranked("天気を見る", op("util.sky.get", summary="東京の天気"), *SIBLINGS)[0] == "util.sky.get"


@pytest.mark.parametrize("request_", ["zzzz", "the of to", "", "?!", "qwrtp xkcdq"])
def test_what_fits_nothing_finds_nothing(request_: str) -> None:
    assert ranked(request_, *SIBLINGS) == []


def test_retired_ops_lend_their_names_to_their_successor() -> None:
    retired = op("old.chore.jot", status="retired", successor="onto.task.create")

    assert ranked("jot chore", retired, *SIBLINGS)[0] == "onto.task.create"
    assert "old.chore.jot" not in ranked("jot chore", retired, *SIBLINGS)
