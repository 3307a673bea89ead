import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.arguments.normalise import convert_whole_numbers, is_empty_update, normalise_args
from gateway.request_context import UserContext
from tests.support.cpu_budget import examples
from tests.support.sample_ops import ARGUMENTS, PROJECT_ID, TASK_ID, op

UPDATE = op("task_id")
NOWHERE = UserContext()
IN_PROJECT = UserContext(type="project", project_id=PROJECT_ID)


@pytest.mark.parametrize(
    ("sent", "args", "warnings"),
    [
        ({"task_id": TASK_ID}, {"task_id": TASK_ID}, []),
        # names
        ({"name": "A"}, {"title": "A"}, ["Read name as title."]),
        ({"stateKey": "done"}, {"state_key": "done"}, ["Read stateKey as state_key."]),
        ({"State Key": "done"}, {"state_key": "done"}, ["Read State Key as state_key."]),
        ({"name": "A", "title": "B"}, {"name": "A", "title": "B"}, []),  # left to be refused as unknown
        ({"nothing": 1}, {"nothing": 1}, []),
        ({"task_title": "Shown"}, {}, []),
        # ids
        ({"task_id": f" {TASK_ID}\n"}, {"task_id": TASK_ID}, []),
        ({"place": {"owner_id": " x "}}, {"place": {"owner_id": "x", "floor": 1}}, []),
        ({"props": {"owner_id": " x "}}, {"props": {"owner_id": " x "}}, []),  # a free object is the caller's own
        # blanks
        ({"task_id": " "}, {}, []),
        ({"project_id": ""}, {}, []),
        ({"title": "\t"}, {}, ["Ignored the blank title."]),
        ({"name": " "}, {}, ["Ignored the blank name."]),
        ({"name": "A", "title": " "}, {"title": "A"}, ["Ignored the blank title.", "Read name as title."]),
        ({"props": {"a": ""}}, {"props": {"a": ""}}, []),
        # values
        ({"state_key": "completed"}, {"state_key": "done"}, ["Read state_key as done."]),
        ({"state_key": "In-Progress"}, {"state_key": "in_progress"}, ["Read state_key as in_progress."]),
        ({"state_key": "nonsense"}, {"state_key": "nonsense"}, []),
        ({"priority": "HIGH"}, {"priority": 1}, ["Read priority as 1."]),
        ({"priority": "1"}, {"priority": "1"}, []),  # refused, with the mend in retry_with
        ({"place": {"floor": "ground"}}, {"place": {"floor": 0}}, ["Read floor as 0."]),
        (
            {"steps": [{"state_key": "completed", "hours": 1}, {}]},
            {"steps": [{"state_key": "done", "hours": 1}, {"hours": 2}]},
            ["Read state_key as done."],
        ),
        # one value of a list of choices, and values in it
        ({"states": "todo"}, {"states": ["todo"]}, []),
        ({"states": "completed"}, {"states": ["done"]}, ["Read states as done."]),
        ({"states": ["todo", "In Progress"]}, {"states": ["todo", "in_progress"]}, ["Read states as in_progress."]),
        ({"levels": 2.0}, {"levels": [2]}, []),
        ({"levels": ["HIGH", 3]}, {"levels": [1, 3]}, ["Read levels as 1."]),
        ({"states": '["todo"]'}, {"states": '["todo"]'}, []),  # refused, with the mend in retry_with
        ({"states": []}, {"states": []}, []),
        ({"states": None}, {"states": None}, []),
        ({"states": {"a": 1}}, {"states": {"a": 1}}, []),
        ({"states": [["todo"], None]}, {"states": [["todo"], None]}, []),
        ({"tags": "web"}, {"tags": "web"}, []),  # free text may be one value or several
        # dates: the day as it was written, wherever the offset would move it to
        ({"day": "2026-03-01T23:30:00-05:00"}, {"day": "2026-03-01"}, ["Read day as 2026-03-01."]),
        ({"day": "2026-03-01t00:00:00.5z"}, {"day": "2026-03-01"}, ["Read day as 2026-03-01."]),
        ({"day": "2026-03-01 09:00"}, {"day": "2026-03-01"}, ["Read day as 2026-03-01."]),
        ({"day": "2026-03-01"}, {"day": "2026-03-01"}, []),
        ({"day": "2026-02-30T00:00:00Z"}, {"day": "2026-02-30T00:00:00Z"}, []),
        ({"day": "2026-03-01T25:00:00Z"}, {"day": "2026-03-01T25:00:00Z"}, []),
        ({"day": "2026-03-01T" + "0" * 90}, {"day": "2026-03-01T" + "0" * 90}, []),
        ({"day": "20260301"}, {"day": "20260301"}, []),
        ({"day": None}, {"day": None}, []),
        ({"due_at": "2026-03-01T00:00:00Z"}, {"due_at": "2026-03-01T00:00:00Z"}, []),
        ({"props": {"day": "2026-03-01T00:00:00Z"}}, {"props": {"day": "2026-03-01T00:00:00Z"}}, []),
        # numbers
        ({"priority": 2.0}, {"priority": 2}, []),
        ({"priority": 2.5}, {"priority": 2.5}, []),
        ({"share": 2.0}, {"share": 2.0}, []),
        ({"props": {"a": 2.0}}, {"props": {"a": 2.0}}, []),
        # what has the wrong type is left to be refused
        ({"steps": {"state_key": "completed"}}, {"steps": {"state_key": "completed"}}, []),
        ({"place": "here"}, {"place": "here"}, []),
        ({"task_id": 5}, {"task_id": 5}, []),
        ({"state_key": None}, {"state_key": None}, []),
    ],
)
def test_normalise_puts_right_what_models_get_wrong(
    sent: dict[str, Any], args: dict[str, Any], warnings: list[str]
) -> None:
    found = normalise_args(UPDATE, sent, NOWHERE)

    assert found.args == {"limit": 20} | args
    assert repr(found.args.get("priority")) == repr(args.get("priority"))  # 2 and 2.0 are equal, but not the same
    assert found.without_defaults.keys() == args.keys()
    assert found.warnings == warnings


