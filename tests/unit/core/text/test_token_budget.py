import pytest

from core.text import token_budget


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("hello world", 2),  # as published for o200k_base
        ("tiktoken is great!", 6),
        ("お誕生日おめでとう", 8),
    ],
)
def test_count_matches_o200k_base(text: str, count: int) -> None:
    assert token_budget.count(text) == count


def test_count_treats_special_token_names_as_text() -> None:
    assert token_budget.count("<|endoftext|>") > 1
    assert token_budget.count("<|endofprompt|><|endoftext|>") > 2
