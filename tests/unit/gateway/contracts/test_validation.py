from typing import Any

import pytest

from gateway.contracts.errors import FieldError
from gateway.contracts.validation import MAX_ERRORS, build_pointer, find_field_errors
from registry.jsonschema.validator import SchemaValidator
from tests.support.rows.sample_ops import TASK_ID, build_op

UPDATE = build_op("task_id")


def find_errors(args: dict[str, Any], **sources: str) -> list[FieldError]:
    return find_field_errors(UPDATE.validator, {"task_id": TASK_ID} | args, find_id_source=sources.get)


# Args, and of their one error: pointer, code, words of the message, expected and got.
ERRORS_BY_KEYWORD: list[tuple[dict[str, Any], str, str, str, str | None, str | None]] = [
    ({"title": 5}, "/title", "type", "title must be of type string", "string", "integer"),
    ({"title": None}, "/title", "type", "title must be of type string", "string", "null"),
    ({"priority": True}, "/priority", "type", "integer", "integer, 1..5", "boolean"),
    ({"title": ""}, "/title", "minLength", "at least 1 character", "string", "string of 0 characters"),
    ({"title": "x" * 31}, "/title", "maxLength", "at most 30 characters", "string", "string of 31 characters"),
    ({"priority": 0}, "/priority", "minimum", "at least 1", "integer, 1..5", "integer"),
    ({"priority": 6}, "/priority", "maximum", "at most 5", "integer, 1..5", "integer"),
    ({"share": 0}, "/share", "exclusiveMinimum", "more than 0", "number", "integer"),
    (
        {"state_key": "x"},
        "/state_key",
        "enum",
        "todo, in_progress, done",
        "todo|in_progress|done",
        "string of 1 character",
    ),
    ({"size": "medium"}, "/size", "enum", "size: There is no middle; send", "small|large", "string of 6 characters"),
    ({"tags": []}, "/tags", "minItems", "at least 1 item", "[string], max 3", "list"),
    ({"tags": ["a", "b", "c", "d"]}, "/tags", "maxItems", "at most 3 items", "[string], max 3", "list"),
    ({"tags": ["a", "a"]}, "/tags", "uniqueItems", "tags must not repeat an item", "[string], max 3", "list"),
    ({"state_key": None}, "/state_key", "type", "one of todo, in_progress, done.", "todo|in_progress|done", "null"),
    ({"levels": ["2"]}, "/levels/0", "type", "one of 1, 2, 3.", "1|2|3", "string of 1 character"),
    ({"tags": [1]}, "/tags/0", "type", "string", "string", "integer"),
    ({"due_at": "soon"}, "/due_at", "format", "RFC 3339", "date-time", "string of 4 characters"),
    ({"when": "soon"}, "/when", "format", "for whole days", "date or date-time", "string of 4 characters"),
    ({"place": {"room": "b"}}, "/place/room", "pattern", "A letter and a number", "string", "string of 1 character"),
    ({"place": {}}, "/place/room", "required", "room is required: string", "string", None),
    ({"place": {"room": "B1", "flor": 1}}, "/place/flor", "unknown_argument", "Did you mean floor?", "floor", None),
    ({"place": {"room": "B1", "x": 1}}, "/place/x", "unknown_argument", "Send only room, floor, owner_id.", None, None),
    ({"a/b~c": 1}, "/a~1b~0c", "unknown_argument", "Unknown argument a/b~c.", None, None),
    ({"project_id": "x"}, "/project_id", "format", "project_id must be a UUID", "uuid", "string of 1 character"),
]


@pytest.mark.parametrize(("sent", "path", "code", "words", "expected", "got"), ERRORS_BY_KEYWORD)
def test_field_error_has_path_code_message_expected_and_got(
    sent: dict[str, Any], path: str, code: str, words: str, expected: str | None, got: str | None
) -> None:
    (error,) = find_errors(sent)

    assert (error.path, error.code, error.expected, error.got) == (path, code, expected, got)
    assert words in error.message
    assert error.message.endswith((".", "?"))


@pytest.mark.parametrize(
    ("id", "problem"),
    [
        (": ", "placeholder"),
        ("<uuid>", "placeholder"),
        ("[task id]", "placeholder"),
        ("your_task_id", "placeholder"),
        ("TASK_ID", "placeholder"),
        ("abc…", "shortened"),
        ("7e3b9f20...3b01", "shortened"),
        ("7e3b9f20", "shortened"),
        (TASK_ID.replace("-", ""), "must be a UUID"),
        (f"urn:uuid:{TASK_ID}", "must be a UUID"),
        ("x" * 100_000, "must be a UUID"),
        (f"{TASK_ID}\n", "must be a UUID"),
    ],
)
def test_id_error_says_what_is_wrong_and_where_to_find_ids(id: str, problem: str) -> None:
    (error,) = find_errors({"task_id": id}, task_id="onto.task.list")

    assert (error.path, error.code) == ("/task_id", "format")
    assert problem in error.message
    assert error.message.endswith("Take the whole id from onto.task.list.")


