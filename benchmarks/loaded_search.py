"""Searches while other calls run: what a model waits for help with a query on a busy gateway."""

import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from threading import Event

from benchmarks import figures, load, timing
from benchmarks.figures import BenchmarkFigure, compute_percentile
from benchmarks.lab import Lab
from benchmarks.run_size import shrink

OPS, READS_A_SECOND, ROUNDS = 2_000, 200, 5


def measure_loaded_search(lab: Lab) -> list[BenchmarkFigure]:
    """Measure searches one after the other, while reads run at a steady pace."""
    prepared = lab.get_sqlite(OPS)
    searches, reads = timing.build_searches(prepared), timing.build_reads(prepared)
    with lab.serve_gateway(prepared) as gateway, ThreadPoolExecutor(1) as pool:
        timing.warm_up(gateway.address, searches)
        has_ended = Event()
        beside = pool.submit(load.run_load, gateway.address, _pace(cycle(reads), has_ended))
        try:
            rounds = [
                compute_percentile(load.run_load(gateway.address, searches).latencies, 95)
                for _ in range(shrink(ROUNDS))
            ]
        finally:
            has_ended.set()
        result = beside.result()
    against = f"{len(searches)} searches of three words, beside {result.per_second:.0f} reads/s; {prepared.ops:,} ops"
    return [figures.build_median_figure("search.loaded.p95_ms", rounds, "ms", against)]


def _pace(requests: Iterable[bytes], has_ended: Event) -> Iterator[bytes]:
    """Yield requests at the pace of the load until it has ended."""
    due = time.monotonic()
    for request in requests:
        due += 1 / READS_A_SECOND
        if has_ended.wait(max(due - time.monotonic(), 0)):
            return
        yield request
