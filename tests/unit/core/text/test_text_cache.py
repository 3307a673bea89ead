import pytest

from core.text.lists import MAX_TEXT_LENGTH, cache_by_text


def test_cache_computes_each_short_text_once() -> None:
    computed: list[str] = []

    @cache_by_text
    def length(text: str) -> int:
        computed.append(text)
        return len(text)

    assert [length("a"), length("bb"), length("a")] == [1, 2, 1]
    assert computed == ["a", "bb"]


def test_cache_does_not_store_long_texts() -> None:
    computed: list[bytes] = []
    compute = cache_by_text(lambda text: computed.append(text))

    for _ in range(2):
        compute(b"x" * MAX_TEXT_LENGTH)
        compute(b"y" * (MAX_TEXT_LENGTH + 1))

    assert [text[:1] for text in computed] == [b"x", b"y", b"y"]


def test_cache_does_not_store_errors() -> None:
    outcomes = iter([ValueError("not yet"), None])

    @cache_by_text
    def fail_once(text: str) -> str:
        if error := next(outcomes):
            raise error
        return text

    with pytest.raises(ValueError, match="not yet"):
        fail_once("a")
    assert fail_once("a") == "a"
