"""Strict JSON for untrusted input: refuses what RFC 8259 leaves open, as RFC 7493 (I-JSON) recommends."""

import json
import re
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NoReturn

MAX_DEPTH = 32
MAX_VALUES = 10_000
MAX_INTEGER = 2**53 - 1  # beyond it doubles lose digits (RFC 7493 section 2.2)


@dataclass(frozen=True, slots=True)
class Limits:
    """How many values a text may have, and the largest integer; None for any that Python reads."""

    values: int = MAX_VALUES
    integer: int | None = MAX_INTEGER


REQUEST_LIMITS = Limits()
# Services answer long lists, and ids of 64 bits. Nothing hashes or compares them.
ANSWER_LIMITS = Limits(values=200_000, integer=2**63 - 1)

# What admins and documents write about an op: a release holds integers of any length (see core.canonical_json).
CONTENT_LIMITS = Limits(integer=None)

MAX_DIGITS = 4_300  # more take Python too long (sys.get_int_max_str_digits)
_SURROGATE = re.compile("[\ud800-\udfff]")


class NotStrictJSON(ValueError):
    """The text is not JSON that can be stored and hashed unchanged. `code` names the rule, `str()` says how to fix it.

    For a syntax error, `at` is the character's offset and `problem` is the parser's message.
    """

    def __init__(self, code: str, message: str, *, at: int | None = None, problem: str = "") -> None:
        super().__init__(message)
        self.code, self.at, self.problem = code, at, problem


def loads(raw: bytes, limits: Limits = REQUEST_LIMITS) -> Any:
    """Parse one JSON text strictly.

    Besides syntax errors it refuses bytes that are not UTF-8, duplicate keys, NaN and infinities, integers over the
    limit (by default those that no double can represent exactly), floats beyond the range of doubles, NUL characters,
    lone surrogates, more than 32 levels, and more values than the limit (by default 10,000).

    Raises NotStrictJSON, and no other error, for any bytes.
    """
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise NotStrictJSON("invalid_utf8", "The body is not UTF-8. Send JSON encoded as UTF-8.") from None
    try:
        value = _get_decoder(limits).decode(text)
    except json.JSONDecodeError as error:
        message = f"The body is not valid JSON: {error.msg} at character {error.pos}. Send one JSON object."
        raise NotStrictJSON("invalid_json", message, at=error.pos, problem=error.msg) from None
    except RecursionError:
        raise _too_deep_error() from None
    # These counts are upper bounds of depth and size, so that an ordinary body need not be walked.
    openings = text.count("{") + text.count("[")
    if openings > MAX_DEPTH or openings + text.count(",") >= limits.values or "\\u" in text:
        check_value(value, limits)
    return value


def check_value(root: Any, limits: Limits = REQUEST_LIMITS) -> None:
    """Check depth, number of values and every string of a JSON value, without recursion. Raises NotStrictJSON."""
    stack: list[tuple[Any, int]] = [(root, 1)]
    values = 0
    while stack:
        value, depth = stack.pop()
        values += 1
        if isinstance(value, str):
            _check_text(value)
            continue
        if not isinstance(value, dict | list):
            continue
        if depth > MAX_DEPTH:
            raise _too_deep_error()
        if isinstance(value, dict):
            for key in value:
                _check_text(key)
            stack.extend((item, depth + 1) for item in value.values())
        else:
            stack.extend((item, depth + 1) for item in value)
        if values + len(stack) > limits.values:
            raise NotStrictJSON(
                "too_large", f"The body contains more than {limits.values} values. Send fewer at a time."
            )


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise NotStrictJSON("duplicate_key", "An object has the same key twice. Send each key once.")
    return members


def _parse_integer(digits: str, *, limit: int | None) -> int:
    if limit is None:
        if len(digits) <= MAX_DIGITS:
            return int(digits)
        raise NotStrictJSON("number_out_of_range", f"An integer has more than {MAX_DIGITS:,} digits. Write it as text.")
    if len(digits) <= 20 and -limit <= (number := int(digits)) <= limit:
        return number
    raise NotStrictJSON("number_out_of_range", f"An integer is outside the range ±{limit}. Send it as a string.")


def _parse_float(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise NotStrictJSON("number_out_of_range", "A number is too large for a double. Send it as a string.")
    return number


def _refuse_constant(name: str) -> NoReturn:
    raise NotStrictJSON("not_a_number", f"{name} is not valid JSON. Send a finite number, or null.")


def _too_deep_error() -> NotStrictJSON:
    return NotStrictJSON("too_deep", f"The body is nested more than {MAX_DEPTH} levels deep. Send fewer levels.")


def _check_text(text: str) -> None:
    if "\x00" in text:
        raise NotStrictJSON("nul_character", "A string contains a NUL character. Remove it.")
    if _SURROGATE.search(text):
        raise NotStrictJSON("lone_surrogate", "A string contains half of a surrogate pair. Send whole characters.")


@cache
def _get_decoder(limits: Limits) -> json.JSONDecoder:
    return json.JSONDecoder(
        object_pairs_hook=_build_object,
        parse_int=partial(_parse_integer, limit=limits.integer),
        parse_float=_parse_float,
        parse_constant=_refuse_constant,
    )
