"""Lists as text: cursors (RFC 4648), CSV that is safe in a spreadsheet, and a cache of texts."""

import base64
import binascii
import csv
import io
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, wraps
from typing import AnyStr, TypeVar

FORMULA_STARTS = frozenset("=+-@＝＋－＠")
LINE_STARTS = ("\t", "\r", "\n")  # some programs begin a new cell after these
CellValue = str | int | float | None
T = TypeVar("T")
MAX_TEXTS = 2_000  # texts per function; the least recently used is dropped first
MAX_TEXT_LENGTH = 300  # characters or bytes; callers choose the texts, so longer ones are not cached


class InvalidCursor(ValueError):
    """A cursor is not base64url without padding, or its text is not UTF-8."""


def encode_cursor(position: str) -> str:
    """Return a position as a cursor."""
    return encode_bytes(position.encode())


def decode_cursor(cursor: str) -> str:
    """Return the position of a cursor. Raises InvalidCursor."""
    try:
        return decode_bytes(cursor).decode()
    except ValueError as error:
        raise InvalidCursor(str(error)) from None


def encode_bytes(position: bytes) -> str:
    """Return a packed position as a cursor. It takes half the tokens of the same position as text."""
    return base64.urlsafe_b64encode(position).decode().rstrip("=")


def decode_bytes(cursor: str) -> bytes:
    """Return the packed position of a cursor. Raises InvalidCursor."""
    try:
        padded = cursor.encode() + b"=" * (-len(cursor) % 4)
        return base64.b64decode(padded, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidCursor(str(error)) from None


def render_csv(header: Sequence[str], rows: Iterable[Sequence[CellValue]]) -> str:
    """Return rows as CSV (RFC 4180). Formulas are escaped with a leading quote; None is an empty cell."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(header)
    writer.writerows([escape_formula(value) if isinstance(value, str) else value for value in row] for row in rows)
    return out.getvalue()


def escape_formula(value: str) -> str:
    """Return a text as a cell value, with a quote before each part that a spreadsheet would read as a formula.

    In many countries spreadsheets separate cells with semicolons, so each part between them may become a cell.
    """
    return ";".join(f"'{part}" if _is_formula(part) else part for part in value.split(";"))


def _is_formula(part: str) -> bool:
    first = next((character for character in part if not _is_skipped(character)), "")
    return first in FORMULA_STARTS or part.startswith(LINE_STARTS)


def _is_skipped(character: str) -> bool:
    """Return whether spreadsheets may skip a character at the start of a cell: white space or an invisible one."""
    return character.isspace() or unicodedata.category(character) in ("Cc", "Cf")


def cache_by_text(make: Callable[[AnyStr], T]) -> Callable[[AnyStr], T]:
    """Cache the last 2,000 results of a function of one text. Long texts and exceptions are not cached.

    All callers share the returned object and must not change it.
    """
    cached_make = lru_cache(maxsize=MAX_TEXTS)(make)

    @wraps(make)
    def cached(text: AnyStr) -> T:
        return cached_make(text) if len(text) <= MAX_TEXT_LENGTH else make(text)

    return cached
