"""Actions: of a request by its first verb, of an op by its record or its name."""

import pytest

from registry.search import intent, tokenizer
from tests.support.op_entries import catalog, op


@pytest.mark.parametrize(
    ("request_", "action"),
    [
        ("create a task", intent.CREATE),
        ("adding members", intent.CREATE),
        ("list tasks to delete", intent.READ),  # the first verb
        ("rename it", intent.UPDATE),
        ("removed rows", intent.DELETE),
        ("weather tomorrow", ""),
        ("the very long way to a place where something is to delete", ""),  # too late
        ("", ""),
    ],
)
def test_a_request_wants_what_its_first_verb_says(request_: str, action: str) -> None:
    assert intent.detect_request_action(tokenizer.split_words(request_)) == action


@pytest.mark.parametrize(
    ("fields", "action"),
    [
        ({"action": "delete", "tool_name": "list_tasks"}, intent.DELETE),
        ({"tool_name": "listTasks"}, intent.READ),
        ({"action": "frobnicate", "tool_name": "weather"}, ""),
    ],
)
def test_an_op_does_what_its_record_says_or_else_its_name(fields: dict[str, str], action: str) -> None:
    assert intent.detect_op_action(catalog(op("a.b", **fields)).ops["a.b"]) == action


def test_no_verb_stands_for_two_actions() -> None:
    listed = [tokenizer.stem(verb) for verbs in intent._VERBS_BY_ACTION.values() for verb in verbs.split()]

    assert len({stem for stem in listed if stem}) == len([stem for stem in listed if stem])
