"""Bodies of the type multipart/form-data (RFC 7578)."""

import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass

_UNSAFE = re.compile(r'["\r\n]')
_CONTENT_TYPE = re.compile(r"[\w.+*-]{1,100}/[\w.+*-]{1,100}(?:;[\x20-\x7e]{0,200})?", re.ASCII)
_FALLBACK_TYPE = "application/octet-stream"


@dataclass(frozen=True, slots=True, repr=False)
class Part:
    """One part: a value, or a file if it has a file name."""

    name: str
    content: bytes
    content_type: str = ""
    file_name: str = ""


def build_multipart(parts: Iterable[Part]) -> tuple[str, bytes]:
    """Return the boundary and the body. The boundary is random, so that no content can contain it."""
    boundary = secrets.token_hex(16)
    pieces = [piece for part in parts for piece in (_build_head(part, boundary), part.content, b"\r\n")]
    return boundary, b"".join([*pieces, f"--{boundary}--\r\n".encode()])


def _build_head(part: Part, boundary: str) -> bytes:
    disposition = f'form-data; name="{_escape(part.name)}"'
    if part.file_name:
        disposition += f'; filename="{_escape(part.file_name)}"'
    lines = [f"--{boundary}", f"Content-Disposition: {disposition}"]
    if part.content_type:
        is_valid = _CONTENT_TYPE.fullmatch(part.content_type)
        lines.append(f"Content-Type: {part.content_type if is_valid else _FALLBACK_TYPE}")
    return "\r\n".join([*lines, "", ""]).encode()


def _escape(text: str) -> str:
    """Escape as browsers do (the HTML standard), so that a name cannot add a header."""
    return _UNSAFE.sub(lambda match: f"%{ord(match[0]):02X}", text)
