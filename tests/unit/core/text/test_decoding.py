"""Bytes in any encoding become text, with a remark where it had to be guessed."""

from hypothesis import given
from hypothesis import strategies as st

from core.text.decoding import decode, find_declared_charset
from tests.support.growth import assert_linear
from tests.support.loops import for_each

WORDS = '{"name": "Café Zoë – Straße"}'
NAMES = st.sampled_from(
    "utf-8 latin-1 shift_jis gb18030 iso2022_jp hz utf-7 utf-16 utf-32 idna punycode hex rot13 unknown cp037".split()
)


@for_each(
    "text, encoding, charset",
    [
        (WORDS, "utf-8", ""),
        (WORDS, "utf-8", "UTF8"),
        (WORDS, "utf-8-sig", ""),
        (WORDS, "windows-1252", "ISO-8859-1"),  # as browsers read it: the dash is not in ISO-8859-1
        ("Привет", "windows-1251", "windows-1251"),
        ("Привет", "koi8-r", "KOI8-R"),
        ("日本語①", "cp932", "Shift_JIS"),  # the last character is only in the wider encoding
        ("中文", "gb18030", "GB2312"),
        ("日本語", "euc_jp", "EUC-JP"),
        (WORDS, "utf-16", ""),
        (WORDS, "utf-16-le", ""),
        (WORDS, "utf-16-be", ""),
        (WORDS, "utf-32-le", ""),
        ("[1, 2, 3]", "ascii", "utf-16"),  # not what it says
        (WORDS, "utf-8", "x-unknown"),
        (WORDS, "utf-8-sig", "latin-1"),  # the byte order mark wins over the header
        (r"\u0041", "ascii", "unicode_escape"),  # a codec of Python that no service uses
        ("", "utf-8", "zlib_codec"),
    ],
)
def test_text_is_read_in_its_encoding(text: str, encoding: str, charset: str) -> None:
    assert decode(text.encode(encoding), charset) == (text, "")


@for_each(
    "body, text, remark",
    [
        ("Café".encode("latin-1"), "Café", "is not UTF-8 and was read as windows-1252"),
        ("éèà".encode()[:-1], "éè\ufffd", "has bytes that are not UTF-8; each is shown as U+FFFD"),
    ],
)
def test_what_was_guessed_or_replaced_is_remarked(body: bytes, text: str, remark: str) -> None:
    assert decode(body) == (text, remark)
    assert decode(body, "utf-8") == (text, remark)


def test_a_document_says_its_encoding_in_its_first_line() -> None:
    page = b'<meta charset="shift_jis">' + "日本語".encode("shift_jis")
    assert decode(page, "", find_declared_charset(page)).text.endswith("日本語")

    body = '<?xml version="1.0" encoding="ISO-8859-2"?><name>Łódź</name>'.encode("iso-8859-2")

    assert "Łódź" in decode(body, "", find_declared_charset(body)).text
    assert "Łódź" not in decode(body, "windows-1252", find_declared_charset(body)).text  # the header says more


@given(st.binary(max_size=200), NAMES | st.text(max_size=12))
def test_any_bytes_are_text_that_can_be_sent(body: bytes, charset: str) -> None:
    decode(body, charset, charset).text.encode()


@for_each("charset", ["utf-7", "idna", "punycode", "unicode_escape", "hz", "iso2022_jp_2", "utf-8", ""])
def test_decoding_time_is_linear(charset: str) -> None:
    assert_linear(lambda body: decode(body, charset), lambda size: b"+~{a-" * (size // 5), size=200_000)
