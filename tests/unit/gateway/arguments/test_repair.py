from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.access.request_context import UserContext
from gateway.arguments.repair import MAX_CALL_CHARACTERS, drop_if_too_long, repair_call
from gateway.arguments.repair_work import RepairHelp
from gateway.contracts.validation import find_field_errors
from tests.support.cpu_budget import examples
from tests.support.rows.sample_ops import ARGUMENTS, PROJECT_ID, TASK_ID, build_op

UPDATE = build_op("task_id")
NOW = datetime(2026, 3, 2, 12, 30, tzinfo=UTC)  # a Monday
NO_CONTEXT = UserContext()
IN_PROJECT = UserContext(project_id=PROJECT_ID)


def build_help(context: UserContext = NO_CONTEXT) -> RepairHelp:
    """Return what a repair can look up: no rows and no other ops."""
    return RepairHelp(
        context,
        subject="anna",
        now=lambda: NOW,
        find_id=lambda *_: None,
        find_project=lambda _: None,
        find_kind=lambda _: "task",
        find_date=lambda *_: None,
        find_other_op=lambda *_: None,
        find_rule_errors=lambda _: ([], None),
    )


def repair_args(args: dict[str, Any], context: UserContext = NO_CONTEXT) -> dict[str, Any] | None:
    errors = find_field_errors(UPDATE.validator, args)
    assert errors
    call = repair_call(UPDATE, args, errors, build_help(context)).call
    return None if call is None else call["args"]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({"titel": "A"}, {"title": "A"}),  # a misspelt name
        ({"state_key": "Done"}, {"state_key": "done"}),  # an enum value in other letters
        ({"size": "Small"}, {"size": "small"}),  # also behind a $ref
        ({"priority": "2"}, {"priority": 2}),  # a number in quotes
        ({"urgent": "true"}, {"urgent": True}),
        ({"props": '{"a": 1}'}, {"props": {"a": 1}}),
        ({"tags": "a"}, {"tags": ["a"]}),  # one value instead of a list
        ({"states": '["todo"]'}, {"states": ["todo"]}),
        ({"states": ["Todo", "done"]}, {"states": ["todo", "done"]}),
        ({"status": "finished"}, {"state_key": "done"}),  # a name and a value in other words
        ({"states": ["wip", "finished"]}, {"states": ["in_progress", "done"]}),
        ({"states": "todo, done"}, {"states": ["todo", "done"]}),
        ({"priority": "P2"}, {"priority": 2}),
        ({"new_title": "A"}, {"title": "A"}),
        ({"deadline": "tomorrow at 5pm"}, {"due_at": "2026-03-03T17:00:00Z"}),
        ({"when": "next friday"}, {"when": "2026-03-13"}),
        ({"when": 1796137200}, {"when": "2026-12-01T15:00Z"}),
        ({"updates": {"title": "A", "status": "done"}}, {"title": "A", "state_key": "done"}),  # args in an object
        ({"share": "40%"}, {"share": 0.4}),
        ({"share": "likely"}, {"share": 0.7}),
        ({"share": "1 in 4"}, {"share": 0.25}),
        ({"priority": "two"}, {"priority": 2}),
        ({"titel": "A", "colour": "red"}, {"title": "A"}),  # the remark names what retry_with leaves out
        ({"title": "A", "state_key": None}, {"title": "A"}),  # null, as strict tool modes send for optional arguments
        ({"title": "A", "assignee": "Ines"}, {"title": "A"}),  # no row has it; retry_with asks the model
        ({"title": "A", "verbose": True}, {"title": "A"}),  # about the answer
        ({"note": "A", "progress": 5}, {"description": "A", "update_strategy": "append"}),
        ({"titel": "A", "priority": "2", "state_key": "DONE"}, {"title": "A", "priority": 2, "state_key": "done"}),
    ],
)
def test_repair_fixes_unambiguous_mistakes(args: dict[str, Any], expected: dict[str, Any]) -> None:
    assert repair_args({"task_id": TASK_ID} | args) == {"task_id": TASK_ID} | expected


@pytest.mark.parametrize(
    "args",
    [
        {"task_id": "7e3b9f20"},  # ids are never guessed
        {"task_id": TASK_ID, "nothing_like_it": 1},
        {"task_id": TASK_ID, "assignee": "Ines"},  # without it the update would change nothing
        {"task_id": TASK_ID, "title": "A", "include_subtasks": True},  # the update would change less
        {"task_id": TASK_ID, "title": "A", "propose": "top"},  # not a misspelt props
        {"task_id": TASK_ID, "urgent": None},  # without it the update would change nothing
        {"task_id": TASK_ID, "titel": "A", "title": "B"},  # two different titles
        {"task_id": TASK_ID, "priority": "9"},  # invalid also as an integer
        {"task_id": TASK_ID, "urgent": "1"},
        {"task_id": TASK_ID, "title": 5},
        {"task_id": TASK_ID, "tags": {"a": 1}},
        {"task_id": TASK_ID, "levels": ["9"]},
        {"task_id": TASK_ID, "": {}},
        {"task_id": TASK_ID, "due_at": "soon"},
        {"task_id": TASK_ID, "due_at": "02/03/2026"},  # February or March
        {"task_id": TASK_ID, "state_key": "cancelled"},  # no state means that
        {"task_id": TASK_ID, "changes": {"assignee": "Ines"}},
        {"task_id": TASK_ID, "project_id": "0d9a4c1e"},
        {"title": "A"},
    ],
)
def test_repair_refuses_ambiguous_mistakes(args: dict[str, Any]) -> None:
    assert repair_args(args) is None


