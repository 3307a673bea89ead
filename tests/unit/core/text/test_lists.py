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


def test_cache_computes_each_short_text_once() -> None:
    computed: list[str] = []

    @lists.cache_by_text
    def length(text: str) -> int:
        computed.append(text)
        return len(text)

    assert [length("a"), length("bb"), length("a")] == [1, 2, 1]
    assert computed == ["a", "bb"]


def test_cache_does_not_store_long_texts() -> None:
    computed: list[bytes] = []
    compute = lists.cache_by_text(lambda text: computed.append(text))

    for _ in range(2):
        compute(b"x" * lists.MAX_TEXT_LENGTH)
        compute(b"y" * (lists.MAX_TEXT_LENGTH + 1))

    assert [text[:1] for text in computed] == [b"x", b"y", b"y"]


def test_cache_does_not_store_errors() -> None:
    outcomes = iter([ValueError("not yet"), None])

    @lists.cache_by_text
    def fail_once(text: str) -> str:
        if error := next(outcomes):
            raise error
        return text

    with pytest.raises(ValueError, match="not yet"):
        fail_once("a")
    assert fail_once("a") == "a"
