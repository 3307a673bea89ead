"""Numbers for Prometheus, over all worker processes of a server.

With PROMETHEUS_MULTIPROC_DIR set before this module is imported (config/wsgi.py), each process keeps its numbers in
files there and an answer adds them up; without it there is one process and they lie in memory. Labels are of closed
sets only: no op, subject or key, of which there may be thousands.
"""

import os
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

CONTENT_TYPE = CONTENT_TYPE_LATEST
REASONS_KEPT = 100  # an upstream may make up reasons; those past the first hundred are counted as "other"
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)  # seconds

CALLS = Counter(
    "gateway_calls", "Calls answered, by type, kind of op, code and reason.", ["type", "kind", "code", "reason"]
)
SECONDS = Histogram(
    "gateway_call_seconds", "Seconds from a call's arrival to its answer.", ["type", "kind"], buckets=BUCKETS
)
EVENTS_BUFFERED = Gauge(
    "gateway_events_buffered", "Operation events that wait to be written.", multiprocess_mode="livesum"
)
EVENTS_LOST = Counter("gateway_events_lost", "Operation events that could not be written.")
FOLLOWED = Gauge(
    "gateway_followed_timestamp_seconds",
    "When the process that is furthest behind last followed releases, connections and keys, all without a failure.",
    multiprocess_mode="livemin",
)
RELEASE_LIVE = Gauge(
    "gateway_release_live", "1 where every process has a live release, else 0.", multiprocess_mode="livemin"
)
RELEASE_LOADED = Gauge(
    "gateway_release_loaded_timestamp_seconds",
    "When the last process took up the live release.",
    multiprocess_mode="livemax",
)
POOL_USED = Gauge("gateway_db_pool_used", "Database connections in use (PostgreSQL).", multiprocess_mode="livesum")
POOL_WAITING = Gauge(
    "gateway_db_pool_waiting", "Calls that wait for a database connection (PostgreSQL).", multiprocess_mode="livesum"
)

Told = tuple[str, str, str, str]  # type, kind (empty where no op is known), code (OK for a success), reason

_reasons: set[str] = set()


def count_call(told: Told, *, seconds: float) -> None:
    """Count one answered call."""
    calls, latency = _children(told)
    calls.inc()
    latency.observe(seconds)


def exposition() -> bytes:
    """Return all numbers in Prometheus' text format."""
    folder = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
    if folder is None:
        return generate_latest(REGISTRY)
    _forget_dead_processes(Path(folder))
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]  # the package types it not
    return generate_latest(registry)


@lru_cache(maxsize=4096)
def _children(told: Told) -> tuple[Counter, Histogram]:
    type, kind, code, reason = told
    if reason not in _reasons and len(_reasons) >= REASONS_KEPT:
        reason = "other"
    _reasons.add(reason)
    return CALLS.labels(type, kind, code, reason), SECONDS.labels(type, kind)


def _forget_dead_processes(folder: Path) -> None:
    """Drop the gauges of workers that were killed and replaced: they would be added up for ever."""
    pids = {int(path.stem.rpartition("_")[2]) for path in folder.glob("gauge_live*_*.db")}
    for pid in pids:
        if not _is_alive(pid):
            mark_process_dead(pid)  # type: ignore[no-untyped-call]  # the package types it not


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # another user's: the number was given anew
    return True
