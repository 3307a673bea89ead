"""Comparison of two texts for a person, word by word."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.text import bounded_matcher
from registry.text.word_diff import diff_lines, diff_words
from tests.support.growth import assert_linear

MARKS = {"both": "{}", "before": "[-{}-]", "after": "[+{}+]"}


def mark_words(before: str, after: str) -> str:
    return "".join(MARKS[each.side].format(each.text) for each in diff_words(before, after))


@pytest.mark.parametrize(
    ("before", "after", "marked"),
    [
        ("Add a task to projects", "Add one task to projects, now", "Add [-a-][+one+] task to projects[+, now+]"),
        # A name is one word: what changed is the op, not a part of its path.
        ("Use onto.task.list first", "Use onto.task.search first", "Use [-onto.task.list-][+onto.task.search+] first"),
        ("At most 2.5 s", "At most 2.75 s", "At most [-2.5-][+2.75+] s"),
        ("The user's tasks", "The users tasks", "The [-user's-][+users+] tasks"),
        # Words that two different sentences share by chance do not cut them into scraps.
        (
            "Change a task's state, dates or text",
            "Update one task; send only the fields that are new",
            "[-Change a task's state, dates or text-][+Update one task; send only the fields that are new+]",
        ),
        # A sentence that stays is not written again between one that comes and one that goes.
        (
            "Use ids. Skip the drafts.",
            "Ask the user first. Use ids.",
            "[+Ask the user first. +]Use ids[-. Skip the drafts-].",
        ),
        # What both have in common still stands between two changes if it is longer than they are.
        (
            "List the tasks of one project",
            "Show the tasks of a project",
            "[-List-][+Show+] the tasks of [-one-][+a+] project",
        ),
    ],
)
def test_diff_words_marks_what_a_reader_sees_as_changed(before: str, after: str, marked: str) -> None:
    assert mark_words(before, after) == marked


@given(st.text(), st.text())
def test_diff_words_can_rebuild_both_texts(before: str, after: str) -> None:
    pieces = diff_words(before, after)

    assert "".join(each.text for each in pieces if each.side != "after") == before
    assert "".join(each.text for each in pieces if each.side != "before") == after


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abcd")))
def test_diff_words_can_rebuild_texts_that_it_has_no_time_to_compare(before: list[str], after: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounded_matcher, "MAX_WORK", 20)
        test_diff_words_can_rebuild_both_texts.hypothesis.inner_test(" ".join(before), " ".join(after))  # type: ignore[attr-defined]


def test_diff_words_finds_a_small_change_in_a_long_text() -> None:
    same = " ".join(["the same word"] * 2_000)
    once = " ".join(f"unchanged{number} a a a" for number in range(500))  # words that the text has once

    assert mark_words(f"{same} old {same}", f"{same} new {same}") == f"{same} [-old-][+new+] {same}"
    assert mark_words(once, once.replace("a a a", "a b a")) == once.replace("a a a", "a [-a-][+b+] a")


WORDS: dict[str, Callable[[int], tuple[list[str], list[str]]]] = {
    "one word": lambda size: (["a"] * size, ["a", "b"] * size),
    "all different": lambda size: ([f"a{at}" for at in range(size)], [f"b{at}" for at in range(size)]),
    "every second one": lambda size: (
        [f"{mark}{at}" for at in range(size) for mark in ("old", "x")],
        [f"{mark}{at}" for at in range(size) for mark in ("new", "x")],
    ),
    "other order": lambda size: ([f"a{at}" for at in range(size)], [f"a{at}" for at in reversed(range(size))]),
    "few words": lambda size: ([f"a{at % 90}" for at in range(size)], [f"a{at % 91}" for at in range(size)]),
}


@pytest.mark.parametrize("build", WORDS.values(), ids=WORDS)
def test_diffs_take_linear_time(build: Callable[[int], tuple[list[str], list[str]]]) -> None:
    assert_linear(lambda sides: diff_words(*map(" ".join, sides)), build, size=2_000)
    assert_linear(lambda sides: diff_lines(*map("\n".join, sides)), build, size=2_000)
