"""Untrusted text: decode its bytes, and keep only the characters that a person would see."""

import codecs
import re
import unicodedata

# Python text encodings that no page uses. Decoding some of them takes quadratic time.
_UNUSED_ENCODINGS = frozenset({"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7"})
_LATIN = frozenset({"ascii", "iso8859-1"})  # browsers decode these as windows-1252 (WHATWG Encoding)
_BYTE_ORDER_MARKS = [
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
]
_DECLARED_CHARSET = re.compile(rb"""(?:charset|encoding)\s*=\s*(?:["']\s*)?([\w.:-]{2,40})""", re.IGNORECASE)
_DECLARED_WITHIN_BYTES = 1024  # bytes, as in browsers

_JOINERS = "\u200c\u200d"  # needed in Persian, Hindi and emoji
_VISIBLE_CONTROLS = frozenset("\n\t" + _JOINERS)


def decode(body: bytes, charset: str = "") -> str:
    """Decode a body by its byte order mark, else the header's charset, its own declaration, UTF-8 or windows-1252."""
    for mark, name in _BYTE_ORDER_MARKS:
        if body.startswith(mark):
            return body.decode(name, errors="replace")
    declaration = _DECLARED_CHARSET.search(body[:_DECLARED_WITHIN_BYTES])
    for encoding in (charset, declaration[1].decode("ascii", errors="replace") if declaration else ""):
        if codec := _find_codec(encoding):
            return body.decode(codec, errors="replace")
    try:
        return body.decode()
    except UnicodeDecodeError:
        return body.decode("windows-1252", errors="replace")


def strip_invisible(text: str) -> str:
    """Return a text without invisible characters: controls, direction overrides, tags and variation selectors.

    They can show words to the model that the user does not see.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(character for character in text if character in _VISIBLE_CONTROLS or _is_visible(character))


def to_single_line(text: str) -> str:
    """Return a text as one line of visible characters."""
    return " ".join(strip_invisible(text).split())


def _find_codec(name: str) -> str:
    """Return the codec for a page's encoding, or "" if the encoding is unknown or not for pages."""
    try:
        codec = codecs.lookup(name) if name else None
    except (LookupError, ValueError):  # ValueError: a name with a NUL
        return ""
    if codec is None or not codec._is_text_encoding or codec.name in _UNUSED_ENCODINGS:
        return ""
    return "windows-1252" if codec.name in _LATIN else codec.name


def _is_visible(character: str) -> bool:
    if character < "\x7f":
        return character >= " "
    return (
        unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co")
        and not "\U000e0100" <= character <= "\U000e01ef"
    )