def test_id_error_without_a_list_op_says_never_to_guess() -> None:
    (error,) = find_errors({"task_id": "x"})

    assert "never guess" in error.message


@pytest.mark.parametrize("name", ["7", "07", "+7"])
def test_field_error_path_contains_a_name_of_digits(name: str) -> None:
    digits_schema = {"type": "object", "properties": {name: {"type": "string"}}}
    schema = {"type": "object", "properties": {"lists": {"type": "array", "items": digits_schema}}}

    error = find_field_errors(SchemaValidator(schema), {"lists": [{}, {name: 5}]})[0]

    assert (error.path, error.code, error.expected) == (f"/lists/1/{name}", "type", "string")


def test_type_of_members_that_users_name_is_told() -> None:
    wanted = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}}
    schema = {"type": "object", "properties": {"own": {"type": "string"}}, "additionalProperties": wanted}

    errors = find_field_errors(SchemaValidator(schema), {"own": "a", "size": "b", "color": {"n": "c"}})

    assert [(error.path, error.message) for error in errors] == [
        ("/size", "size must be of type {n?: integer}."),
        ("/color/n", "n must be of type integer."),
    ]


def test_all_field_errors_are_found() -> None:
    errors = find_field_errors(UPDATE.validator, {"title": 5, "priority": 9, "x": 1, "tags": [1, 2]})

    assert {error.path: error.code for error in errors} == {
        "/task_id": "required",
        "/title": "type",
        "/priority": "maximum",
        "/x": "unknown_argument",
        "/tags/0": "type",
        "/tags/1": "type",
    }


def test_field_errors_are_bounded() -> None:
    assert len(find_errors({f"unknown_{number}": 1 for number in range(500)})) == MAX_ERRORS


def test_field_errors_never_contain_the_value() -> None:
    secret = "canary-7f3a91c0"
    sent: dict[str, Any] = {name: secret for name in UPDATE.arguments if name not in ("title", "description")}

    errors = find_errors(sent | {"title": [secret], "description": {"a": secret}, "unknown": secret})

    assert len(errors) >= 12
    assert secret not in str([error.as_dict() for error in errors])


@pytest.mark.parametrize(
    ("schema", "value", "code"),
    [
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, 5, "anyOf"),
        ({"oneOf": [{"type": "string"}, {"type": "null"}]}, 5, "oneOfNotValid"),
        ({"not": {"type": "string"}}, "x", "not"),
        ({"multipleOf": 5}, 7, "multipleOf"),
        ({"type": "object", "propertyNames": {"pattern": "^a"}}, {"b": 1}, "propertyNames"),
        ({"type": "object", "dependentRequired": {"a": ["b"]}}, {"a": 1}, "required"),
        ({"prefixItems": [{"type": "string"}], "items": False}, ["a", 1], "falseSchema"),
        (False, 1, "falseSchema"),
        ({"format": "email"}, "x", "format"),
    ],
)
def test_field_error_of_every_keyword_is_a_sentence(schema: Any, value: Any, code: str) -> None:
    root = {"type": "object", "properties": {"x": schema}}

    errors = find_field_errors(SchemaValidator(root), {"x": value})

    assert len(errors) >= 1
    assert errors[0].path.startswith("/x")
    assert errors[0].message.endswith((".", "?"))


@pytest.mark.parametrize(
    ("parts", "text"),
    [([], ""), (["a", 0], "/a/0"), (["a/b", "c~d"], "/a~1b/c~0d"), ([""], "/"), (["x" * 300], "/" + "x" * 199)],
)
def test_pointer_follows_rfc_6901_and_is_truncated(parts: list[str | int], text: str) -> None:
    assert build_pointer(parts) == text


@pytest.mark.parametrize(("sent", "hint"), [("actve", "Did you mean active?"), ("archived", "completed, cancelled.")])
def test_value_is_suggested_only_for_a_similar_spelling(sent: str, hint: str) -> None:
    schema = {"type": "object", "properties": {"state_key": {"enum": ["active", "paused", "completed", "cancelled"]}}}

    (error,) = find_field_errors(SchemaValidator(schema), {"state_key": sent})

    assert error.message.endswith(hint)
