"""Pausing the garbage collector: off inside, as it was outside."""

import gc

import pytest

from core import gc_pause


@pytest.mark.parametrize("enabled", [True, False])
def test_collector_is_off_inside_and_as_it_was_after(enabled: bool) -> None:
    before = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        with gc_pause.pause_gc():
            assert not gc.isenabled()
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if before else gc.disable)()
