"""Bytes from other services as text, in whatever encoding they have and say that they have."""

import codecs
import re
from typing import NamedTuple

# Python text encodings that no service uses. Decoding some of them takes quadratic time.
_UNUSED_ENCODINGS = frozenset({"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7"})
# What browsers decode these as (WHATWG Encoding): the same characters, and more that services send under these names.
_WIDER_ENCODINGS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "shift_jis": "cp932",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
}
_SAME_ASCII = frozenset({"", "utf-8", "utf8", "us-ascii", "iso-8859-1"})  # by which ASCII is what it is anyway
_FALLBACK = "cp1252"
_BYTE_ORDER_MARKS = [  # the longer ones first: that of UTF-32 begins with that of UTF-16
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
]
_DECLARED_CHARSET = re.compile(rb"""(?:charset|encoding)\s*=\s*(?:["']\s*)?([\w.:-]{2,40})""", re.IGNORECASE)
_DECLARED_WITHIN_BYTES = 1024  # as in browsers
_MULTIBYTE = re.compile(r"[^\x00-\x7f\ufffd]")
_SURROGATES = re.compile("[\ud800-\udfff]")
REPLACEMENT = "\ufffd"


class DecodedText(NamedTuple):
    """A text, and what had to be guessed or replaced, in words that follow "The answer "; empty if nothing."""

    text: str
    remark: str = ""


def find_codec(name: str) -> str:
    """Return Python's codec for an encoding, or "" if it is unknown or no encoding of texts that are sent."""
    try:
        codec = codecs.lookup(name.strip(" \"'")) if name else None
    except (LookupError, ValueError):  # ValueError: a name with a NUL
        return ""
    if codec is None or not codec._is_text_encoding or codec.name in _UNUSED_ENCODINGS:
        return ""
    return _WIDER_ENCODINGS.get(codec.name, codec.name)


def find_declared_charset(body: bytes) -> str:
    """Return the encoding that a document names in its first lines, as XML and HTML do; "" if it names none."""
    declaration = _DECLARED_CHARSET.search(body[:_DECLARED_WITHIN_BYTES])
    return declaration[1].decode("ascii", errors="replace") if declaration else ""


def decode(body: bytes, charset: str = "", declared: str = "") -> DecodedText:
    """Return bytes as text, for any bytes.

    The encoding is that of the byte order mark, else `charset`, which the header of the answer says, else `declared`,
    which the document says, else UTF-8. Bytes that are not UTF-8 are read as windows-1252, unless most of the letters
    beyond ASCII are UTF-8. Bytes that have no meaning are replaced by U+FFFD.
    """
    if body.isascii() and b"\0" not in body and charset.lower() in _SAME_ASCII and declared.lower() in _SAME_ASCII:
        return DecodedText(body.decode())
    for mark, codec in _BYTE_ORDER_MARKS:
        if body.startswith(mark):
            return _decode_as(body, codec)
    codec = find_codec(charset) or find_codec(declared) or _detect_wide_unicode(body)
    if codec.startswith(("utf-16", "utf-32")) and b"\0" not in body and _is_utf8(body):
        codec = ""  # ASCII in these encodings has zeros: services name them and send UTF-8
    return _decode_as(body, codec) if codec and codec != "utf-8" else _decode_utf8(body)


def _decode_as(body: bytes, codec: str) -> DecodedText:
    try:
        return _build_text(body.decode(codec), "")
    except (UnicodeError, ValueError):  # ValueError: some multibyte codecs
        name = codec.removesuffix("-sig").upper()
        return _build_text(body.decode(codec, "replace"), f"has bytes that are not {name}; each is shown as U+FFFD")


def _decode_utf8(body: bytes) -> DecodedText:
    try:
        return _build_text(body.decode(), "")
    except UnicodeDecodeError:
        text = body.decode(errors="replace")
    if text.count(REPLACEMENT) < len(_MULTIBYTE.findall(text)):
        return _build_text(text, "has bytes that are not UTF-8; each is shown as U+FFFD")
    return _build_text(body.decode(_FALLBACK, "replace"), "is not UTF-8 and was read as windows-1252")


def _build_text(text: str, remark: str) -> DecodedText:
    if _SURROGATES.search(text):  # some codecs of Python give halves of surrogate pairs
        text = _SURROGATES.sub(REPLACEMENT, text)
        remark = remark or "has half of a surrogate pair, shown as U+FFFD"
    return DecodedText(text.removeprefix("\ufeff"), remark)


def _detect_wide_unicode(body: bytes) -> str:
    """Return UTF-16 or UTF-32 if the first ASCII characters are written so (RFC 4627 section 3), "" otherwise."""
    zeros = "".join("0" if byte == 0 else "x" for byte in body[:4])
    return {"000x": "utf-32-be", "x000": "utf-32-le", "0x0x": "utf-16-be", "x0x0": "utf-16-le"}.get(zeros, "")


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True
