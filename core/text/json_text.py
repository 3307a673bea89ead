"""JSON as text: parsed strictly, dumped compactly or canonically (RFC 8785), with positions of values."""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NoReturn

import orjson
import rfc8785

from core.text import json_pointer

MAX_DEPTH = 32
MAX_VALUES = 10_000
MAX_INTEGER = 2**53 - 1  # beyond it doubles lose digits (RFC 7493 section 2.2)
MAX_INT64 = 2**63 - 1
MAX_DIGITS = 4_300  # more take Python too long (sys.get_int_max_str_digits)
_SURROGATE = re.compile("[\ud800-\udfff]")
_NO_JSON = ("Type is not JSON serializable", "Dict key must be")  # what orjson says of values of other types
_LONG_NUMBER = re.compile(r"\d{19}")
_LONG_NUMBER_BYTES = re.compile(rb"\d{19}")
_PLAIN_TYPES = frozenset([str, int, bool, type(None)])
_MAX_SAFE_INTEGER = 2**53 - 1
_MIN_EXPONENT_FLOAT = 1e16  # from here on Python writes the shortest digits with an exponent
_COMPACT_BYTES = 4_000  # of a text that is read twice as fast if it is compact
_PLAIN_PARTS_DEPTH = 4  # how deep plain parts of other values are looked for: each level walks the value once more
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{},]|[^\s"\[\]{},:]+')


@dataclass(frozen=True, slots=True)
class Limits:
    """How many values a text may have, and the largest integer; None for any that Python reads."""

    values: int = MAX_VALUES
    integer: int | None = MAX_INT64


# Services have ids of 64 bits, and the canonical form keeps integers of any length.
REQUEST_LIMITS = Limits()

# Services answer long lists, and ids of 64 bits. Nothing hashes or compares them.
ANSWER_LIMITS = Limits(values=200_000)

# What admins and documents write about an op: a release holds integers of any length (see core.text.json_text).
CONTENT_LIMITS = Limits(integer=None)


class NotStrictJSON(ValueError):
    """The text is not JSON that can be stored and hashed unchanged. `code` names the rule, `str()` says how to fix it.

    For a syntax error, `at` is the character's offset and `problem` is the parser's message.
    """

    def __init__(self, code: str, message: str, *, at: int | None = None, problem: str = "") -> None:
        super().__init__(message)
        self.code, self.at, self.problem = code, at, problem


def parse(raw: bytes, limits: Limits = REQUEST_LIMITS) -> Any:
    """Parse one JSON text strictly.

    Besides syntax errors it refuses bytes that are not UTF-8, duplicate keys, NaN and infinities, integers over the
    limit (by default those of more than 64 bits), floats beyond the range of doubles, NUL characters,
    lone surrogates, more than 32 levels, and more values than the limit (by default 10,000).

    Raises NotStrictJSON, and no other error, for any bytes.
    """
    if len(raw) <= _COMPACT_BYTES and (compact := _parse_compact(raw)) is not None:
        return compact
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


def _parse_compact(raw: bytes) -> Any:
    """Return the value of a short text if it is what orjson writes for the value; None for any other text.

    Such a text has no key twice, no constant that is not JSON and no number that is read as another one.
    """
    if b"\\u" in raw or raw.count(b"{") + raw.count(b"[") > MAX_DEPTH or _LONG_NUMBER_BYTES.search(raw):
        return None
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None
    return value if orjson.dumps(value) == raw else None


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


def dump(value: Any, *, indent: bool = False) -> bytes:
    """Return a JSON value as compact UTF-8, or indented by two spaces.

    Unlike orjson alone it writes integers of more than 64 bits and more than 254 levels. Half of a surrogate pair is
    written as its escape. Raises TypeError for a value that is not JSON.
    """
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2 if indent else None)
    except orjson.JSONEncodeError as error:
        if str(error).startswith(_NO_JSON):
            raise
        separators = None if indent else (",", ":")
        text = json.dumps(value, ensure_ascii=False, separators=separators, indent=2 if indent else None)
        return text.encode("utf-8", "backslashreplace")


def load(text: str | bytes) -> Any:
    """Return the value of a JSON text that we wrote. orjson alone reads integers of more than 64 bits as floats."""
    has_long_number = _LONG_NUMBER.search(text) if isinstance(text, str) else _LONG_NUMBER_BYTES.search(text)
    return json.loads(text) if has_long_number else orjson.loads(text)


def canonicalize(value: Any) -> bytes:
    """Return the canonical form of a JSON value: values that are equal as JSON give the same bytes.

    These are the bytes of RFC 8785, except for numbers that it refuses or that would read back as others: integers are
    written as digits, of any length, and floats from 1e16 on with an exponent, so that they read back as floats.

    Raises ValueError for what JSON cannot represent: NaN, infinity and half of a surrogate pair; also for a value that
    is nested too deeply to walk, and for integers of more than 4,300 digits.
    """
    try:
        parts: list[bytes] = []
        _write(value, parts, depth=0)
    except RecursionError:
        raise ValueError("It is nested too deeply") from None
    return b"".join(parts)


