"""Decoding bytes of unknown origin into visible text."""

import codecs
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.web_text.extractor import decode_body, strip_invisible, to_single_line

CHARSETS = ["", "utf-8", "latin-1", "shift_jis", "idna", "unicode_escape", "zlib_codec", "rot13", "x\x00y", "none.such"]


@pytest.mark.parametrize(
    ("body", "charset", "text"),
    [
        ("Größe".encode(), "", "Größe"),  # no charset: UTF-8
        ("Größe".encode("latin-1"), "", "Größe"),  # no charset and not UTF-8
        ("“a”".encode("windows-1252"), "iso-8859-1", "“a”"),  # as browsers do
        ("日本語".encode("shift_jis"), "Shift_JIS", "日本語"),
        (b'<meta charset="shift_jis">' + "日本語".encode("shift_jis"), "", '<meta charset="shift_jis">日本語'),
        (codecs.BOM_UTF8 + "é".encode(), "latin-1", "é"),  # the byte order mark wins over the header
        (codecs.BOM_UTF16_LE + "é".encode("utf-16-le"), "utf-8", "é"),
        (b"\\u0041", "unicode_escape", "\\u0041"),  # a codec of Python that no page uses
        (b"\xff\xffa", "utf-8", "\ufffd\ufffda"),
        (b"", "utf-8", ""),
    ],
)
def test_decode_works_like_browsers(body: bytes, charset: str, text: str) -> None:
    assert decode_body(body, charset) == text


@given(body=st.binary(max_size=200), charset=st.one_of(st.sampled_from(CHARSETS), st.text(max_size=20)))
def test_decode_accepts_any_bytes_and_charset(body: bytes, charset: str) -> None:
    assert isinstance(decode_body(body, charset), str)


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
