"""Numbers in words, with units and as shares."""

from typing import Any

import pytest

from gateway.arguments.number_words import read_number

SHARE = {"type": "number", "minimum": 0, "maximum": 1}
COUNT = {"type": "integer", "maximum": 50}


@pytest.mark.parametrize(
    ("name", "argument", "text", "expected"),
    [
        ("probability", SHARE, "very likely", 0.85),
        ("probability", SHARE, "quite likely", 0.7),
        ("probability", SHARE, "fifty percent", 0.5),
        ("probability", SHARE, "~30%", 0.3),
        ("probability", SHARE, "0,4", 0.4),
        ("probability", SHARE, "1 in 4", 0.25),
        ("duration_minutes", COUNT, "an hour and a half", 90),
        ("probability", SHARE, "20 to 30 percent", 0.25),
        ("duration_minutes", COUNT, "two hours", 120),
        ("duration_minutes", COUNT, "2-3 hours", 180),
        ("duration_minutes", COUNT, "two or three hours", 180),
        ("duration_minutes", COUNT, "at least a couple of hours", 120),
        ("days", COUNT, "three days earlier", -3),
        ("days", COUNT, "minus 2", -2),
        ("days", COUNT, "a week", 7),
        ("limit", COUNT, "all", 50),
        ("quantity", COUNT, "a dozen", 12),
        ("price", {"type": "number"}, "€24.50", 24.5),
        ("preferred_hours", COUNT, "2 pm", 14),
        ("position", COUNT, "second", 1),
    ],
)
def test_number_in_words_is_read(name: str, argument: dict[str, Any], text: str, expected: float) -> None:
    assert read_number(name, argument, text) == expected


@pytest.mark.parametrize(
    ("name", "argument", "text"),
    [
        ("probability", SHARE, "4 in 1"),
        ("probability", SHARE, "whatever"),
        ("days", COUNT, "an hour"),  # no whole days
        ("quantity", COUNT, "2-3"),
        ("quantity", COUNT, "2.5"),
        ("quantity", COUNT, "some"),
    ],
)
def test_text_that_is_no_certain_number_is_not_read(name: str, argument: dict[str, Any], text: str) -> None:
    assert read_number(name, argument, text) is None
