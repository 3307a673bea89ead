"""Canonical JSON (RFC 8785) and its SHA-256 digest."""

import hashlib
from typing import Any

import orjson
import rfc8785

_PLAIN_TYPES = frozenset([str, int, bool, type(None)])
_MAX_SAFE_INTEGER = 2**53 - 1


def dumps(value: Any) -> bytes:
    """Return the RFC 8785 form of a JSON value: values that are equal as JSON give the same bytes.

    Raises rfc8785.CanonicalizationError (a ValueError) for integers beyond ±(2**53 - 1) and for non-finite floats.
    """
    # orjson takes a tenth of the time, and gives the same bytes for plain values.
    if _is_plain(value):
        try:
            return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
        except orjson.JSONEncodeError:
            pass  # a lone surrogate, or nested too deeply: rfc8785 raises the right error
    return rfc8785.dumps(value)


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


def digest(value: Any) -> str:
    """Return the SHA-256 of a value's canonical form as 64 hex digits."""
    return hash_canonical_form(dumps(value))


def hash_canonical_form(form: bytes) -> str:
    """Return the digest for a canonical form that `dumps` returned."""
    return hashlib.sha256(form).hexdigest()
