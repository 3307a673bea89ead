"""Checks that work grows in proportion to its input, without limits in seconds."""

import gc
import time
from collections.abc import Callable
from typing import Any

FACTOR = 10
# Linear work takes 10 times as long, quadratic work 100 times: this is in the middle. While another process computes on
# the same core, every long run takes twice as long, and a short one finds a moment without it.
MOST = FACTOR**1.5
TRIES = 12  # quadratic work fails all of them; linear work on a busy machine only some


def assert_linear(work: Callable[[Any], object], build: Callable[[int], Any], *, size: int) -> None:
    """Fail if `work` takes over 32 times as long for `build(size)` as for `build(size / 10)`, in each of its tries."""
    small, large = build(size // FACTOR), build(size)
    work(small)  # what is loaded or compiled on first use
    ratios = []
    for _ in range(TRIES):
        ratios.append(_measure(work, large) / max(min(_measure(work, small) for _ in range(3)), 0.0005))
        if ratios[-1] < MOST:
            return
    raise AssertionError(f"{FACTOR} times as much takes {min(ratios):.0f} times as long.")


def _measure(work: Callable[[Any], object], value: Any) -> float:
    gc.disable()
    start = time.thread_time()
    try:
        work(value)
    finally:
        gc.enable()
    return time.thread_time() - start
