"""An authenticator app: codes that change every 30 seconds (RFC 6238)."""

import base64
import hmac
import struct
import time


def build_code(secret: str, *, at: float | None = None) -> str:
    """Return the code of a base32 secret at a time, by default now."""
    counter = struct.pack(">Q", int((time.time() if at is None else at) // 30))
    digest = hmac.digest(base64.b32decode(secret), counter, "sha1")
    start = digest[-1] & 0xF
    number = int.from_bytes(digest[start : start + 4]) & 0x7FFF_FFFF
    return f"{number % 1_000_000:06}"
