"""Canonical JSON (RFC 8785, with numbers that read back as they were written) and its SHA-256 digest."""

import hashlib
from typing import Any

import orjson
import rfc8785

_PLAIN_TYPES = frozenset([str, int, bool, type(None)])
_MAX_SAFE_INTEGER = 2**53 - 1
_MIN_EXPONENT_FLOAT = 1e16  # from here on Python writes the shortest digits with an exponent


def dumps(value: Any) -> bytes:
    """Return the canonical form of a JSON value: values that are equal as JSON give the same bytes.

    These are the bytes of RFC 8785, except for numbers that it refuses or that would read back as others: integers are
    written as digits, of any length, and floats from 1e16 on with an exponent, so that they read back as floats.

    Raises ValueError for what JSON cannot represent: NaN, infinity and half of a surrogate pair; also for a value that
    is nested too deeply to walk, and for integers of more than 4,300 digits.
    """
    try:
        # orjson takes a tenth of the time, and gives the same bytes for plain values.
        if _is_plain(value):
            try:
                return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
            except orjson.JSONEncodeError:
                pass  # a lone surrogate, or nested too deeply: the slow way raises the right error
        parts: list[bytes] = []
        _write(value, parts)
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


def _write(value: Any, parts: list[bytes]) -> None:
    if isinstance(value, dict):
        _write_object(value, parts)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            parts.append(b"," if index else b"[")
            _write(item, parts)
        parts.append(b"]" if value else b"[]")
    elif isinstance(value, int) and not isinstance(value, bool):
        parts.append(str(int(value)).encode())
    elif isinstance(value, float) and _MIN_EXPONENT_FLOAT <= abs(value) < float("inf"):
        parts.append(repr(float(value)).encode())
    else:
        parts.append(rfc8785.dumps(value))


def _write_object(value: dict[Any, Any], parts: list[bytes]) -> None:
    if any(not isinstance(name, str) for name in value):
        raise ValueError("A name of an object is no text")
    # By UTF-16 code units; what has no UTF-8 form is refused when it is written.
    members = sorted(value.items(), key=lambda member: member[0].encode("utf-16be", "surrogatepass"))
    for index, (name, item) in enumerate(members):
        parts.append(b"," if index else b"{")
        parts.append(rfc8785.dumps(name))
        parts.append(b":")
        _write(item, parts)
    parts.append(b"}" if members else b"{}")


def digest(value: Any) -> str:
    """Return the SHA-256 of a value's canonical form as 64 hex digits."""
    return hash_canonical_form(dumps(value))


def try_digest(value: Any) -> str:
    """Return the digest of a value; an empty text if it has no canonical form."""
    try:
        return digest(value)
    except ValueError:
        return ""


def hash_canonical_form(form: bytes) -> str:
    """Return the digest for a canonical form that `dumps` returned."""
    return hashlib.sha256(form).hexdigest()
