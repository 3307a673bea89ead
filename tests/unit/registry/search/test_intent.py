"""Actions: of a query by its first verb, of an op by its record or its name."""

import pytest

from core.text import english
from registry.search import intent, tokenizer
from tests.support.rows.op_entries import build_catalog, build_op_entry


@pytest.mark.parametrize(
    ("request_", "action"),
    [
        ("create a task", intent.CREATE),
        ("adding members", intent.CREATE),
        ("list tasks to delete", intent.READ),  # the first verb
        ("rename it", intent.UPDATE),
        ("bump the offline rule to the top", intent.UPDATE),
        ("weather tomorrow", ""),
        ("the long winding road past a place where something is to delete", ""),  # the verb comes too late
        ("what is late", intent.READ),  # a question without a verb
        ("my tasks", intent.READ),
        ("what to delete", intent.DELETE),
        ("", ""),
    ],
)
def test_query_action_comes_from_its_first_verb(request_: str, action: str) -> None:
    assert intent.detect_request_action(tokenizer.split_words(request_)) == action


@pytest.mark.parametrize(
    ("fields", "action"),
    [
        ({"action": "delete", "tool_name": "list_tasks"}, intent.DELETE),
        ({"tool_name": "listTasks"}, intent.READ),
        ({"action": "frobnicate", "tool_name": "weather"}, ""),
    ],
)
def test_op_action_comes_from_its_record_or_its_name(fields: dict[str, str], action: str) -> None:
    assert intent.detect_op_action(build_catalog(build_op_entry("a.b", **fields)).ops["a.b"]) == action


def test_each_verb_means_one_action() -> None:
    actions_by_stem: dict[str, set[str]] = {}
    for verb, action in english.REQUEST_VERBS.items():
        actions_by_stem.setdefault(tokenizer.stem(verb), set()).add(action)

    assert all(len(actions) == 1 for stem, actions in actions_by_stem.items() if stem)
