"""Text of unknown origin: bytes into characters, and only such characters as a person would see."""

import codecs
import re
import unicodedata

# Encodings that Python calls text and no page is in: some take time that grows with the square of what they are given.
_NO_PAGE_IS_IN = frozenset({"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7"})
_LATIN = frozenset({"ascii", "iso8859-1"})  # what calls itself so is read as windows-1252 (WHATWG Encoding)
_MARKS = [
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
]
_DECLARED = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([\w.:-]{2,40})""", re.IGNORECASE)
_DECLARED_WITHIN = 1024  # bytes, as browsers look

_JOINERS = "\u200c\u200d"  # Persian, Hindi and emoji are written with them
_KEPT = frozenset("\n\t" + _JOINERS)


def decoded(body: bytes, charset: str = "") -> str:
    """Return a body as text: by its byte order mark, else as the header says, as the text itself says, as UTF-8."""
    for mark, name in _MARKS:
        if body.startswith(mark):
            return body.decode(name, errors="replace")
    inside = _DECLARED.search(body[:_DECLARED_WITHIN])
    for named in (charset, inside[1].decode("ascii", errors="replace") if inside else ""):
        if codec := _codec(named):
            return body.decode(codec, errors="replace")
    try:
        return body.decode()
    except UnicodeDecodeError:
        return body.decode("windows-1252", errors="replace")


def visible(text: str) -> str:
    """Return a text without what nobody sees: control characters, turns of direction, tags and selectors.

    They can hide words from the person who reads along, and show them to the model alone.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(character for character in text if character in _KEPT or _is_seen(character))


def line(text: str) -> str:
    """Return a text as one visible line."""
    return " ".join(visible(text).split())


def _codec(name: str) -> str:
    """Return the codec that a page's encoding is read with; nothing where it is none."""
    try:
        codec = codecs.lookup(name) if name else None
    except (LookupError, ValueError):  # ValueError: a name with a NUL
        return ""
    if codec is None or not codec._is_text_encoding or codec.name in _NO_PAGE_IS_IN:
        return ""
    return "windows-1252" if codec.name in _LATIN else codec.name


def _is_seen(character: str) -> bool:
    if character < "\x7f":
        return character >= " "
    return (
        unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co")
        and not "\U000e0100" <= character <= "\U000e01ef"
    )
