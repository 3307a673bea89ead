"""Cursors of lists: a position in base64url without padding (RFC 4648). Callers must not read into them."""

import base64
import binascii


class InvalidCursor(ValueError):
    """A cursor is not base64url without padding, or its text is not UTF-8."""


def encode(position: str) -> str:
    """Return a position as a cursor."""
    return encode_bytes(position.encode())


def decode(cursor: str) -> str:
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
