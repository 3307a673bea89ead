"""Bodies of uploads: written to a file while they arrive, so that memory does not grow with their size or number."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterable
from tempfile import SpooledTemporaryFile
from typing import IO

from granian.rsgi import ProtocolClosed  # type: ignore[attr-defined]  # not marked as exported

from core.server.thread_pool import TooManyCalls

SECONDS = 120.0  # in which an upload must arrive, over a phone too
MEMORY_BYTES = 256_000  # of each upload; the rest is in a file that has no name


class BodyTooSlow(Exception):
    """A body did not arrive by its deadline, or was slow while too many others were."""


class UploadLimit:
    """How many uploads a worker receives at a time, of all addresses and of one. Used on the event loop only."""

    def __init__(self, *, most: int, most_per_address: int) -> None:
        self._most = most
        self._most_per_address = most_per_address
        self._uploads_by_address: Counter[str] = Counter()

    def add(self, address: str) -> None:
        """Count an upload of an address. Raises TooManyCalls."""
        is_full = self._uploads_by_address.total() >= self._most
        if is_full or self._uploads_by_address[address] >= self._most_per_address:
            raise TooManyCalls
        self._uploads_by_address[address] += 1

    def remove(self, address: str) -> None:
        """Count an upload of an address no longer."""
        self._uploads_by_address[address] -= 1
        if not self._uploads_by_address[address]:
            del self._uploads_by_address[address]


async def receive_upload(chunks: AsyncIterable[bytes], length: int, *, address: str, limit: UploadLimit) -> IO[bytes]:
    """Return the body of an upload, of `length` bytes, as a file at its beginning, to be closed by the caller.

    It is empty if the client closes the connection before its end. Raises TooManyCalls over the limit, before anything
    is read, and BodyTooSlow.
    """
    limit.add(address)
    body: IO[bytes] = SpooledTemporaryFile(MEMORY_BYTES)  # noqa: SIM115 - the caller closes it
    try:
        async with asyncio.timeout(SECONDS):
            async for chunk in chunks:
                body.write(chunk)
        if body.tell() != length:
            body.truncate(0)
    except ProtocolClosed:
        body.truncate(0)
    except TimeoutError:
        body.close()
        raise BodyTooSlow from None
    except BaseException:
        body.close()
        raise
    finally:
        limit.remove(address)
    body.seek(0)
    return body
