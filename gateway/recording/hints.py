"""Gateway-Hint: a sentence for a model that goes in circles within one turn, which the chat may show it.

What a turn did is remembered for a while by the processes of one server, in a table of slots in anonymous memory, made
before the workers are forked. Entries with the same slot replace each other, and nothing is locked. That is best
effort: a hint may be missing, or come once too often.
"""

import hashlib
import mmap
import struct
import time
from collections.abc import Sequence
from typing import Any

from gateway.access.request_context import Caller
from gateway.contracts.envelopes import Trace
from gateway.contracts.errors import ErrorCode, GatewayError
from gateway.recording import call_events
from registry.models import ROOT, get_parent_path

TURN_SECONDS = 900.0  # that a turn is remembered, as long as its toolset holds
MAX_FOUND = 4  # ops at the top of a search that are remembered

REPEATED_HELP = "You have read this help already in this turn. Use what it said: run the op, or ask for something else."
REPEATED_ROOT = "You have listed the top level already in this turn. Send help a query in the user's words instead."
REPEATED_FAILURE = (
    "This call has failed {count} times in this turn, each time for the same reason. Do not send it again: correct it, "
    "read the help of its op, or ask the user."
)
FOUND_BEFORE = (
    "Your search already found {op}. Run it, or read the help of that path; you do not need to list its groups."
)
SAME_FAILURE = "The same call failed before in this turn and will fail again. Change it before you send it. "

# Errors that stay as long as the call stays the same.
_LASTING_CODES = frozenset((ErrorCode.VALIDATION_ERROR, ErrorCode.PERMISSION_DENIED, ErrorCode.NOT_FOUND))

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


_slots = SharedSlots(lifetime=TURN_SECONDS)


def note_help(caller: Caller, trace: Trace, *, kind: str, path: str, body: dict[str, Any], digest: str) -> None:
    """Remember a help read or a discovery, and set the hint if the turn repeats itself or walks to what it found.

    `digest` is the hash of the call, by which repetitions are counted.
    """
    if not caller.turn:
        return
    is_root = kind == "help" and path == ROOT and "cursor" not in body
    if is_root and _slots.increment(*_build_key(caller, "root")) > 1:
        trace.hint = REPEATED_ROOT
    elif _slots.increment(*_build_key(caller, digest)) > 1:
        trace.hint = REPEATED_HELP
    elif found_op := _slots.get_note(*_build_key(caller, "found", path)):
        trace.hint = FOUND_BEFORE.format(op=found_op)


def note_search(caller: Caller, trace: Trace, *, paths: Sequence[str], digest: str) -> None:
    """Remember what a search found, by the groups above it, and set the hint if the turn repeats the search."""
    if not caller.turn:
        return
    if _slots.increment(*_build_key(caller, digest)) > 1:
        trace.hint = REPEATED_HELP
    for op in reversed(paths[:MAX_FOUND]):  # the best one last, so that it stays
        group = op
        while group != ROOT:
            group = get_parent_path(group)
            _slots.store_note(*_build_key(caller, "found", group), note=op)


def note_failure(caller: Caller, trace: Trace, *, path: str, args: dict[str, Any], error: GatewayError) -> None:
    """Remember a failed call. The second identical failure says so in its message, the third also sets the hint."""
    if not caller.turn or error.code not in _LASTING_CODES or error.retryable:
        return
    digest = call_events.hash_call(caller, f"failed {error.reason} {path}", args)
    count = _slots.increment(*_build_key(caller, digest))
    if count > 1:
        error.args = (f"{SAME_FAILURE}{error}",)
    if count > 2:
        trace.hint = REPEATED_FAILURE.format(count=count)


def clear() -> None:
    """Forget all turns, as in a new server."""
    _slots.clear()


def _build_key(caller: Caller, *parts: str) -> tuple[str, ...]:
    return (str(caller.key.client_id), caller.subject, caller.session, caller.turn, *parts)
