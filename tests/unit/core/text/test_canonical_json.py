"""Canonical JSON (RFC 8785): the examples of the RFC, and equal values have equal digests."""

import hashlib
import json
from typing import Any

import pytest
import rfc8785
from hypothesis import assume, given
from hypothesis import strategies as st

from core.text import json_text
from tests.support.values.json_samples import ORDINARY_JSON

LARGE_NUMBERS = st.integers(-(10**40), 10**40) | st.floats(1e15, 1e23)

NESTED: list[Any] = []
for _ in range(2_000):
    NESTED = [NESTED]


def test_dumps_matches_the_example_of_the_rfc() -> None:
    # RFC 8785 section 3.2.2 and its result in section 3.2.3
    value = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"/",
        "literals": [None, True, False],
    }

    assert json_text.canonicalize(value).decode() == (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )


def test_dumps_sorts_keys_by_utf_16_code_units() -> None:
    # RFC 8785 section 3.2.3: an emoji's surrogates sort before the Hebrew presentation form
    keys = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6"]

    ordered = ["\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]
    assert list(json.loads(json_text.canonicalize(dict.fromkeys(keys)))) == ordered


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (0, b"0"),
        (-0.0, b"0"),
        (1.0, b"1"),
        (1e21, b"1e+21"),
        (-1.5e17, b"-1.5e+17"),
        (2**53, b"9007199254740992"),
        (-(2**63), b"-9223372036854775808"),
        (10**30, b"1" + b"0" * 30),
        (1e-7, b"1e-7"),
        (5e-324, b"5e-324"),
    ],
)
def test_dumps_writes_numbers_as_they_read_back(number: float, expected: bytes) -> None:
    assert json_text.canonicalize(number) == expected


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800", {"\udfff": 1}, {1: 2}, NESTED, [10**5_000]])
def test_dumps_refuses_values_without_a_canonical_form(value: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        json_text.canonicalize(value)


@given(
    st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), ORDINARY_JSON, max_size=6),
    st.randoms(),
)
def test_digest_does_not_depend_on_key_order(value: dict[str, Any], random: Any) -> None:
    shuffled = list(value.items())
    random.shuffle(shuffled)

    assert json_text.hash_canonically(dict(shuffled)) == json_text.hash_canonically(value)
    canonical = json_text.canonicalize(value)
    assert json_text.hash_canonically(value) == hashlib.sha256(canonical).hexdigest()
    assert json_text.hash_canonical_form(canonical) == json_text.hash_canonically(value)


@given(ORDINARY_JSON | LARGE_NUMBERS)
def test_dumps_reads_back_what_it_writes(value: Any) -> None:
    canonical = json_text.canonicalize(value)

    assert json.loads(canonical) == value
    assert json_text.canonicalize(json.loads(canonical)) == canonical


@given(ORDINARY_JSON)
def test_dumps_matches_the_reference_implementation(value: Any) -> None:
    assume(json.loads(rfc8785.dumps(value)) == value and "e+" not in json_text.canonicalize(value).decode())
    assert json_text.canonicalize(value) == rfc8785.dumps(value)
