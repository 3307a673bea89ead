import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text import lists


@given(st.text())
def test_decode_returns_what_was_encoded(position: str) -> None:
    cursor = lists.encode_cursor(position)

    assert lists.decode_cursor(cursor) == position
    assert cursor.isascii()
    assert "=" not in cursor


@pytest.mark.parametrize("cursor", ["a", "a b", "ab+/", "é", "\ud800", "_w"], ids=repr)
def test_decode_refuses_an_invalid_cursor(cursor: str) -> None:
    with pytest.raises(lists.InvalidCursor):
        lists.decode_cursor(cursor)
