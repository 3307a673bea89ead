"""Memory of this process, and a pause of the garbage collector."""

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager


def return_freed_memory() -> None:
    """Give memory that this process has freed back to the system. Does nothing without glibc.

    The allocator keeps the memory that loading a catalog needs for a moment: 11 MB after a thousand ops.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


@contextmanager
def pause_gc() -> Iterator[None]:
    """Turn off cyclic garbage collection in the whole process inside the block.

    For blocks of a few seconds that create many objects and free few.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            # Together they move all objects to the oldest generation. Otherwise the next allocation would go through
            # all those that the block created.
            gc.freeze()
            gc.unfreeze()
            gc.enable()
