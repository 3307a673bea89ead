"""Titles of conversations, from their first message."""

import pytest

from chat.conversations.summaries import shorten_title


@pytest.mark.parametrize(
    ("message", "title"),
    [
        ("Which tasks are late?", "Which tasks are late?"),
        ("Move it to Friday. Then tell Ana.", "Move it to Friday"),
        ("Hello. Which tasks are late?", "Hello. Which tasks are late?"),
        (
            "Create a project “Team offsite” with three tasks: Find a venue, Book it, Tell all",
            "Create a project “Team offsite”…",
        ),
        ("Find me a free hour on a morning next week for comparing the hobs", "Find me a free hour on a morning next…"),
        ("  two\nlines ", "two lines"),
        ("x" * 100, "x" * 39 + "…"),
    ],
)
def test_title_is_the_beginning_of_the_message_in_whole_words(message: str, title: str) -> None:
    assert shorten_title(message) == title
