"""The index combines words, meaning and action."""

from typing import Any

import pytest

from registry.search.index import SearchIndex
from tests.support.rows.op_entries import build_catalog, build_op_entry


def rank(request: str, *ops: dict[str, Any]) -> list[str]:
    return list(SearchIndex(build_catalog(*ops).ops.values()).rank(request).shares)


SIBLINGS = [
    build_op_entry("onto.task.get", summary="Read a task"),
    build_op_entry("onto.task.list", summary="List tasks"),
    build_op_entry("onto.task.create", kind="write", summary="Create a task"),
    build_op_entry("onto.task.update", kind="write", summary="Change a task"),
    build_op_entry("onto.task.delete", kind="write", summary="Delete a task"),
    build_op_entry("cal.event.create", kind="write", summary="Create an event"),
    build_op_entry("util.weather.get", summary="Weather forecast of a city"),
]


@pytest.mark.parametrize(
    ("request_", "best"),
    [
        ("add a task", "onto.task.create"),
        ("remove the task", "onto.task.delete"),
        ("edit the task", "onto.task.update"),
        ("Could you please show me all of my tasks?", "onto.task.list"),
        ("will it rain in 'Paris' tomorrow?", "util.weather.get"),  # no word in common
    ],
)
def test_verb_of_the_query_ranks_sibling_ops(request_: str, best: str) -> None:
    assert rank(request_, *SIBLINGS)[0] == best


def test_keyword_of_several_words_counts_inside_a_request() -> None:
    whole = build_op_entry("a.one", summary="List dangers", keywords=["what else is there", "danger"])
    words = build_op_entry("a.two", summary="List dangers", keywords=["what", "else", "is", "there", "danger"])

    assert rank("and what else is there?", words, whole)[0] == "a.one"
    assert rank("there is what else?", words, whole)[0] == "a.two"


def test_write_verb_prefers_write_ops() -> None:
    twins = [
        build_op_entry("a.item.handle", summary="Handle the item"),
        build_op_entry("b.item.handle", summary="Handle the item"),
    ]
    twins[1]["kind"] = "write"

    assert rank("item handle", *twins)[0] == "a.item.handle"  # no known verb: catalog order
    assert rank("submit item handle", *twins)[0] == "b.item.handle"


def test_query_for_two_things_finds_both() -> None:
    assert set(rank("create an event tomorrow and then delete the old task", *SIBLINGS)[:2]) == {
        "cal.event.create",
        "onto.task.delete",
    }


@pytest.mark.parametrize(
    ("request_", "op"),
    [
        ("s3 bucket", build_op_entry("x.s3.get", summary="Read")),  # not ignored like an id, because an op has it
        ("Who am I?", build_op_entry("util.profile.get", keywords=["who am i"])),  # common words, matched as a whole
        ("天気を見る", build_op_entry("util.sky.get", summary="東京の天気")),
    ],
)
def test_words_that_only_one_op_has_find_it(request_: str, op: dict[str, Any]) -> None:
    assert rank(request_, op, *SIBLINGS)[0] == op["op"]


def test_id_in_a_query_is_ignored() -> None:
    assert rank("read task ksj29d8qhW", *SIBLINGS) == rank("read task", *SIBLINGS)
