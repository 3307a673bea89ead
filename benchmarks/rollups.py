"""The CPU time of the roll-up at 1,000 calls a second: the process, and the database's process that works for it."""

import gc
import heapq
import random
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count, islice
from typing import Any

from django.db import connection

from analytics.events import event_log
from analytics.rollups import rollup_job
from benchmarks import usage
from benchmarks.reports import build_demo_ops, update_statistics
from benchmarks.run_size import shrink
from demo.traffic.turns import DemoVariant, TurnGenerator

RATE = 1_000  # events a second
MINUTES = 4
BEGIN = datetime(2026, 3, 10, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
EVENTS_PER_TURN = 4.2  # of these variants
VARIANTS = [
    DemoVariant("", "gateway", "r1", failure_rate=0.12, repair_rate=0.84, unknown_name_rate=0.05, loop_rate=0.004),
    DemoVariant(
        "copy-a", "gateway", "r2", failure_rate=0.08, repair_rate=0.93, unknown_name_rate=0.03, loop_rate=0.002
    ),
]


def measure_rollups(users: int) -> dict[str, Any]:
    """Write some minutes of events by this many users, and roll up each. Return the CPU seconds of each but the first.

    The first one has no turns that go on. 1 user stands for events of nobody. The result is
    {events: in a minute, own_s: […], database_s: […]}.
    """
    rate = shrink(RATE)
    events = _generate_events(random.Random(9), rate, users)
    rollup_job.catch_up(BEGIN)
    own, database = [], []
    for minute in range(1, MINUTES + 1):
        batch = list(islice(events, 60 * rate))
        event_log.write_events(batch)
        update_statistics()
        gc.freeze()  # the generator's events, which a collection within the roll-up would look at
        own_before, database_before = time.process_time(), _get_database_seconds()
        rollup_job.catch_up(BEGIN + minute * MINUTE)
        own.append(time.process_time() - own_before)
        database.append(_get_database_seconds() - database_before)
    return {"events": len(batch), "own_s": own[1:], "database_s": database[1:]}


def _generate_events(rng: random.Random, rate: int, users: int) -> Iterator[dict[str, Any]]:
    """Yield events in order of time, without end, about `rate` a second. Turns last some seconds: many run at once."""
    generator = TurnGenerator(f"rollups of {users}", build_demo_ops())
    waiting: list[tuple[datetime, int, dict[str, Any]]] = []
    at = BEGIN
    for number in count():
        at += timedelta(seconds=EVENTS_PER_TURN / rate)
        user = rng.randrange(users)
        variant = VARIANTS[user % len(VARIANTS)]
        turn, _ = generator.generate_turn(f"user-{user}" if users > 1 else "", variant, at)
        for place, event in enumerate(turn):
            heapq.heappush(waiting, (event["time"], 100 * number + place, event))
        while waiting and waiting[0][0] <= at:
            yield heapq.heappop(waiting)[2]


def _get_database_seconds() -> float:
    """Return the CPU seconds of the connection's process; 0 if the database has none, or on another machine."""
    if connection.vendor != "postgresql":
        return 0.0
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        [pid] = cursor.fetchone()
    return usage.get_cpu_seconds(pid) if usage.get_name(pid) == "postgres" else 0.0
