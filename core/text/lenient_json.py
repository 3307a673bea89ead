"""JSON from other services, which bends the rules: read what it says, and remark on what had to be changed.

What `core.text.json_text` refuses is repaired here: NaN, numbers that readers of JSON would round, repeated keys,
halves of surrogate pairs, NUL, control characters in strings, many levels, several values one after the other, and
prefixes that guard against scripts. The result can be written as strict JSON in UTF-8.
"""

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from decimal import Decimal, InvalidOperation
from math import isfinite, isnan
from typing import Any

from core.text import json_text
from core.text.decoding import REPLACEMENT

MAX_DEPTH = json_text.MAX_DEPTH
MAX_VALUES = json_text.ANSWER_LIMITS.values
MIN_NUMBER, MAX_NUMBER = -(2**63), 2**64 - 1  # integers beyond these are rounded by many readers
MAX_NUMBER_DIGITS = 20
MAX_EXACT_FLOAT = 2**53
MAX_BAD_SHARE = 4  # one line of so many can be no JSON in a text that is read line by line
MAX_BAD_LINES = 100  # after so many, a text that has too many of them is given up early
MAX_GUARDS = 3

# What was changed, each as a sentence.
NOT_FINITE = "NaN is shown as null and an infinite number as text, because JSON has neither."
LONG_NUMBER = "Numbers that readers of JSON would round are shown as text."
REPEATED_KEY = "An object has the same key more than once; the key has a list of all its values."
BAD_CHARACTER = "NUL and characters that are not valid Unicode are shown as U+FFFD."
DEEP = f"What is nested more than {MAX_DEPTH} levels deep is shown as text."
BAD_LINE = "Lines that are not JSON are shown as text."

_BAD_CHARACTERS = re.compile("[\0\ud800-\udfff]")
_SPACES = re.compile(r"\s*+")
_GUARD = re.compile(  # before JSON, so that a page cannot load it as a script
    r"""(?x)(?:
      \)\]\}['"]?,? | while\s*\(\s*(?:1|true)\s*\)\s*;? | for\s*\(\s*;\s*;\s*\)\s*;?
      | throw\s[^;\n]{0,80};(?:[ ]*<[^>\n]{0,80}>)? | &&&START&&& | \{\}\s*&& | /\*[^*/]{0,40}\*/ | //[^\n]{0,80}\n
    )"""
)
_CALLBACK = re.compile(  # JSONP
    r"(?:/\*\*/\s*)?(?:typeof\s+[\w$.]{1,80}\s*===?\s*['\"]function['\"]\s*&&\s*)?[A-Za-z_$][\w$.\[\]]{0,80}\s*\("
)
_CALLBACK_END = re.compile(r"\)\s*+;?\s*+\Z")
_BETWEEN_VALUES = re.compile(r"[\s\x1e]*")  # RFC 7464 begins each value with a record separator


class UnreadableJSON(Exception):
    """The text cannot be read as JSON."""


class NotJSON(UnreadableJSON):
    """The text is no JSON."""


class TooManyJSONValues(UnreadableJSON):
    """The text may be JSON, but has more values than an answer can have."""


