"""Read a response body, with a size limit on the bytes received and on the decompressed bytes."""

import zlib
from collections.abc import Iterator

import httpx2

from core.http.errors import BrokenAnswer, TooLarge


def read_body(response: httpx2.Response, max_bytes: int) -> bytes:
    """Return the decompressed body. Raises TooLarge before holding more than `max_bytes`, and BrokenAnswer.

    Requests only accept gzip. Any other encoding is an error, above all a chain of encodings, since each one multiplies
    the size.
    """
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding in ("gzip", "x-gzip"):
        return _gunzip(iter_chunks(response, max_bytes), max_bytes)
    body = b"".join(iter_chunks(response, max_bytes))
    if body and encoding not in ("", "identity"):
        raise BrokenAnswer
    return body


def iter_chunks(response: httpx2.Response, max_bytes: int) -> Iterator[bytes]:
    """Yield the body as it arrives, without unpacking it. Raises TooLarge."""
    left = max_bytes
    for chunk in response.iter_raw():
        left -= len(chunk)
        if left < 0:
            raise TooLarge
        yield chunk


def _gunzip(chunks: Iterator[bytes], max_bytes: int) -> bytes:
    gzip, body, is_empty = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16), bytearray(), True
    for chunk in chunks:
        is_empty = False
        try:
            body += gzip.decompress(chunk, max_bytes - len(body) + 1)
        except zlib.error:
            raise BrokenAnswer from None
        if len(body) > max_bytes:
            raise TooLarge
    if not is_empty and (not gzip.eof or gzip.unused_data):  # truncated, or followed by other data
        raise BrokenAnswer
    return bytes(body)
