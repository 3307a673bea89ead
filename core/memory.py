"""Memory of this process, and a pause of the garbage collector."""

import ctypes
import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager

INTERVAL = 30.0  # seconds
_next_return = 0.0


def return_freed_memory() -> None:
    """Give memory that this process has freed back to the system. Does nothing without glibc.

    The allocator keeps the memory that loading a catalog needs for a moment: 11 MB after a thousand ops.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def return_when_due() -> None:
    """Give freed memory back every 30 seconds: a page of the console or a batch may have needed much for a moment."""
    global _next_return
    if time.monotonic() >= _next_return:
        _next_return = time.monotonic() + INTERVAL
        return_freed_memory()


@contextmanager
def pause_gc() -> Iterator[None]:
    """Turn off cyclic garbage collection in the whole process inside the block.

    For blocks of a few seconds that create many objects and free most of them: the next collection goes through what is
    left.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            # Without gc.unfreeze: it would also free what was frozen before the fork (config/serve.py), and the next
            # collection would write to all of it, so that each worker gets a copy.
            gc.enable()
