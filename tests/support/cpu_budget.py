"""How many examples a property test tries, and limits for CPU time that are stable on a busy machine."""

import gc
import time
from collections.abc import Callable
from math import inf

from hypothesis import settings

TRIES = 3
THOROUGH = 10  # the thorough profile tries this many times as many examples


def is_thorough() -> bool:
    """Return whether this is a thorough run, as in `make test-all`."""
    return settings.get_current_profile_name() == "thorough"


def examples(usual: int) -> int:
    """Return the number of examples for this run, given the number for `make test`."""
    return usual * THOROUGH if is_thorough() else usual


def assert_cpu_seconds(seconds: float, work: Callable[[], object], *, tries: int = TRIES) -> None:
    """Fail if `work` takes more CPU seconds of this thread in each of its tries.

    Other threads and processes do not count, nor does garbage collection of earlier tests. Use it to detect work that
    grows faster than its input; benchmarks measure speed.
    """
    best = inf
    for _ in range(tries):
        gc.disable()
        start = time.thread_time()
        try:
            work()
        finally:
            gc.enable()
        best = min(best, time.thread_time() - start)
        if best <= seconds:
            return
    raise AssertionError(f"It took {best:.2f} CPU seconds at best and may take {seconds}.")
