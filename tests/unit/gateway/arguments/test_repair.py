from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.arguments.repair import MAX_CALL_CHARACTERS, drop_if_too_long, repair_call
from gateway.contracts.validation import find_field_errors
from gateway.request_context import UserContext
from tests.support.cpu_budget import examples
from tests.support.sample_ops import ARGUMENTS, PROJECT_ID, TASK_ID, op

UPDATE = op("task_id")
NOWHERE = UserContext()
IN_PROJECT = UserContext(project_id=PROJECT_ID)


def repaired(args: dict[str, Any], context: UserContext = NOWHERE) -> dict[str, Any] | None:
    errors = find_field_errors(UPDATE.validator, UPDATE.schema, args)
    assert errors
    call = repair_call(UPDATE, args, errors, context)
    return None if call is None else call["args"]


@pytest.mark.parametrize(
    ("sent", "mended"),
    [
        ({"titel": "A"}, {"title": "A"}),  # a misspelt name
        ({"state_key": "Done"}, {"state_key": "done"}),  # an enum value in other letters
        ({"state_key": "inprogress"}, {"state_key": "in_progress"}),
        ({"size": "Small"}, {"size": "small"}),  # also where the schema refers to it
        ({"priority": "2"}, {"priority": 2}),  # a number in quotes
        ({"share": "0.5"}, {"share": 0.5}),
        ({"urgent": "true"}, {"urgent": True}),
        ({"props": '{"a": 1}'}, {"props": {"a": 1}}),
        ({"tags": '["a"]'}, {"tags": ["a"]}),
        ({"tags": "a"}, {"tags": ["a"]}),  # one where a list of such is wanted
        ({"states": '["todo"]'}, {"states": ["todo"]}),
        ({"states": ["Todo", "done"]}, {"states": ["todo", "done"]}),
        ({"levels": ["2", 1]}, {"levels": [2, 1]}),
        ({"title": "A", "state_key": None}, {"title": "A"}),  # null for what strict tool modes leave out
        ({"titel": "A", "priority": "2", "state_key": "DONE"}, {"title": "A", "priority": 2, "state_key": "done"}),
    ],
)
def test_corrected_mends_what_is_sure(sent: dict[str, Any], mended: dict[str, Any]) -> None:
    assert repaired({"task_id": TASK_ID} | sent) == {"task_id": TASK_ID} | mended


@pytest.mark.parametrize(
    "sent",
    [
        {"task_id": "7e3b9f20"},  # an id is never guessed
        {"task_id": TASK_ID, "nothing_like_it": 1},
        {"task_id": TASK_ID, "title": "A", "propose": "top"},  # no misspelt props
        {"task_id": TASK_ID, "urgent": None},  # without it nothing would be left to change
        {"task_id": TASK_ID, "titel": "A", "title": "B"},  # which of them?
        {"task_id": TASK_ID, "state_key": "finished"},
        {"task_id": TASK_ID, "priority": 9},
        {"task_id": TASK_ID, "priority": "9"},  # mended it would still not pass
        {"task_id": TASK_ID, "priority": "two"},
        {"task_id": TASK_ID, "priority": "true"},
        {"task_id": TASK_ID, "urgent": "1"},
        {"task_id": TASK_ID, "urgent": 1},
        {"task_id": TASK_ID, "title": 5},
        {"task_id": TASK_ID, "title": ""},
        {"task_id": TASK_ID, "tags": {"a": 1}},
        {"task_id": TASK_ID, "tags": []},
        {"task_id": TASK_ID, "place": {"rom": "B12"}},  # deeper down a guess is no longer sure
        {"task_id": TASK_ID, "states": ["finished"]},
        {"task_id": TASK_ID, "levels": ["9"]},
        {"task_id": TASK_ID, "": {}},
        {"task_id": TASK_ID, "a/b": 1},
        {"task_id": TASK_ID, "due_at": "tomorrow"},
        {"task_id": TASK_ID, "project_id": "0d9a4c1e"},
        {"title": "A"},
    ],
)
def test_corrected_guesses_nothing(sent: dict[str, Any]) -> None:
    assert repaired(sent) is None


def test_corrected_takes_a_malformed_project_from_the_context() -> None:
    assert repaired({"task_id": TASK_ID, "project_id": "0d9a4c1e"}, IN_PROJECT) == {
        "task_id": TASK_ID,
        "project_id": PROJECT_ID,
    }


def test_corrected_leaves_what_was_sent_as_it_is() -> None:
    sent = {"task_id": TASK_ID, "titel": "A", "priority": "2"}

    repaired(sent)

    assert sent == {"task_id": TASK_ID, "titel": "A", "priority": "2"}


@pytest.mark.parametrize(("characters", "fits"), [(MAX_CALL_CHARACTERS - 100, True), (MAX_CALL_CHARACTERS, False)])
def test_fitting_keeps_a_call_that_is_small(characters: int, fits: bool) -> None:
    call = {"op": "onto.task.update", "args": {"description": "ä" * characters}}

    assert drop_if_too_long(call) == (call if fits else None)


words = st.sampled_from(
    ["done", "Done", "todo ", "2", "2.0", "true", "null", "[]", "{}", '["a"]', "small", "Large", "x"]
)
anything = st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-9, 9) | words | st.lists(words, max_size=2)


@settings(max_examples=examples(300), deadline=None)
@given(
    st.dictionaries(st.sampled_from([*ARGUMENTS, "titel", "prioriti", "sttate_key", "tag", "", "x"]), anything),
    st.sampled_from([NOWHERE, IN_PROJECT]),
)
def test_whatever_is_corrected_passes(args: dict[str, Any], context: UserContext) -> None:
    args = {"task_id": TASK_ID} | args
    errors = find_field_errors(UPDATE.validator, UPDATE.schema, args)

    call = repair_call(UPDATE, args, errors, context)

    assert call is None or not find_field_errors(UPDATE.validator, UPDATE.schema, call["args"])
