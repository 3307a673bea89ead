"""Typos: what is a slip of a word, and what is another word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.search.spelling import Speller

SPELLER = Speller(["task", "tasks", "calendar", "requirement", "get", "日本", "v2beta"])


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("taks", "task"),  # swapped
        ("taskk", "task"),  # one too many
        ("tsk", None),  # too short to tell
        ("txxk", None),  # two slips in a short word
        ("calender", "calendar"),
        ("calendaarr", "calendar"),  # two slips in a long one
        ("reqiurment", "requirement"),
        ("alendarc", None),  # another first letter
        ("gett", None),  # words of three letters are nobody's typo
        ("v2betaa", None),
        ("", None),
    ],
)
def test_meant_is_the_nearest_word_within_reason(word: str, meant: str | None) -> None:
    assert SPELLER.suggest(word) == meant


@given(st.text())
def test_any_word_can_be_asked_for(word: str) -> None:
    assert SPELLER.suggest(word) in {None, "task", "tasks", "calendar", "requirement"}