def _is_plain(value: Any) -> bool:
    """Return whether a value has no floats or large integers, and only ASCII names, which sort the same in UTF-16."""
    kind = type(value)
    if kind is dict:
        for name, each in value.items():
            if type(name) is not str or not name.isascii() or (type(each) is not str and not _is_plain(each)):
                return False
        return True
    if kind is list:
        return all(type(each) is str or _is_plain(each) for each in value)
    return kind in _PLAIN_TYPES and (kind is not int or -_MAX_SAFE_INTEGER <= value <= _MAX_SAFE_INTEGER)


def _write(value: Any, parts: list[bytes], *, depth: int) -> None:
    # orjson takes a tenth of the time, and gives the same bytes for plain values.
    if depth < _PLAIN_PARTS_DEPTH and _is_plain(value):
        try:
            parts.append(orjson.dumps(value, option=orjson.OPT_SORT_KEYS))
            return
        except orjson.JSONEncodeError:
            pass  # a lone surrogate, or nested too deeply: the slow way raises the right error
    if isinstance(value, dict):
        _write_object(value, parts, depth=depth)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            parts.append(b"," if index else b"[")
            _write(item, parts, depth=depth + 1)
        parts.append(b"]" if value else b"[]")
    elif isinstance(value, int) and not isinstance(value, bool):
        parts.append(str(int(value)).encode())
    elif isinstance(value, float) and _MIN_EXPONENT_FLOAT <= abs(value) < float("inf"):
        parts.append(repr(float(value)).encode())
    else:
        parts.append(rfc8785.dumps(value))


def _write_object(value: dict[Any, Any], parts: list[bytes], *, depth: int) -> None:
    if any(not isinstance(name, str) for name in value):
        raise ValueError("A name of an object is not a text")
    # By UTF-16 code units; text without a UTF-8 form is refused when it is written.
    members = sorted(value.items(), key=lambda member: member[0].encode("utf-16be", "surrogatepass"))
    for index, (name, item) in enumerate(members):
        parts.append(b"," if index else b"{")
        parts.append(rfc8785.dumps(name))
        parts.append(b":")
        _write(item, parts, depth=depth + 1)
    parts.append(b"}" if members else b"{}")


def hash_canonically(value: Any) -> str:
    """Return the SHA-256 of a value's canonical form as 64 hex digits."""
    return hash_canonical_form(canonicalize(value))


def try_digest(value: Any) -> str:
    """Return the digest of a value; an empty text if it has no canonical form."""
    try:
        return hash_canonically(value)
    except ValueError:
        return ""


def hash_canonical_form(form: bytes) -> str:
    """Return the digest for a canonical form that `dumps` returned."""
    return hashlib.sha256(form).hexdigest()


def iter_offsets(text: str) -> Iterator[tuple[str, int]]:
    """Yield (JSON pointer, offset) of each value in a JSON text; for an object member, the offset of its name.

    The text must be valid JSON. A name that occurs twice in an object is yielded twice.
    """
    yield "", len(text) - len(text.lstrip())
    open_pointers: list[str] = []  # pointers of the open arrays and objects
    steps: list[int | str | None] = []  # for each: index of the next item, name of the current member, or None
    for match in _TOKEN.finditer(text):
        lexeme = match[0]
        if lexeme in ("]", "}"):
            open_pointers.pop()
            steps.pop()
            continue
        if lexeme == ",":
            steps[-1] = step + 1 if isinstance(step := steps[-1], int) else None
            continue
        if steps and steps[-1] is None:
            steps[-1] = json_pointer.escape(str(json.loads(lexeme)))
            yield f"{open_pointers[-1]}/{steps[-1]}", match.start()
            continue
        pointer = f"{open_pointers[-1]}/{steps[-1]}" if steps else ""
        if steps and isinstance(steps[-1], int):
            yield pointer, match.start()
        if lexeme in ("[", "{"):
            open_pointers.append(pointer)
            steps.append(0 if lexeme == "[" else None)


def find_offset(text: str, pointer: str) -> int:
    """Return the offset of the value at a pointer in a JSON text, or of its nearest ancestor that exists."""
    offset_by_pointer = dict(iter_offsets(text))
    while pointer not in offset_by_pointer:
        pointer = pointer.rpartition("/")[0]
    return offset_by_pointer[pointer]


def find_duplicate_key(text: str) -> int | None:
    """Return the offset of the first duplicate name in an object, or None."""
    seen = set[str]()
    for pointer, offset in iter_offsets(text):
        if pointer in seen:
            return offset
        seen.add(pointer)
    return None


def get_line_and_column(text: str, offset: int) -> tuple[int, int]:
    """Return the 1-based line and column of an offset."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)
