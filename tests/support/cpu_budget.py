"""How much a test may try, and what something may cost, judged as steadily as a machine with other work can."""

import gc
import time
from collections.abc import Callable
from math import inf

from hypothesis import settings

TRIES = 3
THOROUGH = 10  # times as many examples in the profile of that name


def is_thorough() -> bool:
    """Return whether this run takes its time, as `make test-all` does."""
    return settings.get_current_profile_name() == "thorough"


def examples(usual: int) -> int:
    """Return how many examples a property test looks at, given the number for `make test`."""
    return usual * THOROUGH if is_thorough() else usual


def within(seconds: float, work: Callable[[], object]) -> None:
    """Fail where `work` takes more CPU seconds of this thread than that, three times over.

    Neither other threads and processes count nor the collection of what earlier tests left, which takes seconds late in
    a long run. It is for what grows faster than its input and takes many times as long then; speed is measured by the
    benchmarks.
    """
    best = inf
    for _ in range(TRIES):
        gc.disable()
        began = time.thread_time()
        try:
            work()
        finally:
            gc.enable()
        best = min(best, time.thread_time() - began)
        if best <= seconds:
            return
    raise AssertionError(f"It took {best:.2f} CPU seconds at best and may take {seconds}.")
