import fcntl
import os
import stat
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from core.background import spool as spool_module
from core.background.spool import Spool


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, settings: Any) -> Path:
    settings.GATEWAY_SPOOL_FOLDER = tmp_path / "spool"
    return tmp_path / "spool"


def create_spool() -> Spool[int]:
    return Spool("numbers", lambda number: str(number).encode(), int)


def read_all(spool: Spool[int], count: int = 100) -> list[int]:
    items = []
    while spool:
        batch = spool.read(count)
        items += batch.items
        spool.drop(batch.end)
    return items


def leave_behind(*batches: range) -> Path:
    """Leave a file like a process that was killed: nobody holds its lock."""
    spool = create_spool()
    for batch in batches:
        spool.append(batch)
    path = spool._path
    spool.leave()
    return path


@pytest.mark.parametrize("chunk", [spool_module.CHUNK, 4])
def test_items_are_read_in_order_and_the_file_ends_with_them(
    folder: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(spool_module, "CHUNK", chunk)
    spool = create_spool()
    assert not spool
    spool.append(range(7))
    spool.append([123_456])  # longer than a chunk
    first = spool.read(2)
    spool.drop(first.end)
    spool.append([8])

    assert first.items == [0, 1]
    assert read_all(spool, count=3) == [2, 3, 4, 5, 6, 123_456, 8]
    assert list(folder.iterdir()) == []


def test_only_this_user_can_read_the_file(folder: Path) -> None:
    spool = create_spool()
    spool.append([1])

    [path] = folder.iterdir()
    assert [stat.S_IMODE(each.stat().st_mode) for each in (path, folder)] == [0o600, 0o700]
    spool.clear()


def test_full_spool_takes_nothing_and_keeps_what_it_has(settings: Any) -> None:
    settings.GATEWAY_SPOOL_MAX_BYTES = 10
    spool = create_spool()
    spool.append(range(4))

    with pytest.raises(OSError, match="GATEWAY_SPOOL_MAX_BYTES"):
        spool.append(range(2))
    assert read_all(spool) == [0, 1, 2, 3]


def test_items_that_a_full_disk_took_only_in_part_are_undone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool, write = create_spool(), os.write
    for before in ([], [7, 8]):
        spool.append(before) if before else None
        room = iter([3])

        def write_until_full(file: int, data: bytes, room: Any = room) -> int:
            if (size := next(room, 0)) == 0:
                raise OSError(28, "No space left on device")
            return write(file, data[:size])

        with monkeypatch.context() as patch:
            patch.setattr(os, "write", write_until_full)
            with pytest.raises(OSError, match="No space"):
                spool.append(range(5))
        assert len(list(folder.iterdir())) == len(before[:1])

    spool.append([9])
    assert read_all(spool) == [7, 8, 9]


def test_files_of_dead_processes_are_taken_over_oldest_first() -> None:
    leave_behind(range(3), range(3, 5))
    leave_behind(range(5, 6))
    living = create_spool()
    living.append([100])
    heir = create_spool()

    assert heir.adopt()
    assert not heir.adopt()  # one at a time
    assert heir.is_adopted
    heir.append([50])
    assert read_all(heir) == [0, 1, 2, 3, 4, 50]
    assert not heir.is_adopted
    assert heir.adopt()
    assert read_all(heir) == [5]
    assert not heir.adopt()
    assert read_all(living) == [100]


def test_new_file_is_not_taken_over_before_it_is_locked(monkeypatch: pytest.MonkeyPatch) -> None:
    spool, heir, lock = create_spool(), create_spool(), fcntl.flock
    taken = []

    def adopt_and_lock(file: int, operation: int) -> None:
        monkeypatch.setattr(fcntl, "flock", lock)
        taken.append(heir.adopt())
        lock(file, operation)

    monkeypatch.setattr(fcntl, "flock", adopt_and_lock)
    spool.append([1])

    assert taken == [False]
    assert read_all(spool) == [1]


def test_line_that_was_cut_off_is_left_out(folder: Path) -> None:
    path = leave_behind(range(3))
    path.write_bytes(path.read_bytes() + b"torn")
    heir = create_spool()
    heir.adopt()
    heir.append([3])

    batch = heir.read(100)
    assert (batch.items, batch.unreadable) == ([0, 1, 2, 3], 1)
    heir.drop(batch.end)
    (folder / "numbers-1-1").touch()  # of a process that died before its first line
    assert not heir.adopt()
    assert list(folder.iterdir()) == []


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # of Python 3.12 and later
def test_forked_process_leaves_the_file_to_its_parent() -> None:
    spool = create_spool()
    spool.append([1])
    answers = get_context("fork").SimpleQueue()

    def adopt_in_child() -> None:
        spool.leave()
        answers.put(create_spool().adopt())

    child = get_context("fork").Process(target=adopt_in_child)
    child.start()
    child.join()

    assert answers.get() is False
    assert read_all(spool) == [1]
