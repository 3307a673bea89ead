"""Pausing the garbage collector."""

import gc

import pytest

from core import memory


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
