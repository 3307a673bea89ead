from typing import Any

import pytest
from django.core.exceptions import ValidationError

from core.admin.form_fields import LinesField, PlainTextField, SentenceField, StrictJSONField


@pytest.mark.parametrize(
    "text", ["NaN", "1e999", '"\\ud800"', '"\\u0000"', "9" * 5_000, "[" * 2_000 + "]" * 2_000, "{"]
)
def test_json_that_could_not_be_kept_is_refused_and_shown_again(text: str) -> None:
    field = StrictJSONField()

    with pytest.raises(ValidationError, match=r"\."):
        field.clean(text)
    assert field.prepare_value(field.bound_data(text, None)) == text


def test_json_is_shown_as_a_person_edits_it() -> None:
    field = StrictJSONField()

    assert field.clean('{"a": "Größe"}') == {"a": "Größe"}
    assert field.prepare_value({"a": "Größe"}) == '{\n  "a": "Größe"\n}'


def test_json_as_typed_is_shown_as_it_was_typed() -> None:
    field = StrictJSONField()
    typed = '{ "b": 1.0,\n\t"a": [] }'

    assert field.prepare_value(field.bound_data(typed, {})) == typed
    assert field.bound_data(None, {}) == {}


@pytest.mark.parametrize(
    ("text", "line", "column", "said"),
    [
        ('{\r\n  "a": 1,\r\n  "b" 2\r\n}', 3, 7, "Invalid JSON: Expecting ':' delimiter."),
        ('{\n  "a": "100%", "a": 2}', 2, 16, "An object names the same key twice."),
    ],
)
def test_an_error_names_its_line_and_column(text: str, line: int, column: int, said: str) -> None:
    with pytest.raises(ValidationError) as refused:
        StrictJSONField().clean(text)

    assert refused.value.messages[0].startswith(f"Line {line}, column {column}: {said}")
    assert refused.value.params is not None
    assert (refused.value.params["line"], refused.value.params["column"]) == (line, column)


@pytest.mark.parametrize("initial", [list, dict])
def test_nothing_is_the_empty_value_of_what_may_be_left_out(initial: Any) -> None:
    assert StrictJSONField(required=False, initial=initial).clean("  ") == initial()
    with pytest.raises(ValidationError, match="required"):
        StrictJSONField(initial=initial).clean("")


def test_text_has_lines_and_no_carriage_returns() -> None:
    field = PlainTextField()

    assert field.clean("one\r\ntwo\rthree\n") == "one\ntwo\nthree"
    assert not field.has_changed("one\ntwo", "one\r\ntwo")


def test_a_sentence_has_no_lines() -> None:
    assert SentenceField().clean("Send only  fields \r\n that change.\n") == "Send only  fields that change."


def test_list_is_edited_line_by_line() -> None:
    field = LinesField(longest=10)

    assert field.clean("ana\r\n\r\n  ben c \nana\r\n") == ["ana", "ben c"]
    assert field.prepare_value(["ana", "ben c"]) == "ana\nben c"
    assert field.prepare_value(" ana\n\n") == " ana\n\n"
    assert not field.has_changed(["ana", "ben c"], "ana\r\nben c\r\n")


@pytest.mark.parametrize("text", ["", " \r\n\n", None])
def test_list_of_no_lines_is_empty(text: str | None) -> None:
    assert LinesField(longest=10, required=False).clean(text) == []
    with pytest.raises(ValidationError, match="required"):
        LinesField(longest=10).clean(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("ana\n\n" + "b" * 11, ["Line 3: 11 characters; the limit is 10."]),
        ("a\x00b", ["Line 1: remove the invisible character U+0000."]),
        ("ok\na\u200bb\nc\u2028d", [f"Line {n}: remove the invisible character U+{c}." for n, c in
            ((2, "200B"), (3, "2028"))]),
    ],
    ids=["too long", "NUL", "invisible"],
)  # fmt: skip
def test_lines_that_cannot_be_kept_are_named(text: str, told: list[str]) -> None:
    with pytest.raises(ValidationError) as refused:
        LinesField(longest=10).clean(text)

    assert refused.value.messages == told


def test_many_lines_that_cannot_be_kept_are_not_all_told() -> None:
    with pytest.raises(ValidationError) as refused:
        LinesField(longest=1).clean("ab\n" * 1_000)

    assert len(refused.value.messages) == 5
