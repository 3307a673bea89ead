"""Strict JSON: any bytes are a value or NotStrictJSON, and ordinary JSON is parsed unchanged."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.json_text import MAX_DEPTH, MAX_INT64, MAX_INTEGER, MAX_VALUES, NotStrictJSON, parse
from tests.support.values.json_samples import ORDINARY_JSON

PIECES = st.sampled_from(
    [
        *rb"""
        { } [ ] , : "a" "\u0061" \ud800 \u0000 " 1 -0 1e999 NaN -Infinity null 99999999999999999999 \
        """.split(),
        *[b"\xef\xbb\xbf", b"\xff", b"\x00", b" "],
    ]
)


def build_nested_lists(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


@given(st.binary() | st.lists(PIECES).map(b"".join))
def test_loads_parses_or_refuses_any_bytes(raw: bytes) -> None:
    try:
        value = parse(raw)
    except NotStrictJSON:
        return
    json.dumps(value, allow_nan=False, ensure_ascii=False).encode()


@given(ORDINARY_JSON, st.booleans(), st.sampled_from([None, (",", ":")]))
def test_loads_parses_ordinary_json(value: Any, ascii_only: bool, separators: tuple[str, str] | None) -> None:
    raw = json.dumps(value, ensure_ascii=ascii_only, separators=separators).encode()

    assert json.dumps(parse(raw)) == json.dumps(value)


@given(ORDINARY_JSON)
def test_loads_refuses_every_proper_prefix_of_an_object(value: Any) -> None:
    raw = json.dumps({"args": value}).encode()

    for end in {1, len(raw) // 2, len(raw) - 1}:
        with pytest.raises(NotStrictJSON):
            parse(raw[:end])


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"", "invalid_json"),
        (b'{"a": 1} {}', "invalid_json"),
        (b'"a\x00b"', "invalid_json"),  # a raw NUL is not JSON
        (b"\xef\xbb\xbf{}", "invalid_json"),  # RFC 8259 section 8.1: no byte order mark
        (b'"\xff"', "invalid_utf8"),
        (b'"\xc0\xaf"', "invalid_utf8"),  # an overlong slash
        (b'"\xed\xa0\x80"', "invalid_utf8"),  # a surrogate in UTF-8
        ('{"a": 1}'.encode("utf-16"), "invalid_utf8"),
        (b'"\\u0000"', "nul_character"),
        (b'{"a\\u0000": 1}', "nul_character"),
        (b'["\\ud800"]', "lone_surrogate"),
        (b'{"\\udfff": 1}', "lone_surrogate"),
        (b"NaN", "not_a_number"),
        (b"[-Infinity]", "not_a_number"),
        (b"1e999", "number_out_of_range"),
        (b"1" * 5_000, "number_out_of_range"),
        *(
            (raw, "number_out_of_range")
            for raw in (b"9223372036854775808", b"-9223372036854775808", b"[18446744073709551616]")
        ),
        (b'{"a": 1, "a": 1}', "duplicate_key"),
        (b'{"a":1,"a":1}', "duplicate_key"),
        (b'{"a": {"b": [{"c": 1, "c": 2}]}}', "duplicate_key"),
        (b'{"a": 1, "\\u0061": 2}', "duplicate_key"),  # the same key with an escape
        (build_nested_lists(100_000), "too_deep"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "too_deep"),
    ],
)
def test_loads_refuses_with_the_broken_rule(raw: bytes, code: str) -> None:
    with pytest.raises(NotStrictJSON) as error:
        parse(raw)

    assert error.value.code == code


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b" {} \n", {}),
        (b'"\\ud83d\\ude00"', "\U0001f600"),  # a whole surrogate pair is one character
        (b"1e308", 1e308),
        (b"9007199254740993", MAX_INTEGER + 2),
        (b"9223372036854775807", MAX_INT64),
        (b"-9223372036854775807", -MAX_INT64),
        (b'["\\\\u0000"]', ["\\u0000"]),  # a backslash and letters, not a NUL
        (b'{"a": {"a": 1}}', {"a": {"a": 1}}),
    ],
)
def test_loads_parses_edge_cases(raw: bytes, value: Any) -> None:
    assert parse(raw) == value


def test_loads_counts_depth_exactly() -> None:
    assert parse(build_nested_lists(MAX_DEPTH))
    assert parse(b"[" * 31 + b'{"a": 1}' + b"]" * 31)
    for raw in (build_nested_lists(MAX_DEPTH + 1), b"[" * 32 + b'{"a": 1}' + b"]" * 32):
        with pytest.raises(NotStrictJSON, match="nested more than 32 levels"):
            parse(raw)


@pytest.mark.parametrize(
    "make",
    [
        lambda count: [1] * (count - 1),  # the list also counts as a value
        lambda count: {str(n): n for n in range(count - 1)},
        lambda count: [[1] for _ in range((count - 1) // 2)] + [1] * ((count - 1) % 2),
    ],
    ids=["list", "object", "lists"],
)
def test_loads_counts_values_exactly(make: Any) -> None:
    parse(json.dumps(make(MAX_VALUES)).encode())
    with pytest.raises(NotStrictJSON) as error:
        parse(json.dumps(make(MAX_VALUES + 1)).encode())

    assert error.value.code == "too_large"


def test_loads_does_not_count_commas_in_text_as_values() -> None:
    assert parse(json.dumps([",[{" * 20_000]).encode()) == [",[{" * 20_000]


@given(st.integers(MAX_INT64 + 1, 10**400), st.booleans())
def test_error_never_contains_the_value(number: int, negative: bool) -> None:
    value = -number if negative else number

    with pytest.raises(NotStrictJSON) as error:
        parse(json.dumps({"secret": value}).encode())

    assert str(number) not in str(error.value)
