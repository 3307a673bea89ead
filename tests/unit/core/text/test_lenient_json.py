"""JSON that bends the rules is read, and what had to be changed is remarked."""

import json
from contextlib import suppress
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text import json_text, lenient_json
from core.text.lenient_json import BAD_LINE, LenientReader, NotJSON, TooManyJSONValues, UnreadableJSON
from tests.support.growth import assert_linear
from tests.support.loops import for_each

LONG = "123456789012345678901234567890"


@for_each(
    "text, value, remark",
    [
        ('{"a": [1, 2.5, true, null]}', {"a": [1, 2.5, True, None]}, ""),
        ('{"a": NaN}', {"a": None}, lenient_json.NOT_FINITE),
        ('{"a": -Infinity}', {"a": "-Infinity"}, lenient_json.NOT_FINITE),
        ('{"a": 1e999}', {"a": "1e999"}, lenient_json.LONG_NUMBER),
        (f'{{"a": {LONG}}}', {"a": LONG}, lenient_json.LONG_NUMBER),
        (f'{{"a": {LONG}.25}}', {"a": f"{LONG}.25"}, lenient_json.LONG_NUMBER),
        ('{"a": 18446744073709551615, "b": 1.5e300}', {"a": 2**64 - 1, "b": 1.5e300}, ""),
        ('{"a": 1, "b": 0, "a": {"c": 2}}', {"a": [1, {"c": 2}], "b": 0}, lenient_json.REPEATED_KEY),
        (r'{"a": "x\ud83c", "b": "\ud83c\udf0d"}', {"a": "x\ufffd", "b": "🌍"}, lenient_json.BAD_CHARACTER),
        (r'{"a\u0000": "\u0000"}', {"a\ufffd": "\ufffd"}, lenient_json.BAD_CHARACTER),
        ('{"a": "line\nand\ttab"}', {"a": "line\nand\ttab"}, ""),
        ("[" * 33 + "1" + "]" * 33, json.loads("[" * 32 + '"[1]"' + "]" * 32), lenient_json.DEEP),
        (")]}'\n[1]", [1], ""),
        (")]}',\n[1]", [1], ""),
        ("while(1);[1]", [1], ""),
        ("for (;;);[1]", [1], ""),
        ("&&&START&&& [1]", [1], ""),
        ("{}&&[1]", [1], ""),
        ("throw 1; <dont be evil> [1]", [1], ""),
        ('callback({"a": 1});', {"a": 1}, ""),
        ("/**/ typeof a.b === 'function' && a.b([1]);", [1], ""),
    ],
)
def test_value_is_read(text: str, value: Any, remark: str) -> None:
    reader = LenientReader()

    assert reader.parse(text) == value
    assert reader.remarks == ((remark,) if remark else ())


@for_each(
    "text, error",
    [
        *((text, NotJSON) for text in ("", "{", "hello", "[NaN] and more", "{'a': 1}", "[" * 10_000 + "]" * 10_000)),
        ("[NaN," + "0," * 200_000 + "0]", TooManyJSONValues),
    ],
)
def test_what_cannot_be_read_leaves_no_remark(text: str, error: type[Exception]) -> None:
    reader = LenientReader()

    with pytest.raises(error):
        reader.parse(text)
    assert reader.remarks == ()


@for_each(
    "text, values",
    [
        ('{"a": 1}\n{"a": 2}\n', [{"a": 1}, {"a": 2}]),
        ('\x1e{"a": 1}\n\x1e{"a": 2}\n', [{"a": 1}, {"a": 2}]),
        ('{"a": 1}{\n"a": 2\n}\r\n\r\n[3]', [{"a": 1}, {"a": 2}, [3]]),
    ],
)
def test_values_that_follow_each_other_are_rows(text: str, values: list[Any]) -> None:
    assert LenientReader().parse_sequence(text) == values


def test_a_line_that_is_no_json_stays_a_text() -> None:
    reader = LenientReader()

    assert reader.parse_sequence('{"a": 1}\n{"a": 2}\n{"a": 3}\n{"a') == [{"a": 1}, {"a": 2}, {"a": 3}, '{"a']
    assert reader.remarks == (BAD_LINE,)


def test_lines_of_an_ordinary_text_are_no_rows() -> None:
    for text in ("1\n2\n3", "[INFO] start\n[INFO] end", '{"a": 1}'):
        with pytest.raises(NotJSON):
            LenientReader().parse_sequence(text)
    assert LenientReader().parse_sequence("1\n2", is_sequence=True) == [1, 2]


TEXTS = st.text("{}[]\",:\\ud83c0NaInfty1eE+-. \n\x1e\0'();", max_size=60)


@given(TEXTS | st.text(max_size=40))
def test_any_text_is_strict_json_or_refused(text: str) -> None:
    for read in (LenientReader().parse, LenientReader().parse_sequence):
        try:
            value = read(text)
        except UnreadableJSON:
            continue
        orjson.loads(json_text.dump(value))
        json_text.check_value(value, json_text.ANSWER_LIMITS)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=20),
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.text(st.characters(), max_size=5), inner, max_size=5)
    ),
)


@given(VALUES)
def test_any_value_is_repaired(value: Any) -> None:
    repaired = LenientReader().repair(value)

    assert orjson.loads(json_text.dump(repaired)) == repaired
    assert LenientReader().repair(repaired) == repaired


@for_each("piece", ["[", '{"a":', "/**/", "a(", '"\\ud83c', "1\n", '{"a":1}\n', "\x1e", "throw "])
def test_reading_time_is_linear(piece: str) -> None:
    def read(text: str) -> None:
        for parse in (LenientReader().parse, LenientReader().parse_sequence):
            with suppress(UnreadableJSON):
                parse(text)

    assert_linear(read, lambda size: piece * (size // len(piece)), size=60_000)
