"""What a soak must show: memory and latency stay as they are, nothing fails, and every call left its events."""

import re
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.soak.calls import EventKind

WARM_UP_SHARE = 1 / 3  # of the windows; until then caches fill, and each worker publishes and loads releases
MAX_GROWTH = 0.05
MAX_DRIFT = 1.5

_LOGGED_ERROR = re.compile(r"\b(ERROR|CRITICAL)\b|Traceback", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SoakWindow:
    """The calls that were due in one stretch of time, and the memory of each worker in MB by its pid."""

    start_s: float
    calls: int
    errors: int
    p50_ms: float
    p99_ms: float
    memory_mb: Mapping[str, float]


def skip_warm_up(windows: Sequence[SoakWindow]) -> Sequence[SoakWindow]:
    """Return the windows after the warm-up."""
    return windows[round(len(windows) * WARM_UP_SHARE) :]


def compute_growth(windows: Sequence[SoakWindow]) -> dict[str, float]:
    """Return by how much each worker grew from the first of these windows to the last: 0.05 for 5%."""
    first, last = windows[0].memory_mb, windows[-1].memory_mb
    return {pid: last[pid] / first[pid] - 1 for pid in first.keys() & last.keys()}


def compute_drift(windows: Sequence[SoakWindow]) -> float:
    """Return the median p99 of the last third of these windows divided by that of the first third.

    Medians, because one window with a backup or a neighbour's load says nothing about the trend.
    """
    third = len(windows) // 3
    first, last = (statistics.median(each.p99_ms for each in part) for part in (windows[:third], windows[-third:]))
    return last / first


def find_memory_growth(windows: Sequence[SoakWindow]) -> list[str]:
    """Return a sentence for each worker that grew by 5% or more."""
    return [
        f"Memory of worker {pid} grew by {growth:.1%}, from {windows[0].memory_mb[pid]:.1f} to"
        f" {windows[-1].memory_mb[pid]:.1f} MB; the limit is {MAX_GROWTH:.0%}."
        for pid, growth in compute_growth(windows).items()
        if growth >= MAX_GROWTH
    ]


def find_latency_drift(windows: Sequence[SoakWindow]) -> list[str]:
    """Return a sentence if p99 rose."""
    drift = compute_drift(windows)
    if drift <= MAX_DRIFT:
        return []
    return [f"p99 drifted: its last third is {drift:.2f} times its first third; the limit is {MAX_DRIFT:g}."]


def find_changed_workers(samples: Sequence[Mapping[str, float]]) -> list[str]:
    """Return a sentence if the processes in these samples of memory are not always the same."""
    groups = list(dict.fromkeys(frozenset(sample) for sample in samples))
    if len(groups) <= 1:
        return []
    return [f"Workers changed: {' then '.join(', '.join(sorted(group)) or 'none' for group in groups)}."]


def find_count_differences(what: str, expected: Mapping[str, int], stored: Mapping[str, int]) -> list[str]:
    """Return a sentence for each kind of which another number is stored than expected."""
    return [
        f"{what} differ for {kind}: {stored.get(kind, 0):,} stored, {expected.get(kind, 0):,} expected."
        for kind in sorted(expected.keys() | stored.keys())
        if stored.get(kind, 0) != expected.get(kind, 0)
    ]


def find_logged_errors(log: str) -> list[str]:
    """Return a sentence if a server's log has errors or tracebacks, with the first of them."""
    lines = [line for line in log.splitlines() if _LOGGED_ERROR.search(line)]
    return [f"The server logged {len(lines)} errors, first: {lines[0]}"] if lines else []


def derive_figures(events: Mapping[EventKind, int]) -> Counter[str]:
    """Return the sums of the daily figures that these numbers of events must lead to.

    `calls` are exec events without replays, `invalid` those that were refused, `searches` those that were answered.
    """
    figures: Counter[str] = Counter()
    for kind, number in events.items():
        if kind.type == "exec" and not kind.replayed:
            figures["calls"] += number
            figures["invalid"] += number if kind.status == 400 else 0
        elif kind.type == "search" and kind.status == 200:
            figures["searches"] += number
    return figures
