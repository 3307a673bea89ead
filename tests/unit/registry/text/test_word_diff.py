"""Comparison of two texts for a person, word by word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.text.word_diff import diff_words

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
