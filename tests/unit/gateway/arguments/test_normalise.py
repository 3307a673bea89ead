import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.access.request_context import UserContext
from gateway.arguments.normalise import is_empty_update, normalise_args
from tests.support.cpu_budget import examples
from tests.support.growth import assert_linear
from tests.support.rows.sample_ops import ARGUMENTS, PROJECT_ID, TASK_ID, build_op

UPDATE = build_op("task_id")
NO_CONTEXT = UserContext()
IN_PROJECT = UserContext(type="project", project_id=PROJECT_ID)


LIST = {"kind": "read", "action": "list"}
CREATE = {"action": "create"}


@pytest.mark.parametrize(
    ("op", "sent", "args", "warnings"),
    [
        # A filter that was not given, by any of its names.
        (LIST, {"state_key": None}, {}, ["Ignored null in state_key."]),
        (
            LIST,
            {"name": None, "tags": None, "priority": 2},
            {"priority": 2},
            ["Read name as title.", "Ignored null in tags, title."],
        ),
        (LIST, {"day": None, "state_key": None}, {"day": None}, ["Ignored null in state_key."]),  # day can be null
        (CREATE, {"title": "A", "state_key": None}, {"title": "A"}, ["Ignored null in state_key."]),
        ({}, {"title": None, "state_key": None, "priority": 2}, {"priority": 2}, ["Ignored null in title, state_key."]),
        # One alone in a change may be meant to clear the field; without a list of rows a change would mean more rows.
        ({}, {"title": None, "priority": 2}, {"title": None, "priority": 2}, []),
        ({}, {"tags": None, "urgent": None, "share": None}, {"tags": None}, ["Ignored null in urgent, share."]),
        # What is required, and what the op does not have, is refused.
        (LIST, {"task_id": None, "other": None}, {"task_id": None, "other": None}, []),
    ],
)
def test_normalise_drops_nulls_of_arguments_that_were_not_given(
    op: dict[str, Any], sent: dict[str, Any], args: dict[str, Any], warnings: list[str]
) -> None:
    normalised = normalise_args(build_op("task_id", **op), sent, NO_CONTEXT)

    assert (normalised.without_defaults, normalised.warnings) == (args, warnings)


@pytest.mark.parametrize(
    ("sent", "args", "warnings"),
    [
        ({"task_id": TASK_ID}, {"task_id": TASK_ID}, []),
        # names
        ({"name": "A"}, {"title": "A"}, ["Read name as title."]),
        ({"stateKey": "done"}, {"state_key": "done"}, ["Read stateKey as state_key."]),
        ({"name": "A", "title": "B"}, {"name": "A", "title": "B"}, []),  # validation refuses it as unknown
        ({"task_title": "Shown"}, {}, []),
        # ids
        ({"task_id": f" {TASK_ID}\n"}, {"task_id": TASK_ID}, []),
        ({"place": {"owner_id": " x "}}, {"place": {"owner_id": "x", "floor": 1}}, []),
        ({"props": {"owner_id": " x "}}, {"props": {"owner_id": " x "}}, []),  # free-form objects are not changed
        # blanks
        ({"task_id": " "}, {}, []),
        ({"project_id": ""}, {}, []),
        ({"name": "A", "title": " "}, {"title": "A"}, ["Ignored the blank title.", "Read name as title."]),
        ({"props": {"a": ""}}, {"props": {"a": ""}}, []),
        # values
        ({"state_key": "completed"}, {"state_key": "done"}, ["Read state_key as done."]),
        ({"state_key": "In-Progress"}, {"state_key": "in_progress"}, ["Read state_key as in_progress."]),
        ({"priority": "HIGH"}, {"priority": 1}, ["Read priority as 1."]),
        ({"priority": "1"}, {"priority": "1"}, []),  # validation refuses it with a repair in retry_with
        ({"place": {"floor": "ground"}}, {"place": {"floor": 0}}, ["Read floor as 0."]),
        (
            {"steps": [{"state_key": "completed", "hours": 1}, {}]},
            {"steps": [{"state_key": "done", "hours": 1}, {"hours": 2}]},
            ["Read state_key as done."],
        ),
        # one value of a list of choices, and values in it
        ({"states": "completed"}, {"states": ["done"]}, ["Read states as done."]),
        ({"states": ["todo", "In Progress"]}, {"states": ["todo", "in_progress"]}, ["Read states as in_progress."]),
        ({"levels": 2.0}, {"levels": [2]}, []),
        ({"levels": ["HIGH", 3]}, {"levels": [1, 3]}, ["Read levels as 1."]),
        ({"states": '["todo"]'}, {"states": '["todo"]'}, []),  # validation refuses it with a repair in retry_with
        ({"states": None}, {"states": None}, []),
        ({"states": [["todo"], None]}, {"states": [["todo"], None]}, []),
        ({"tags": "web"}, {"tags": "web"}, []),  # free text may be one value or several
        # dates: the day as written, also if the offset would move it
        ({"day": "2026-03-01T23:30:00-05:00"}, {"day": "2026-03-01"}, ["Read day as 2026-03-01."]),
        ({"day": "2026-03-01 09:00"}, {"day": "2026-03-01"}, ["Read day as 2026-03-01."]),
        ({"day": "2026-03-01"}, {"day": "2026-03-01"}, []),
        ({"day": "2026-02-30T00:00:00Z"}, {"day": "2026-02-30T00:00:00Z"}, []),
        ({"day": "2026-03-01T" + "0" * 90}, {"day": "2026-03-01T" + "0" * 90}, []),
        ({"due_at": "2026-03-01T00:00:00Z"}, {"due_at": "2026-03-01T00:00:00Z"}, []),
        ({"props": {"day": "2026-03-01T00:00:00Z"}}, {"props": {"day": "2026-03-01T00:00:00Z"}}, []),
        # numbers
        ({"priority": 2.0}, {"priority": 2}, []),
        ({"priority": 2.5}, {"priority": 2.5}, []),
        ({"props": {"a": 2.0}}, {"props": {"a": 2.0}}, []),
        # wrong types are left for validation
        ({"state_key": None}, {"state_key": None}, []),
    ],
)
def test_normalise_fixes_common_mistakes(sent: dict[str, Any], args: dict[str, Any], warnings: list[str]) -> None:
    normalised = normalise_args(UPDATE, sent, NO_CONTEXT)

    assert normalised.args == {"limit": 20} | args
    assert repr(normalised.args.get("priority")) == repr(args.get("priority"))  # 2 and 2.0 are equal, but not the same
    assert normalised.without_defaults.keys() == args.keys()
    assert normalised.warnings == warnings


