"""A small memory that the worker processes of one server share: short-lived counts and notes, by key.

It is a table of slots in anonymous memory, made before the workers are forked. Entries with the same slot replace each
other, and nothing is locked: a lost or doubled count is the worst that happens. Use it only where that does no harm.
"""

import hashlib
import mmap
import struct
import time

SLOTS = 16_384
MAX_TEXT = 200  # bytes of a note
_HEADER = struct.Struct("<8sdIH")  # hash of the key, time of the last write, count, length of the note
_SLOT_SIZE = _HEADER.size + MAX_TEXT


class SharedSlots:
    """Counts and notes that are forgotten after `lifetime` seconds. Shared by processes forked after it was made."""

    def __init__(self, *, lifetime: float) -> None:
        self._lifetime = lifetime
        self._memory = mmap.mmap(-1, SLOTS * _SLOT_SIZE)  # pages are taken only when they are written

    def increment(self, *key: str) -> int:
        """Count one more occurrence of a key and return how many there were."""
        digest, offset = _locate(key)
        count = self._read(digest, offset)[0] + 1
        self._write(digest, offset, count, b"")
        return count

    def store_note(self, *key: str, note: str) -> None:
        """Store a note for a key; one of more than 200 bytes is not stored."""
        text = note.encode()
        if len(text) <= MAX_TEXT:
            digest, offset = _locate(key)
            self._write(digest, offset, 1, text)

    def get_note(self, *key: str) -> str:
        """Return the note of a key; empty if there is none."""
        digest, offset = _locate(key)
        return self._read(digest, offset)[1].decode(errors="ignore")

    def clear(self) -> None:
        """Forget everything."""
        self._memory[:] = bytes(len(self._memory))

    def _read(self, digest: bytes, offset: int) -> tuple[int, bytes]:
        owner, written_at, count, length = _HEADER.unpack_from(self._memory, offset)
        if owner != digest or time.time() - written_at > self._lifetime:
            return 0, b""
        start = offset + _HEADER.size
        return count, self._memory[start : start + min(length, MAX_TEXT)]

    def _write(self, digest: bytes, offset: int, count: int, note: bytes) -> None:
        start = offset + _HEADER.size
        self._memory[start : start + len(note)] = note
        _HEADER.pack_into(self._memory, offset, digest, time.time(), count, len(note))


def _locate(key: tuple[str, ...]) -> tuple[bytes, int]:
    """Return the hash of a key and the offset of its slot."""
    digest = hashlib.blake2b("\0".join(key).encode(), digest_size=8).digest()
    return digest, int.from_bytes(digest, "little") % SLOTS * _SLOT_SIZE
