"""Canonical JSON (RFC 8785) and what is hashed from it."""

import hashlib
from typing import Any

import rfc8785


def dumps(value: Any) -> bytes:
    """Return the RFC 8785 form of a JSON value: one byte string for all that compare equal as JSON.

    Raises rfc8785.CanonicalizationError (a ValueError) for integers beyond 2**53 - 1 and for non-finite floats.
    """
    return rfc8785.dumps(value)


def digest(value: Any) -> str:
    """Return the SHA-256 of the canonical form, as 64 hex digits."""
    return hashed(dumps(value))


def hashed(form: bytes) -> str:
    """Return the digest of a value whose canonical form is there already."""
    return hashlib.sha256(form).hexdigest()
