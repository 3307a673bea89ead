import pytest

from core.text_cache import MAX_TEXT_LENGTH, cache_by_text


def test_kept_makes_each_short_text_once() -> None:
    made: list[str] = []

    @cache_by_text
    def length(text: str) -> int:
        made.append(text)
        return len(text)

    assert [length("a"), length("bb"), length("a")] == [1, 2, 1]
    assert made == ["a", "bb"]


def test_kept_forgets_long_texts() -> None:
    made: list[bytes] = []
    remember = cache_by_text(lambda text: made.append(text))

    for _ in range(2):
        remember(b"x" * MAX_TEXT_LENGTH)
        remember(b"y" * (MAX_TEXT_LENGTH + 1))

    assert [text[:1] for text in made] == [b"x", b"y", b"y"]


def test_kept_forgets_errors() -> None:
    answers = iter([ValueError("not yet"), None])

    @cache_by_text
    def second_time(text: str) -> str:
        if error := next(answers):
            raise error
        return text

    with pytest.raises(ValueError, match="not yet"):
        second_time("a")
    assert second_time("a") == "a"
