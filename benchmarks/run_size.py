"""The size of a run: the whole of it, or about a hundredth, which only shows that each benchmark gives its figures."""

import os

SMOKE = "BENCHMARKS_SMOKE"  # the environment variable of a smoke run, so that the processes of benchmarks also see it
DIVISOR = 100


def is_smoke() -> bool:
    """Whether this is a smoke run."""
    return bool(os.environ.get(SMOKE))


def shrink(number: int, least: int = 1) -> int:
    """Return how many of something a run takes: the number, or a hundredth of it, but at least the minimum."""
    return min(number, max(least, number // DIVISOR)) if is_smoke() else number


def shorten(seconds: float, least: float = 0.2) -> float:
    """Return how long something takes in a run: the seconds, or a hundredth of them, but at least so long."""
    return min(seconds, max(least, seconds / DIVISOR)) if is_smoke() else seconds
