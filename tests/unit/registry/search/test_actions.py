"""Actions: of a request by its first verb, of an op by its record or its name."""

import pytest

from registry.search import actions, words
from tests.unit.registry.entries import catalog, op


@pytest.mark.parametrize(
    ("request_", "action"),
    [
        ("create a task", actions.CREATE),
        ("adding members", actions.CREATE),
        ("list tasks to delete", actions.READ),  # the first verb
        ("rename it", actions.UPDATE),
        ("removed rows", actions.DELETE),
        ("weather tomorrow", ""),
        ("the very long way to a place where something is to delete", ""),  # too late
        ("", ""),
    ],
)
def test_a_request_wants_what_its_first_verb_says(request_: str, action: str) -> None:
    assert actions.detect_request_action(words.split_words(request_)) == action


@pytest.mark.parametrize(
    ("fields", "action"),
    [
        ({"action": "delete", "tool_name": "list_tasks"}, actions.DELETE),
        ({"tool_name": "listTasks"}, actions.READ),
        ({"action": "frobnicate", "tool_name": "weather"}, ""),
    ],
)
def test_an_op_does_what_its_record_says_or_else_its_name(fields: dict[str, str], action: str) -> None:
    assert actions.detect_op_action(catalog(op("a.b", **fields)).ops["a.b"]) == action


def test_no_verb_stands_for_two_actions() -> None:
    listed = [words.stem(verb) for verbs in actions._VERBS_BY_ACTION.values() for verb in verbs.split()]

    assert len({stem for stem in listed if stem}) == len([stem for stem in listed if stem])