@pytest.mark.parametrize(
    ("sent", "applied"),
    [
        ({}, {"project_id": PROJECT_ID}),
        ({"project_id": " "}, {"project_id": PROJECT_ID}),
        ({"projectId": ""}, {"project_id": PROJECT_ID}),
        ({"project_id": TASK_ID}, {}),
        ({"project_id": None}, {}),
    ],
)
def test_normalise_takes_a_missing_project_id_from_the_context(sent: dict[str, Any], applied: dict[str, Any]) -> None:
    normalised = normalise_args(UPDATE, sent, IN_PROJECT)

    assert normalised.applied_defaults == applied
    assert normalised.args["project_id"] == applied.get("project_id", sent.get("project_id"))


def test_normalise_takes_no_project_id_from_the_context_for_rows_named_by_id() -> None:
    bulk = build_op(
        schema={
            "type": "object",
            "properties": {
                "project_id": ARGUMENTS["project_id"],
                "task_ids": {"type": "array", "minItems": 1, "items": {"type": "string", "format": "uuid"}},
            },
        },
        argument_aliases={"ids": "task_ids"},
    )

    assert normalise_args(bulk, {"ids": [TASK_ID]}, IN_PROJECT).args == {"task_ids": [TASK_ID]}
    assert normalise_args(bulk, {"task_ids": []}, IN_PROJECT).args == {"task_ids": []}
    assert normalise_args(bulk, {}, IN_PROJECT).args == {"project_id": PROJECT_ID}


def test_normalise_keeps_a_blank_in_place_of_a_list_that_must_not_be_empty() -> None:
    assert normalise_args(UPDATE, {"tags": ""}, NO_CONTEXT).args["tags"] == ""  # validation refuses it


def test_normalise_adds_no_project_id_to_an_op_without_it() -> None:
    bare = build_op(schema={"type": "object", "properties": {}, "additionalProperties": False})

    assert normalise_args(bare, {}, IN_PROJECT).args == {}


def test_normalise_does_not_match_very_long_names() -> None:
    name = "title" + " " * 100 + "x" * 1000

    normalised = normalise_args(UPDATE, {name: "A"}, NO_CONTEXT)

    assert name in normalised.args
    assert normalised.warnings == []


argument_names = (
    st.sampled_from([*ARGUMENTS, "name", "id", "taskId", "Task ID", "stateKey", "task_title", "nothing"]) | st.text()
)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(["", "  ", " x ", "completed", "HIGH", "In Progress", TASK_ID, f" {TASK_ID} "]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(argument_names, inner, max_size=4),
    max_leaves=10,
)
args_strategy = st.dictionaries(argument_names, values, max_size=6)
contexts = st.sampled_from([NO_CONTEXT, IN_PROJECT])
fuzz_settings = settings(max_examples=examples(150), deadline=None)


