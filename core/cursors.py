"""Cursors of lists: a position as text, in base64url without padding (RFC 4648). Callers must not read into them."""

import base64
import binascii


class InvalidCursor(ValueError):
    """A cursor is not base64url without padding, or its text is not UTF-8."""


def encode(position: str) -> str:
    """Return a position as a cursor."""
    return base64.urlsafe_b64encode(position.encode()).decode().rstrip("=")


def decode(cursor: str) -> str:
    """Return the position of a cursor. Raises InvalidCursor."""
    try:
        padded = cursor.encode() + b"=" * (-len(cursor) % 4)
        return base64.b64decode(padded, altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError) as error:
        raise InvalidCursor(str(error)) from None
