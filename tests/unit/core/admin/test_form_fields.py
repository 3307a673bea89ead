from typing import Any

import pytest
from django.core.exceptions import ValidationError

from core.admin.form_fields import LinesField, PlainTextField, SentenceField, StrictJSONField


@pytest.mark.parametrize(
    "text", ["NaN", "1e999", '"\\ud800"', '"\\u0000"', "9" * 5_000, "[" * 2_000 + "]" * 2_000, "{"]
)
def test_invalid_json_is_refused_and_shown_again(text: str) -> None:
    field = StrictJSONField()

    with pytest.raises(ValidationError, match=r"\."):
        field.clean(text)
    assert field.prepare_value(field.bound_data(text, None)) == text


def test_json_is_shown_indented_and_entered_json_as_entered() -> None:
    field, text = StrictJSONField(), '{ "b": 1.0,\n\t"a": [] }'

    assert field.clean('{"a": "Größe"}') == {"a": "Größe"}
    assert field.prepare_value({"a": "Größe"}) == '{\n  "a": "Größe"\n}'
    assert field.prepare_value(field.bound_data(text, {})) == text
    assert field.bound_data(None, {}) == {}


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ('{\r\n  "a": 1,\r\n  "b" 2\r\n}', 3, 7, "Invalid JSON: Expecting ':' delimiter."),
        ('{\n  "a": "100%", "a": 2}', 2, 16, "An object has the same key twice."),
    ],
)
def test_json_error_names_line_and_column(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(ValidationError) as error:
        StrictJSONField().clean(text)

    assert error.value.messages[0].startswith(f"Line {line}, column {column}: {message}")
    assert error.value.params is not None
    assert (error.value.params["line"], error.value.params["column"]) == (line, column)


@pytest.mark.parametrize("initial", [list, dict])
def test_blank_optional_json_is_the_empty_value(initial: Any) -> None:
    assert StrictJSONField(required=False, initial=initial).clean("  ") == initial()
    with pytest.raises(ValidationError, match="required"):
        StrictJSONField(initial=initial).clean("")


def test_plain_text_has_no_carriage_returns() -> None:
    field = PlainTextField()

    assert field.clean("one\r\ntwo\rthree\n") == "one\ntwo\nthree"
    assert not field.has_changed("one\ntwo", "one\r\ntwo")


def test_sentence_is_a_single_line() -> None:
    assert SentenceField().clean("Send only  fields \r\n that change.\n") == "Send only  fields that change."


def test_lines_field_is_a_list_of_lines() -> None:
    field = LinesField(longest=10)

    assert field.clean("ana\r\n\r\n  ben c \nana\r\n") == ["ana", "ben c"]
    assert field.prepare_value(["ana", "ben c"]) == "ana\nben c"
    assert field.prepare_value(" ana\n\n") == " ana\n\n"
    assert not field.has_changed(["ana", "ben c"], "ana\r\nben c\r\n")


@pytest.mark.parametrize("text", ["", " \r\n\n", None])
def test_blank_lines_field_is_an_empty_list(text: str | None) -> None:
    assert LinesField(longest=10, required=False).clean(text) == []
    with pytest.raises(ValidationError, match="required"):
        LinesField(longest=10).clean(text)


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("ana\n\n" + "b" * 11, ["Line 3: 11 characters; the limit is 10."]),
        ("a\x00b", ["Line 1: remove the invisible character U+0000."]),
        ("ok\na\u200bb", ["Line 2: remove the invisible character U+200B."]),
        ("c\u2028d", ["Line 1: remove the invisible character U+2028."]),
        (("b" * 11 + "\n") * 100, [f"Line {n}: 11 characters; the limit is 10." for n in range(1, 6)]),
    ],
    ids=["too long", "NUL", "invisible", "separator", "at most five"],
)
def test_invalid_lines_are_named(text: str, messages: list[str]) -> None:
    with pytest.raises(ValidationError) as error:
        LinesField(longest=10).clean(text)

    assert error.value.messages == messages