class LenientReader:
    """Reads JSON of one answer. `remarks` are the sentences on what was changed."""

    def __init__(self) -> None:
        self._remarks: dict[str, None] = {}
        self._values = 0
        self._decoder = json.JSONDecoder(
            strict=False,
            object_pairs_hook=self._build_object,
            parse_int=self._parse_integer,
            parse_float=self._parse_float,
            parse_constant=self._parse_constant,
        )

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was changed, one sentence each."""
        return tuple(self._remarks)

    def add_remark(self, remark: str) -> None:
        """Add a sentence on what the reader did not change itself."""
        self._remarks[remark] = None

    def parse(self, text: str) -> Any:
        """Return the value of one JSON text. Raises NotJSON, TooManyJSONValues."""
        text = text.strip(" \t\r\n\ufeff\x1e\0")
        try:
            return self._parse_plain(text)
        except NotJSON:
            if (guarded := _strip_guard(text)) is None:
                raise
            return self._parse_plain(guarded)

    def parse_sequence(self, text: str, *, is_sequence: bool = False) -> list[Any]:
        """Return the objects and lists that follow each other in a text, on lines or not.

        With `is_sequence` the text says that it is one: a single value is enough, and it can be of any type. In a text
        of lines, a few lines can be no JSON; they stay texts. Raises NotJSON, TooManyJSONValues.
        """
        with self._undo_if_refused():
            try:
                with self._undo_if_refused():
                    values = list(self._iter_values(text))
            except NotJSON:
                return self._parse_lines(text, is_sequence=is_sequence)
            if not is_sequence and not (len(values) > 1 and all(isinstance(each, dict | list) for each in values)):
                raise NotJSON
        return values

    def repair(self, value: Any) -> Any:
        """Return a value that can be written as strict JSON, for any that a parser returns. Raises UnreadableJSON."""
        return self._repair(value, 1)

    @contextmanager
    def _undo_if_refused(self) -> Iterator[None]:
        """Forget what was changed in a text that turns out to be no JSON."""
        remarks, values = dict(self._remarks), self._values
        try:
            yield
        except UnreadableJSON:
            self._remarks, self._values = remarks, values
            raise

    def _parse_plain(self, text: str) -> Any:
        with self._undo_if_refused():
            try:
                value = self._decoder.decode(text)
                return value if self._is_plain(text) else self.repair(value)
            except (ValueError, RecursionError):
                raise NotJSON from None

    def _is_plain(self, text: str) -> bool:
        """Return whether there is nothing to repair in the values of a text but what the decoder has repaired.

        The counts are upper bounds, so that the values of an ordinary text need not be walked.
        """
        openings = text.count("{") + text.count("[")
        most = openings + text.count(",") + 1
        if openings > MAX_DEPTH or "\\u" in text or self._values + most > MAX_VALUES or _BAD_CHARACTERS.search(text):
            return False
        self._values += most
        return True

    def _iter_values(self, text: str) -> Iterator[Any]:
        position = _BETWEEN_VALUES.match(text).end()  # type: ignore[union-attr]  # it matches everywhere
        while position < len(text):
            try:
                value, position = self._decoder.raw_decode(text, position)
            except (ValueError, RecursionError):
                raise NotJSON from None
            yield self.repair(value)
            position = _BETWEEN_VALUES.match(text, position).end()  # type: ignore[union-attr]

    def _parse_lines(self, text: str, *, is_sequence: bool) -> list[Any]:
        values: list[Any] = []
        bad = 0
        lines = [line for line in text.replace("\x1e", "\n").split("\n") if line.strip()]
        for line in lines:
            try:
                value = self._parse_plain(line)
                is_bad = not is_sequence and not isinstance(value, dict | list)
            except NotJSON:
                value, is_bad = self.repair(line.strip()), True
            bad += is_bad
            values.append(value)
            if bad > MAX_BAD_LINES and bad * MAX_BAD_SHARE > len(lines):
                raise NotJSON
        if bad == len(lines) or (not is_sequence and bad * MAX_BAD_SHARE > len(lines)):
            raise NotJSON
        if bad:
            self.add_remark(BAD_LINE)
        return values

    def _build_object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        return members if len(members) == len(pairs) else self.merge_members(pairs)

    def merge_members(self, pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
        """Return an object whose repeated keys have a list of their values."""
        values: dict[str, list[Any]] = {}
        for name, value in pairs:
            values.setdefault(name, []).append(value)
        if any(len(each) > 1 for each in values.values()):
            self.add_remark(REPEATED_KEY)
        return {name: each if len(each) > 1 else each[0] for name, each in values.items()}

    def _parse_integer(self, digits: str) -> int | str:
        if len(digits) <= MAX_NUMBER_DIGITS and MIN_NUMBER <= (number := int(digits)) <= MAX_NUMBER:
            return number
        self.add_remark(LONG_NUMBER)
        return digits

    def _parse_float(self, digits: str) -> float | str:
        number = float(digits)
        if isfinite(number) and (abs(number) < MAX_EXACT_FLOAT or _is_exact(number, digits)):
            return number
        self.add_remark(LONG_NUMBER)
        return digits

    def _parse_constant(self, name: str) -> str | None:
        self.add_remark(NOT_FINITE)
        return None if name == "NaN" else name

    def _repair(self, value: Any, depth: int) -> Any:
        self._values += 1
        if self._values > MAX_VALUES:
            raise TooManyJSONValues
        if isinstance(value, str):
            return self._repair_text(value)
        if isinstance(value, dict | list) and depth > MAX_DEPTH:
            self.add_remark(DEEP)
            return self._repair_text(_dump_deep(value))
        if isinstance(value, list):
            return [self._repair(each, depth + 1) for each in value]
        if isinstance(value, dict):
            return self._repair_object(value, depth)
        return value if value is None or isinstance(value, bool) else self._repair_number(value)

    def _repair_object(self, value: dict[Any, Any], depth: int) -> dict[str, Any]:
        pairs = [(self._repair_text(str(name)), self._repair(each, depth + 1)) for name, each in value.items()]
        members = dict(pairs)
        return members if len(members) == len(pairs) else self.merge_members(pairs)

    def _repair_number(self, value: float) -> Any:
        if isinstance(value, int):
            return value if MIN_NUMBER <= value <= MAX_NUMBER else self._write_number(value)
        if isfinite(value):
            return value
        name = "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"
        return self._parse_constant(name)

    def _write_number(self, value: int) -> str:
        self.add_remark(LONG_NUMBER)
        return str(Decimal(value))  # int() refuses to write more than 4,300 digits

    def _repair_text(self, text: str) -> str:
        if text.isascii() and "\0" not in text:
            return text
        repaired = _BAD_CHARACTERS.sub(REPLACEMENT, text)
        if repaired != text:
            self.add_remark(BAD_CHARACTER)
        return repaired


def looks_like_json(text: str) -> bool:
    """Return whether a text begins as an object or a list of JSON does, perhaps after a guard against scripts."""
    text = text.lstrip("\ufeff\x1e\0 \t\r\n")
    return text[:1] in ("{", "[") or _strip_guard(text) is not None


def _strip_guard(text: str) -> str | None:
    """Return a text without what guards it against scripts; None if it has no guard."""
    start = 0
    for _ in range(MAX_GUARDS):
        if (guard := _GUARD.match(text, _skip_spaces(text, start))) is None:
            break
        start = guard.end()
    begin = _skip_spaces(text, start)
    start = begin if start else 0
    call = _CALLBACK.match(text, begin)
    if call and (end := _CALLBACK_END.search(text, max(call.end(), len(text) - 80))):
        return text[call.end() : end.start()]
    return text[start:] if start else None


def _skip_spaces(text: str, start: int) -> int:
    """Return where the spaces end that begin at a place."""
    spaces = _SPACES.match(text, start)
    return spaces.end() if spaces else start


def _is_exact(number: float, digits: str) -> bool:
    try:
        return Decimal(repr(number)) == Decimal(digits)
    except InvalidOperation:
        return False


def _dump_deep(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (RecursionError, ValueError):
        raise NotJSON from None