@fuzz_settings
@given(args_strategy, contexts)
def test_normalise_does_not_change_its_input(sent: dict[str, Any], context: UserContext) -> None:
    before = copy.deepcopy(sent)

    normalised = normalise_args(UPDATE, sent, context)
    normalised.args["added"] = normalised.args.get("props")

    assert sent == before


@fuzz_settings
@given(args_strategy | st.dictionaries(st.sampled_from([*ARGUMENTS]), values, max_size=3), contexts)
def test_normalise_skips_only_steps_that_change_nothing(sent: dict[str, Any], context: UserContext) -> None:
    skipping, thorough = build_op("task_id"), build_op("task_id")
    thorough.__dict__["plain_types"] = {}

    assert normalise_args(skipping, sent, context) == normalise_args(thorough, sent, context)


@fuzz_settings
@given(args_strategy, contexts)
def test_normalise_is_idempotent(sent: dict[str, Any], context: UserContext) -> None:
    first = normalise_args(UPDATE, sent, context)

    second = normalise_args(UPDATE, first.args, context)

    assert second.args == first.args
    assert second.warnings == []
    assert second.applied_defaults == {}


@pytest.mark.parametrize(
    ("args", "is_empty"),
    [
        ({"task_id": TASK_ID}, True),
        ({"task_id": TASK_ID, "props": {}}, True),
        ({"task_id": TASK_ID, "update_strategy": "append", "fields": ["*"]}, True),  # how to do it, what to answer
        ({"task_id": TASK_ID, "props": {"a": None}}, False),
        ({"task_id": TASK_ID, "description": None}, False),  # null clears
        ({"task_id": TASK_ID, "urgent": False}, False),
        ({"task_id": TASK_ID, "title": "A", "props": {}}, False),
        ({}, True),
    ],
)
def test_is_empty_update_is_true_without_a_changed_field(args: dict[str, Any], is_empty: bool) -> None:
    assert is_empty_update(UPDATE, args) is is_empty
    assert is_empty_update(build_op("task_id", action="create"), args) is False


@pytest.mark.parametrize(
    ("required", "args", "is_empty"),
    [
        (("task_id", "title"), {"task_id": TASK_ID, "title": "A"}, False),  # a PUT requires what it replaces
        (("task_id",), {"task_id": TASK_ID, "tags": []}, False),  # clears
        (("task_id",), {"task_id": TASK_ID}, True),
    ],
)
def test_update_by_a_request_is_empty_without_an_arg_outside_its_path(
    required: tuple[str, ...], args: dict[str, Any], is_empty: bool
) -> None:
    request = {"method": "PUT", "path": "/tasks/{task_id}", "parameters": [{"name": "task_id", "in": "path"}]}

    assert is_empty_update(build_op(*required, request=request), args) is is_empty


def test_update_without_fields_is_never_empty() -> None:
    request = {"method": "PUT", "path": "/tasks/{task_id}", "parameters": [{"name": "task_id", "in": "path"}]}
    schema = {"type": "object", "properties": {"task_id": {"type": "string"}}, "required": ["task_id"]}

    assert is_empty_update(build_op(request=request, schema=schema), {"task_id": TASK_ID}) is False


MANY_ARGS = {
    "unknown names": lambda size: {f"unknownName{at}": " " for at in range(size)},
    "rows": lambda size: {"steps": [{"state_key": "completed", "hours": 1.0} for _ in range(size)]},
    "values": lambda size: {"states": ["completed"] * size},
    "members": lambda size: {"props": {f"key{at}": {} for at in range(size)}},
}


@pytest.mark.parametrize("build", MANY_ARGS.values(), ids=MANY_ARGS)
def test_args_are_normalised_in_linear_time(build: Callable[[int], dict[str, Any]]) -> None:
    assert_linear(lambda args: normalise_args(UPDATE, args, IN_PROJECT), build, size=20_000)


@pytest.mark.parametrize("annotation", [5, "x", [], None, {"recurring": 5}, {"recurring": None}, {"recurring": {}}])
def test_annotations_of_another_form_are_left_alone(annotation: Any) -> None:
    title = {"type": "string", "x-omitted": annotation}
    op = build_op(schema={"type": "object", "properties": {"title": title}, "x-alias-args": annotation})

    assert normalise_args(op, {"title": "weekly"}, NO_CONTEXT, name="recurring").args == {"title": "weekly"}
