"""Sentences about rows that were written, and the labels of buttons."""

from typing import Any

import pytest

from chat.pages import wording


@pytest.mark.parametrize(
    ("operation", "sentence"),
    [
        ({"entity": "task", "action": "create", "entity_name": "X", "status": "success"}, "Created task “X”"),
        ({"entity": "task", "action": "create", "status": "success"}, "Created task"),
        ({"entity": "task", "action": "create", "entity_name": "X", "status": "error"}, "Failed to create task “X”"),
        ({"entity": "brain_dump", "action": "sort_out", "status": "success"}, "Ran sort out on brain dump"),
    ],
)
def test_writes_are_sentences(operation: dict[str, Any], sentence: str) -> None:
    assert wording.describe_write(operation) == sentence


@pytest.mark.parametrize(
    ("operation", "labels"),
    [
        ({"entity": "task", "action": "delete", "entity_name": "X"}, ("Delete “X”", "Keep it")),
        ({"entity": "task", "action": "move"}, ("Move task", "Don’t move")),
        ({}, ("Run it", "Don’t run")),
    ],
)
def test_buttons_name_the_action(operation: dict[str, Any], labels: tuple[str, str]) -> None:
    assert wording.name_decision(operation) == labels


def test_failures_that_were_repaired_are_left_out() -> None:
    failed = {"entity": "task", "action": "update", "entity_id": "1", "status": "error"}
    done, other = failed | {"status": "success"}, failed | {"entity_id": "2"}

    assert wording.drop_repaired([failed, other, done]) == [other, done]
    assert wording.drop_repaired([done, failed]) == [done, failed]  # it failed after that
