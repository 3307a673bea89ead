import gc
from types import SimpleNamespace

import pytest

from core import memory


def test_freed_memory_is_returned_with_glibc_and_left_without(monkeypatch: pytest.MonkeyPatch) -> None:
    memory.return_freed_memory()  # on this system
    paddings: list[int] = []
    for library in (SimpleNamespace(malloc_trim=paddings.append), SimpleNamespace()):
        monkeypatch.setattr(memory.ctypes, "CDLL", lambda _name, library=library: library)
        memory.return_freed_memory()

    assert paddings == [0]


@pytest.mark.parametrize("enabled", [True, False])
def test_pause_gc_disables_the_collector_and_restores_it(enabled: bool) -> None:
    before = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        with memory.pause_gc():
            assert not gc.isenabled()
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if before else gc.disable)()


def test_pause_gc_leaves_frozen_what_was_frozen_before_the_fork() -> None:
    was_frozen = gc.get_freeze_count() > 0
    gc.freeze()
    try:
        with memory.pause_gc():
            pass
        assert gc.get_freeze_count() > 0
    finally:
        if not was_frozen:
            gc.unfreeze()
