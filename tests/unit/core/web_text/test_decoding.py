"""Bytes of unknown origin become what a person would see, whatever they are and whatever they say they are."""

import codecs
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.web_text.decoding import decode, strip_invisible, to_single_line

CHARSETS = ["", "utf-8", "latin-1", "shift_jis", "idna", "unicode_escape", "zlib_codec", "rot13", "x\x00y", "none.such"]


@pytest.mark.parametrize(
    ("body", "charset", "text"),
    [
        ("Größe".encode(), "", "Größe"),  # nothing said: UTF-8
        ("Größe".encode("latin-1"), "", "Größe"),  # nothing said, and no UTF-8
        ("Größe".encode("latin-1"), "ISO-8859-1", "Größe"),
        ("“a”".encode("windows-1252"), "iso-8859-1", "“a”"),  # what browsers do
        ("日本語".encode("shift_jis"), "Shift_JIS", "日本語"),
        (b'<meta charset="shift_jis">' + "日本語".encode("shift_jis"), "", '<meta charset="shift_jis">日本語'),
        (codecs.BOM_UTF8 + "é".encode(), "latin-1", "é"),  # the mark wins over the header
        (codecs.BOM_UTF16_LE + "é".encode("utf-16-le"), "utf-8", "é"),
        ("Größe".encode(), "no-such-encoding", "Größe"),
        (b"\\u0041", "unicode_escape", "\\u0041"),  # Python's own, and no page's
        (b"\xff\xffa", "utf-8", "\ufffd\ufffda"),
        (b"", "utf-8", ""),
    ],
)
def test_decoded_reads_as_browsers_do(body: bytes, charset: str, text: str) -> None:
    assert decode(body, charset) == text


@given(body=st.binary(max_size=200), charset=st.one_of(st.sampled_from(CHARSETS), st.text(max_size=20)))
def test_decoded_takes_anything(body: bytes, charset: str) -> None:
    assert isinstance(decode(body, charset), str)


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("a\r\nb\rc\td", "a\nb\nc\td"),
        ("a\x00\x07\x1b[31mb", "a[31mb"),
        ("pay\u202eeman\u202c", "payeman"),  # turned round
        ("a\u200bb\ufeffc\u00add", "abcd"),  # of no width
        ("a\U000e0041\U000e0042b", "ab"),  # tags, which spell words that nobody sees
        ("a\U000e0101b", "ab"),  # selectors, which can carry bytes
        ("👩\u200d💻 می\u200cخواهم ❤\ufe0f", "👩\u200d💻 می\u200cخواهم ❤\ufe0f"),
    ],
)
def test_visible_keeps_what_is_seen(text: str, seen: str) -> None:
    assert strip_invisible(text) == seen


@given(st.text())
def test_visible_leaves_nothing_hidden_and_changes_nothing_twice(text: str) -> None:
    seen = strip_invisible(text)

    hidden = {each for each in seen if unicodedata.category(each) in ("Cc", "Cf", "Cs", "Co")}
    assert hidden <= set("\n\t\u200c\u200d")
    assert strip_invisible(seen) == seen
    assert "\n" not in to_single_line(text)
