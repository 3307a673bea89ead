from types import SimpleNamespace

import pytest

from core import memory


def test_freed_memory_is_returned_with_glibc_and_left_without(monkeypatch: pytest.MonkeyPatch) -> None:
    paddings: list[int] = []
    for library in (SimpleNamespace(malloc_trim=paddings.append), SimpleNamespace()):
        monkeypatch.setattr(memory.ctypes, "CDLL", lambda _name, library=library: library)
        memory.return_freed_memory()

    assert paddings == [0]


def test_this_system_can_be_asked() -> None:
    memory.return_freed_memory()
