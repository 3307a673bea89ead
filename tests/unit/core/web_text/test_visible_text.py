"""Texts of unknown origin without what nobody sees."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.web_text.extractor import strip_invisible, to_single_line


@pytest.mark.parametrize(
    ("text", "visible"),
    [
        ("a\r\nb\rc\td", "a\nb\nc\td"),
        ("a\x00\x07\x1b[31mb", "a[31mb"),
        ("pay\u202eeman\u202c", "payeman"),  # reversed text
        ("a\u200bb\ufeffc\u00add", "abcd"),  # zero-width characters
        ("a\U000e0041\U000e0042b", "ab"),  # tag characters can spell hidden words
        ("a\U000e0101b", "ab"),  # variation selectors can carry hidden bytes
        ("👩\u200d💻 می\u200cخواهم ❤\ufe0f", "👩\u200d💻 می\u200cخواهم ❤\ufe0f"),
    ],
)
def test_strip_invisible_keeps_visible_text(text: str, visible: str) -> None:
    assert strip_invisible(text) == visible


@given(st.text())
def test_strip_invisible_removes_all_hidden_characters_and_is_idempotent(text: str) -> None:
    visible = strip_invisible(text)

    hidden = {each for each in visible if unicodedata.category(each) in ("Cc", "Cf", "Cs", "Co")}
    assert hidden <= set("\n\t\u200c\u200d")
    assert strip_invisible(visible) == visible
    assert "\n" not in to_single_line(text)
