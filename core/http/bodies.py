"""Read a response body, with a size limit on the bytes received and on the decompressed bytes."""

import zlib
from collections.abc import Iterator

import httpx2

from core.http.errors import BrokenAnswer, TooLarge


def content(answer: httpx2.Response, max_bytes: int) -> bytes:
    """Return the decompressed body. Raises TooLarge before holding more than `max_bytes`, and BrokenAnswer.

    Requests only accept gzip. Any other encoding is an error, above all a chain of encodings, since each one multiplies
    the size.
    """
    packing = answer.headers.get("content-encoding", "").strip().lower()
    if packing in ("gzip", "x-gzip"):
        return _unpacked(_pieces(answer, max_bytes), max_bytes)
    body = b"".join(_pieces(answer, max_bytes))
    if body and packing not in ("", "identity"):
        raise BrokenAnswer
    return body


def _pieces(answer: httpx2.Response, max_bytes: int) -> Iterator[bytes]:
    left = max_bytes
    for piece in answer.iter_raw():
        left -= len(piece)
        if left < 0:
            raise TooLarge
        yield piece


def _unpacked(pieces: Iterator[bytes], max_bytes: int) -> bytes:
    gzip, body, is_empty = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16), bytearray(), True
    for piece in pieces:
        is_empty = False
        try:
            body += gzip.decompress(piece, max_bytes - len(body) + 1)
        except zlib.error:
            raise BrokenAnswer from None
        if len(body) > max_bytes:
            raise TooLarge
    if not is_empty and (not gzip.eof or gzip.unused_data):  # truncated, or followed by other data
        raise BrokenAnswer
    return bytes(body)
