"""Items on disk that a process cannot store yet. They outlive the process, and another one takes them over."""

import errno
import fcntl
import logging
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from django.conf import settings

log = logging.getLogger(__name__)

CHUNK = 1 << 20  # bytes read at once
OPEN_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC
Item = TypeVar("Item")


class SpooledBatch(NamedTuple, Generic[Item]):
    """The oldest items, where they end in the file, and how many lines before that are no items."""

    items: list[Item]
    end: int
    unreadable: int


class Spool(Generic[Item]):
    """The items of one process, a line of bytes each, oldest first. The caller locks it against other threads.

    A line is with the system when `append` returns, so that it survives SIGKILL. Nobody waits for the disk: if the
    machine loses power, lines may be lost. The file exists only while it has items. Its process holds a lock on it.
    """

    def __init__(self, name: str, encode: Callable[[Item], bytes], decode: Callable[[bytes], Item]) -> None:
        self._name, self._encode, self._decode = name, encode, decode
        self._file: int | None = None  # its descriptor
        self._path = Path()
        self._begin = self._end = 0  # of the items in the file, in bytes
        self.is_adopted = False  # the file is one that another process left

    def __len__(self) -> int:
        """Return the size of the items in bytes."""
        return self._end - self._begin

    def append(self, items: Sequence[Item]) -> int:
        """Add items, all or none, and return where they end.

        Raises OSError if the disk or GATEWAY_SPOOL_MAX_BYTES is full.
        """
        lines = b"".join(self._encode(item) + b"\n" for item in items)
        if self._end + len(lines) > settings.GATEWAY_SPOOL_MAX_BYTES:
            raise OSError(errno.EFBIG, "GATEWAY_SPOOL_MAX_BYTES is reached")
        if self._file is None:
            self._path, self._file = self._create_file()
        try:
            _write_all(self._file, lines)
        except OSError:
            os.ftruncate(self._file, self._end)
            self.drop(self._begin)
            raise
        self._end += len(lines)
        return self._end

    def read(self, count: int) -> SpooledBatch[Item]:
        """Return at most `count` of the oldest items. Lines that were cut off are left out."""
        data = b""
        while b"\n" not in data and (chunk := self._read_chunk(self._begin + len(data))):  # an item may be larger
            data += chunk
        lines = data.split(b"\n")[:-1][:count]
        items = []
        for line in lines:
            try:
                items.append(self._decode(line))
            except (ValueError, TypeError, LookupError):
                log.warning("%s.unreadable bytes=%d", self._name, len(line))
        end = self._begin + sum(len(line) + 1 for line in lines)
        return SpooledBatch(items, end if lines else self._end, len(lines) - len(items))

    def drop(self, end: int) -> None:
        """Remove the items before a position, and the file if it has no more."""
        self._begin = end
        if self._file is not None and self._begin == self._end:
            self._path.unlink(missing_ok=True)  # before its lock ends
            self.leave()

    def clear(self) -> None:
        """Remove all items."""
        self.drop(self._end)

    def leave(self) -> None:
        """Close the file. Another process takes it over; in a fork, the parent keeps it."""
        if self._file is not None:
            os.close(self._file)
        self._file, self._begin, self._end, self.is_adopted = None, 0, 0, False

    def adopt(self) -> bool:
        """Take over the file of a process that has ended, if this one has none, and return whether there was one."""
        if self._file is not None:
            return False
        for path in self._list_files():
            try:
                file = os.open(path, OPEN_FLAGS)
            except FileNotFoundError:  # another process was faster
                continue
            if not _lock(file):
                os.close(file)
                continue
            self._path, self._file, self._end = path, file, _end_last_line(file)
            self.is_adopted = True
            self.drop(0)  # the file, if it is empty
            if self:
                return True
        return False

    def _list_files(self) -> list[Path]:
        """Return the files of all processes, oldest first."""
        folder = Path(settings.GATEWAY_SPOOL_FOLDER)
        try:
            return [folder / name for name in sorted(os.listdir(folder)) if name.startswith(f"{self._name}-")]
        except FileNotFoundError:
            return []

    def _create_file(self) -> tuple[Path, int]:
        folder = Path(settings.GATEWAY_SPOOL_FOLDER)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = folder / f"{self._name}-{time.time_ns()}-{os.getpid()}"
        unlocked = path.with_name(f".{path.name}")  # no process takes it for one that was left
        file = os.open(unlocked, OPEN_FLAGS | os.O_CREAT | os.O_EXCL, 0o600)
        fcntl.flock(file, fcntl.LOCK_EX)
        unlocked.rename(path)
        return path, file

    def _read_chunk(self, position: int) -> bytes:
        return b"" if self._file is None else os.pread(self._file, min(CHUNK, self._end - position), position)


def _lock(file: int) -> bool:
    """Lock a file until it is closed or the process ends. Return False if another process has it or has removed it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return os.fstat(file).st_nlink > 0


def _end_last_line(file: int) -> int:
    """Complete a line that was cut off, so that the next one does not continue it. Return the size of the file."""
    size = os.fstat(file).st_size
    if size and os.pread(file, 1, size - 1) != b"\n":
        _write_all(file, b"\n")
        size += 1
    return size


def _write_all(file: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]
