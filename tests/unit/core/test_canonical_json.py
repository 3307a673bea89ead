"""RFC 8785: its own examples, and that equal values have one hash."""

import hashlib
import json
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from core import canonical_json
from tests.support.json_samples import ORDINARY


def test_dumps_gives_the_example_of_the_rfc() -> None:
    # RFC 8785 section 3.2.2 and its result in section 3.2.3
    value = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"/",
        "literals": [None, True, False],
    }

    assert canonical_json.dumps(value).decode() == (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )


def test_dumps_sorts_keys_by_utf_16_code_units() -> None:
    # RFC 8785 section 3.2.3: an emoji's surrogates sort before the Hebrew presentation form
    keys = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6"]

    assert list(json.loads(canonical_json.dumps(dict.fromkeys(keys)))) == [
        *("\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33")
    ]


@pytest.mark.parametrize(
    ("number", "form"),
    [
        (0, b"0"),
        (-0.0, b"0"),
        (1.0, b"1"),
        (1e21, b"1e+21"),
        (1e20, b"100000000000000000000"),
        (1e-6, b"0.000001"),
        (1e-7, b"1e-7"),
        (5e-324, b"5e-324"),
        (2**53 - 1, b"9007199254740991"),
    ],
)
def test_dumps_writes_numbers_as_ecmascript_does(number: float, form: bytes) -> None:
    assert canonical_json.dumps(number) == form


@pytest.mark.parametrize("value", [2**53, -(2**53), float("nan"), float("inf"), "\ud800", {"\udfff": 1}])
def test_dumps_refuses_what_has_no_canonical_form(value: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        canonical_json.dumps(value)


@given(
    st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), ORDINARY, max_size=6), st.randoms()
)
def test_digest_is_the_same_in_any_order(value: dict[str, Any], random: Any) -> None:
    shuffled = list(value.items())
    random.shuffle(shuffled)

    assert canonical_json.digest(dict(shuffled)) == canonical_json.digest(value)
    assert canonical_json.digest(value) == hashlib.sha256(canonical_json.dumps(value)).hexdigest()


@given(ORDINARY)
def test_dumps_is_stable_over_parsing(value: Any) -> None:
    once = canonical_json.dumps(value)

    assert (
        canonical_json.dumps(json.loads(once, parse_int=float)) == once
    )  # a double beyond 2**53 is written as an integer


@given(ORDINARY)
def test_dumps_is_what_the_reference_writes_however_plain_a_value_is(value: Any) -> None:
    assert canonical_json.dumps(value) == rfc8785.dumps(value)


@given(ORDINARY, ORDINARY)
def test_digest_differs_where_values_differ(one: Any, other: Any) -> None:
    assert (canonical_json.digest(one) == canonical_json.digest(other)) is (
        canonical_json.dumps(one) == canonical_json.dumps(other)
    )


def test_hash_of_a_form_is_the_digest_of_its_value() -> None:
    value = {"b": [1, 2.5], "a": "ü"}

    assert canonical_json.hash_canonical_form(canonical_json.dumps(value)) == canonical_json.digest(value)