@pytest.mark.parametrize(
    ("sent", "applied"),
    [
        ({}, {"project_id": PROJECT_ID}),
        ({"project_id": " "}, {"project_id": PROJECT_ID}),
        ({"projectId": ""}, {"project_id": PROJECT_ID}),
        ({"project_id": TASK_ID}, {}),
        ({"project_id": "nonsense"}, {}),
        ({"project_id": None}, {}),
    ],
)
def test_normalise_takes_an_absent_project_from_the_context(sent: dict[str, Any], applied: dict[str, Any]) -> None:
    found = normalise_args(UPDATE, sent, IN_PROJECT)

    assert found.applied_defaults == applied
    assert found.args["project_id"] == applied.get("project_id", sent.get("project_id"))


def test_normalise_takes_no_project_where_the_op_has_none() -> None:
    bare = op(schema={"type": "object", "properties": {}, "additionalProperties": False})

    assert normalise_args(bare, {}, IN_PROJECT).args == {}


def test_normalise_never_takes_a_long_name_for_an_argument() -> None:
    name = "title" + " " * 100 + "x" * 1000

    found = normalise_args(UPDATE, {name: "A"}, NOWHERE)

    assert name in found.args
    assert found.warnings == []


names = (
    st.sampled_from([*ARGUMENTS, "name", "id", "taskId", "Task ID", "stateKey", "task_title", "nothing"]) | st.text()
)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(["", "  ", " x ", "completed", "HIGH", "In Progress", TASK_ID, f" {TASK_ID} "]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4),
    max_leaves=10,
)
sent_args = st.dictionaries(names, values, max_size=6)
contexts = st.sampled_from([NOWHERE, IN_PROJECT])
quickly = settings(max_examples=examples(150), deadline=None)


@quickly
@given(sent_args, contexts)
def test_normalise_leaves_what_was_sent_as_it_is(sent: dict[str, Any], context: UserContext) -> None:
    before = copy.deepcopy(sent)

    found = normalise_args(UPDATE, sent, context)
    found.args["added"] = found.args.get("props")

    assert sent == before


@quickly
@given(sent_args, contexts)
def test_normalise_of_what_is_normal_changes_nothing(sent: dict[str, Any], context: UserContext) -> None:
    once = normalise_args(UPDATE, sent, context)

    twice = normalise_args(UPDATE, once.args, context)

    assert twice.args == once.args
    assert twice.warnings == []
    assert twice.applied_defaults == {}


@pytest.mark.parametrize(
    ("args", "nothing"),
    [
        ({"task_id": TASK_ID}, True),
        ({"task_id": TASK_ID, "props": {}}, True),
        ({"task_id": TASK_ID, "tags": []}, True),
        ({"task_id": TASK_ID, "update_strategy": "merge", "merge_instructions": "x"}, True),
        ({"task_id": TASK_ID, "props": {"a": None}}, False),
        ({"task_id": TASK_ID, "description": None}, False),  # null clears
        ({"task_id": TASK_ID, "urgent": False}, False),
        ({"task_id": TASK_ID, "priority": 0}, False),
        ({"task_id": TASK_ID, "title": "A", "props": {}}, False),
        ({}, True),
    ],
)
def test_changes_nothing_is_an_update_without_a_field(args: dict[str, Any], nothing: bool) -> None:
    assert is_empty_update(UPDATE, args) is nothing
    assert is_empty_update(op("task_id", action="create"), args) is False


@pytest.mark.parametrize(
    ("value", "whole"),
    [
        (5.0, "5"),
        (-0.0, "0"),
        (5.5, "5.5"),
        (1e300, "1e+300"),
        (2.0**53, "9007199254740992.0"),
        (True, "True"),
        ("5", "'5'"),
    ],
)
def test_whole_numbers_are_integers_where_the_schema_asks_for_them(value: Any, whole: str) -> None:
    assert repr(convert_whole_numbers({"type": "integer"}, value)) == whole
    assert repr(convert_whole_numbers({"type": ["null", "integer"]}, value)) == whole
    assert convert_whole_numbers({"type": "number"}, value) is value


def test_words_in_a_list_are_read_one_by_one() -> None:
    urgency = {"type": "integer", "x-aliases": {"low": 5, "medium": 3, "high": 1}}
    schema = {"type": "object", "properties": {"priority": {"type": ["integer", "array"], "items": urgency} | urgency}}

    many = normalise_args(op(schema=schema), {"priority": ["High", 2, "low", "soon"]}, NOWHERE)
    one = normalise_args(op(schema=schema), {"priority": "medium"}, NOWHERE)

    assert (many.args, many.warnings) == (
        {"priority": [1, 2, 5, "soon"]},
        ["Read priority as 1.", "Read priority as 5."],
    )
    assert (one.args, one.warnings) == ({"priority": 3}, ["Read priority as 3."])
