"""Prometheus metrics, summed over all worker processes of a server.

If PROMETHEUS_MULTIPROC_DIR is set before this module is imported (config/wsgi.py does so), each process keeps its
numbers in files there and /metrics adds them up. The settings make the folder. Otherwise the numbers are in memory, for
a single process. Labels only have small, closed sets of values: never an op, a subject or a key, of which there may be
thousands.
"""

import os
from bisect import bisect_left
from collections import Counter as Multiset
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    REGISTRY,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from core.background.write_behind import WriteBehindBuffer

CONTENT_TYPE = CONTENT_TYPE_LATEST
MAX_REASONS = 100  # upstreams choose their own reasons; after the first hundred, new ones count as "other"
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)  # seconds

MAX_WAITING = 100_000  # calls that are not counted yet


class BulkHistogram(Histogram):
    """A histogram that takes many values at a time. Each step of `observe` locks and writes to the file."""

    def observe_all(self, amounts: Sequence[float]) -> None:
        """Observe some amounts."""
        self._sum.inc(sum(amounts))
        for index, count in Multiset(bisect_left(self._upper_bounds, amount) for amount in amounts).items():
            self._buckets[index].inc(count)


CALLS = Counter(
    "gateway_calls", "Calls answered, by type, kind of op, code and reason.", ["type", "kind", "code", "reason"]
)
CALL_SECONDS = BulkHistogram(
    "gateway_call_seconds", "Seconds from a call's arrival to its response.", ["type", "kind"], buckets=BUCKETS
)
LAST_POLL = Gauge(
    "gateway_last_poll_timestamp_seconds",
    "When the process furthest behind last polled releases, connections and keys, all without a failure.",
    multiprocess_mode="livemin",
)
JOBS_LATE = Gauge(
    "gateway_jobs_late_seconds",
    "Seconds since the periodic job that is latest was due, or 0 if none is late by two minutes.",
    multiprocess_mode="livemax",
)
POOL_USED = Gauge("gateway_db_pool_used", "Database connections in use (PostgreSQL).", multiprocess_mode="livesum")
POOL_WAITING = Gauge(
    "gateway_db_pool_waiting", "Calls waiting for a database connection (PostgreSQL).", multiprocess_mode="livesum"
)

CallLabels = tuple[str, str, str, str]  # type, kind (empty if the op is unknown), code (OK for a success), reason

_reasons: set[str] = set()


def count_call(labels: CallLabels, *, seconds: float) -> None:
    """Count one answered call and its duration in seconds: in all processes within 100 ms, in this one at once."""
    _waiting_calls.put((labels, seconds))


def _add_calls(calls: list[tuple[CallLabels, float]]) -> None:
    seconds_by_labels: dict[CallLabels, list[float]] = defaultdict(list)
    for labels, seconds in calls:
        seconds_by_labels[labels].append(seconds)
    for labels, amounts in seconds_by_labels.items():
        counter, latency = _get_call_metrics(labels)
        counter.inc(len(amounts))
        latency.observe_all(amounts)


# To count each call by itself takes a twelfth of a cached help call.
_waiting_calls: WriteBehindBuffer[tuple[CallLabels, float]] = WriteBehindBuffer(
    "calls",
    _add_calls,
    capacity=MAX_WAITING,
    report=lambda: _waiting_calls.flush(),  # also while the thread that writes waits for the database
)


def render_metrics() -> bytes:
    """Return all metrics in Prometheus' text format."""
    _waiting_calls.flush()
    folder = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
    if folder is None:
        return generate_latest(REGISTRY)
    _delete_dead_gauges(Path(folder))
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]  # the package has no type hint for it
    return generate_latest(registry)


@lru_cache(maxsize=4096)
def _get_call_metrics(labels: CallLabels) -> tuple[Counter, BulkHistogram]:
    type, kind, code, reason = labels
    if reason not in _reasons and len(_reasons) >= MAX_REASONS:
        reason = "other"
    _reasons.add(reason)
    return CALLS.labels(type, kind, code, reason), CALL_SECONDS.labels(type, kind)


def drop_own_gauges() -> None:
    """Delete the gauges of this process, which serves nothing itself: its zeros would be the minimum of all workers."""
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        mark_process_dead(os.getpid())  # type: ignore[no-untyped-call]  # the package has no type hint for it


def _delete_dead_gauges(folder: Path) -> None:
    """Delete the gauges of killed workers, which would otherwise be summed forever."""
    pids = {int(path.stem.rpartition("_")[2]) for path in folder.glob("gauge_live*_*.db")}
    for pid in pids:
        if not _is_alive(pid):
            mark_process_dead(pid)  # type: ignore[no-untyped-call]  # the package has no type hint for it


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # the pid was reused by a process of another user
    return True
