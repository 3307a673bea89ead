import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text import json_pointer

# The document and the pointers of RFC 6901, section 5.
DOCUMENT = {"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "m~n": 8, " ": 7}
POINTERS = {"": DOCUMENT, "/foo": ["bar", "baz"], "/foo/0": "bar", "/": 0, "/a~1b": 1, "/c%d": 2, "/m~0n": 8, "/ ": 7}


@pytest.mark.parametrize("pointer", POINTERS)
def test_resolve_returns_the_value_at_a_pointer(pointer: str) -> None:
    assert json_pointer.resolve(DOCUMENT, pointer) == POINTERS[pointer]


@pytest.mark.parametrize("pointer", ["/gone", "/foo/2", "/foo/-", "/foo/01", "/foo/-1", "/foo/²", "/a~1b/0"])
def test_resolve_refuses_a_pointer_without_a_value(pointer: str) -> None:
    with pytest.raises(LookupError):
        json_pointer.resolve(DOCUMENT, pointer)


@given(st.lists(st.text()))
def test_split_returns_what_build_joined(parts: list[str]) -> None:
    assert json_pointer.split(json_pointer.build(parts)) == parts
