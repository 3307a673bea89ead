"""Canonical JSON (RFC 8785) and what is hashed from it."""

import hashlib
from typing import Any

import orjson
import rfc8785

_PLAIN = frozenset([str, int, bool, type(None)])
_MAX_SAFE = 2**53 - 1


def dumps(value: Any) -> bytes:
    """Return the RFC 8785 form of a JSON value: one byte string for all that compare equal as JSON.

    Raises rfc8785.CanonicalizationError (a ValueError) for integers beyond 2**53 - 1 and for non-finite floats.
    """
    # A tenth of the time, and the same bytes for what is so plain that the two cannot differ.
    if _is_plain(value):
        try:
            return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
        except orjson.JSONEncodeError:
            pass  # half a surrogate pair, too many levels: the other one says which
    return rfc8785.dumps(value)


def _is_plain(value: Any) -> bool:
    """Whether a value has neither what JSON has several forms for, nor names that sort otherwise in UTF-16."""
    kind = type(value)
    if kind is dict:
        return all(type(name) is str and name.isascii() for name in value) and all(map(_is_plain, value.values()))
    if kind is list:
        return all(map(_is_plain, value))
    return kind in _PLAIN and (kind is not int or -_MAX_SAFE <= value <= _MAX_SAFE)


def digest(value: Any) -> str:
    """Return the SHA-256 of the canonical form, as 64 hex digits."""
    return hashed(dumps(value))


def hashed(form: bytes) -> str:
    """Return the digest of a value whose canonical form is there already."""
    return hashlib.sha256(form).hexdigest()
