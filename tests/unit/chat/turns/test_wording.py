"""Sentences about rows that were written, and the labels of buttons."""

from typing import Any

import pytest

from chat.turns import wording


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


@pytest.mark.parametrize(
    ("text", "is_told"),
    [("I created the task “Call Ana”.", True), ("I created it.", False), ("“Call Ana” is there.", False)],
)
def test_write_is_told_by_an_answer_that_names_row_and_action(text: str, is_told: bool) -> None:
    operation = {"entity": "task", "action": "create", "entity_name": "Call Ana", "status": "success"}

    assert wording.is_told(operation, text) == is_told
    assert not wording.is_told(operation | {"status": "error"}, text)
    assert not wording.is_told({"action": "create", "status": "success"}, text)
