"""Pause Python's garbage collector, which slows down code that creates very many objects."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


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