@pytest.mark.parametrize(
    ("sent", "stored_day", "expected", "reason"),
    [
        ({"when": "18:00"}, None, {"when": "2026-03-02T18:00"}, "today"),
        ({"when": "9am"}, None, {"when": "2026-03-03T09:00"}, "tomorrow, because that time is past today"),
        ({"when": "at 9:30"}, date(2026, 3, 20), {"when": "2026-03-20T09:30"}, "on its current day"),
        ({"due_at": "18:00"}, date(2026, 3, 20), {"due_at": "2026-03-20T18:00:00Z"}, "on its current day"),
    ],
)
def test_time_without_a_day_gets_that_of_the_row_or_the_next(
    sent: dict[str, str], stored_day: date | None, expected: dict[str, str], reason: str
) -> None:
    args = {"task_id": TASK_ID} | sent
    help = replace(build_help(), find_date=lambda *_: stored_day)

    repaired = repair_call(UPDATE, args, find_field_errors(UPDATE.validator, args), help)

    [(name, value)] = expected.items()
    assert repaired.call == {"op": UPDATE.op, "args": {"task_id": TASK_ID} | expected}
    assert [error.message for error in repaired.errors] == [f"{name} has no day; send {value}, {reason}."]


@pytest.mark.parametrize(
    ("stored", "expected", "origin"),
    [
        (datetime(2026, 3, 20, 17, tzinfo=UTC), "2026-03-27", "its current date, 2026-03-20"),
        (date(2026, 3, 20), "2026-03-27", "its current date, 2026-03-20"),
        (None, "2026-03-09", "today, 2026-03-02"),
    ],
)
def test_offset_counts_from_the_date_of_the_row_or_from_today(stored: date | None, expected: str, origin: str) -> None:
    args = {"task_id": TASK_ID, "when": "a week later"}
    help = replace(build_help(), find_date=lambda *_: stored)

    repaired = repair_call(UPDATE, args, find_field_errors(UPDATE.validator, args), help)

    assert repaired.call == {"op": UPDATE.op, "args": {"task_id": TASK_ID, "when": expected}}
    assert [error.message for error in repaired.errors] == [f"Send {expected} for when, counted from {origin}."]


def test_rows_in_a_list_named_after_their_kind_get_kind_and_label() -> None:
    kinds = {"type": "string", "enum": ["task", "goal"]}
    item = {"type": "object", "properties": {"temp_id": {"type": "string"}, "kind": kinds}}
    item |= {"required": ["temp_id", "kind"]}
    project = {"type": "object", "properties": {"name": {"type": "string"}}}
    op = replace(
        UPDATE,
        action="create",
        argument_aliases={},
        schema={
            "type": "object",
            "additionalProperties": False,
            "required": ["project"],
            "properties": {"project": project, "entities": {"type": "array", "items": item}},
        },
    )
    args = {"name": "Move", "tasks": [{}, {"temp_id": "t"}]}

    repaired = repair_call(op, args, find_field_errors(op.validator, args), build_help())

    assert repaired.call is not None
    assert repaired.call["args"] == {
        "project": {"name": "Move"},
        "entities": [{"temp_id": "e1", "kind": "task"}, {"temp_id": "t", "kind": "task"}],
    }


def test_repair_replaces_a_malformed_project_id_with_the_context_project() -> None:
    assert repair_args({"task_id": TASK_ID, "project_id": "0d9a4c1e"}, IN_PROJECT) == {
        "task_id": TASK_ID,
        "project_id": PROJECT_ID,
    }


def test_repair_does_not_change_its_input() -> None:
    args = {"task_id": TASK_ID, "titel": "A", "priority": "2"}

    repair_args(args)

    assert args == {"task_id": TASK_ID, "titel": "A", "priority": "2"}


@pytest.mark.parametrize(("characters", "fits"), [(MAX_CALL_CHARACTERS - 100, True), (MAX_CALL_CHARACTERS, False)])
def test_drop_if_too_long_keeps_short_calls(characters: int, fits: bool) -> None:
    call = {"op": "onto.task.update", "args": {"description": "ä" * characters}}

    assert drop_if_too_long(call) == (call if fits else None)


texts = st.sampled_from(
    ["done", "Done", "todo ", "2", "2.0", "true", "null", "[]", "{}", '["a"]', "small", "Large", "x"]
)
values = st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-9, 9) | texts | st.lists(texts, max_size=2)


@settings(max_examples=examples(300), deadline=None)
@given(
    st.dictionaries(st.sampled_from([*ARGUMENTS, "titel", "prioriti", "sttate_key", "tag", "", "x"]), values),
    st.sampled_from([NO_CONTEXT, IN_PROJECT]),
)
def test_repaired_call_is_always_valid(args: dict[str, Any], context: UserContext) -> None:
    args = {"task_id": TASK_ID} | args
    errors = find_field_errors(UPDATE.validator, args)

    call = repair_call(UPDATE, args, errors, build_help(context)).call

    assert call is None or not find_field_errors(UPDATE.validator, call["args"])


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ({"title": "A", "size": 2, "dry_run": True}, {"body": {"title": "A", "size": 2}, "dry_run": True}),
        ({"title": "A", "body": {"size": 2}}, None),  # what the model meant is not known
        ({"zork": "A"}, None),
    ],
)
def test_members_of_an_optional_body_are_put_into_it(sent: dict[str, Any], expected: dict[str, Any] | None) -> None:
    members = {"title": {"type": "string"}, "size": {"type": "integer"}}
    body = {"type": "object", "properties": members, "required": ["title"]}
    arguments = {"body": body, "dry_run": {"type": "boolean"}}
    op = build_op(schema={"type": "object", "properties": arguments, "additionalProperties": False})

    call = repair_call(op, sent, find_field_errors(op.validator, sent), build_help()).call

    assert (call and call["args"]) == expected
