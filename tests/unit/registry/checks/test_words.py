"""Warnings of the vocabulary: entries that stand for nothing, and words for two things."""

from typing import Any

import pytest

from registry.checks import words
from tests.support.rows.op_entries import build_content, build_op_entry, build_schema

STATES = {"type": "string", "enum": ["todo", "done", "closed"]}
OPS = [
    build_op_entry("a.task.list", entity="task", action="list", parameters_schema=build_schema(state_key=STATES)),
    build_op_entry("a.page.get", entity="page", action="get", parameters_schema=build_schema(page_id={})),
]
TASK = {"kind": "entity", "meaning": "task", "words": ["todo", "ticket"]}
DONE = {"kind": "value", "argument": "state_key", "meaning": "done", "words": ["finished", "over"]}


def find_messages(*entries: dict[str, Any], only: list[str] | None = None) -> list[str]:
    content = build_content(*OPS) | {"vocabulary": list(entries)}
    return [f"{finding.op}, {finding.field}: {finding.message}" for finding in words.find_warnings(content, only=only)]


def test_entries_that_stand_for_one_thing_have_no_warning() -> None:
    assert find_messages(TASK, DONE, {"kind": "argument", "meaning": "page_id", "words": ["page"]}) == []
    assert find_messages({"kind": "action", "meaning": "list", "words": ["browse"]}) == []
    assert find_messages() == []


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (TASK | {"meaning": "job"}, ["entity/job, meaning: No op has the kind of row job."]),
        ({"kind": "action", "meaning": "fly", "words": ["x"]}, ["action/fly, meaning: No op has the action fly."]),
        (
            {"kind": "argument", "meaning": "state", "words": ["x"]},
            ["argument/state, meaning: No op has the argument state."],
        ),
        (
            DONE | {"meaning": "gone"},
            ["value/state_key/gone, meaning: No argument state_key of any op has the value gone."],
        ),
        (
            DONE | {"ops": "b.*"},
            ["value/state_key/done/b.*, meaning: No argument state_key of b.* has the value done."],
        ),
    ],
)
def test_entry_that_stands_for_nothing_has_a_warning(entry: dict[str, Any], expected: list[str]) -> None:
    assert find_messages(entry) == expected
    assert find_messages(entry, only=["a.task.list"]) == []


def test_word_for_two_things_has_a_warning_at_both() -> None:
    page = {"kind": "entity", "meaning": "page", "words": ["ticket"]}
    closed = DONE | {"meaning": "closed", "argument": "state_*", "words": ["over"]}

    assert find_messages(TASK, page) == [
        "entity/task, words: ticket also stands for something else.",
        "entity/page, words: ticket also stands for something else.",
    ]
    assert find_messages(DONE, closed) == [
        "value/state_key/done, words: over also stands for something else.",
        "value/state_*/closed, words: over also stands for something else.",
    ]
    assert find_messages(DONE, closed | {"ops": "b.*", "meaning": "closed"}) == [
        "value/state_*/closed/b.*, meaning: No argument state_* of b.* has the value closed."
    ]


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("delete", "delete is ignored here, because it is a word for something dangerous."),
        ("get", "get is an action of ops itself."),
        ("find", "find means search in general English."),
    ],
)
def test_word_for_another_action_has_a_warning(word: str, message: str) -> None:
    entry = {"kind": "action", "meaning": "list", "words": ["browse", word]}

    assert find_messages(entry) == [f"action/list, words: {message}"]
