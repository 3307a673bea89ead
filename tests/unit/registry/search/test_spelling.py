"""Spelling correction: which words are typos, and which are other words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.search.index import Speller

SPELLER = Speller(["task", "tasks", "calendar", "requirement", "get", "日本", "v2beta"])


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("taks", "task"),  # swapped
        ("taskk", "task"),  # one too many
        ("tsk", None),  # too short to correct
        ("txxk", None),  # two typos in a short word
        ("calender", "calendar"),
        ("calendaarr", "calendar"),  # two typos in a long word
        ("alendarc", None),  # a different first letter
        ("v2betaa", None),
        ("", None),
    ],
)
def test_correction_is_the_nearest_similar_word(word: str, meant: str | None) -> None:
    assert SPELLER.suggest(word) == meant


@given(st.text())
def test_correction_accepts_any_word(word: str) -> None:
    assert SPELLER.suggest(word) in {None, "task", "tasks", "calendar", "requirement"}
