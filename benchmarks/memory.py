"""The memory of a worker, on the server that `make run` starts.

Workers are forks that share most of what was loaded before. So the figures are proportional (PSS): what a worker alone
uses, and its share of what it has in common with others. Its resident size (RSS) counts all of that for each.
"""

from itertools import cycle, islice
from tempfile import TemporaryFile

from benchmarks import load, synthetic, timing, usage
from benchmarks.figures import BenchmarkFigure, NotMeasured
from benchmarks.lab import Lab, PreparedDatabase
from benchmarks.run_size import shorten, shrink
from benchmarks.soak.calls import CallMix
from benchmarks.soak.traffic import PAGE_SECONDS, run_traffic

OPS = 1_000
MIXED_SECONDS, MIXED_CALLS_PER_S = 120.0, 50.0
PUBLISH_EVERY_S = 20.0


def measure_worker(lab: Lab) -> list[BenchmarkFigure]:
    """Measure the largest worker after it served help (short and full) of every op and ran every read."""
    usage.require_proc()
    prepared = lab.get_sqlite(OPS)
    names = [op["op"] for op in synthetic.build_ops(prepared.ops)]
    requests = [
        *(prepared.build_help_request(path=name, format=form) for name in names for form in ("short", "full")),
        *timing.build_exec_requests(prepared, sample=prepared.ops),
        *timing.build_reads(prepared),
    ]
    with TemporaryFile("w+") as log, lab.serve_production(prepared, log) as gateway:
        for _ in range(3):  # a connection stays with one worker, so that worker has then served everything
            load.run_load(gateway.address, requests)
        load.run_load(
            gateway.address, islice(cycle(timing.build_reads(prepared)), shrink(5_000)), connections=timing.CONNECTIONS
        )
        after = f"{prepared.ops:,} ops, after {len(requests):,} calls, among them help of every op"
        return [_build_figure("memory.worker.mb", gateway.pid, after)]


def measure_mixed_load(lab: Lab) -> list[BenchmarkFigure]:
    """Measure the largest worker after calls of all kinds, pages of the console, and published releases."""
    usage.require_proc()
    prepared = lab.get_sqlite(OPS)
    seconds = shorten(MIXED_SECONDS)
    cookie = lab.edit_draft(prepared, 1)["Cookie"]
    with TemporaryFile("w+") as log, lab.serve_production(prepared, log) as gateway:
        with run_traffic(
            "http://{}:{}".format(*gateway.address),
            mix=CallMix(prepared.tasks),
            headers={"Authorization": prepared.headers["Authorization"]},
            cookie=cookie,
            per_second=MIXED_CALLS_PER_S,
            publish_at=[PUBLISH_EVERY_S * number for number in range(1, int(seconds / PUBLISH_EVERY_S))],
        ) as traffic:
            traffic.wait_until(seconds)
        errors = [result.error for result in traffic.results if result.error]
        if errors:
            raise NotMeasured(f"{len(errors)} of {len(traffic.results)} requests failed, the first one: {errors[0]}")
        after = (
            f"{prepared.ops:,} ops, after {seconds:.0f} s with {MIXED_CALLS_PER_S:.0f} calls/s of all kinds,"
            f" a page of the console every {PAGE_SECONDS:.0f} s, and a release every {PUBLISH_EVERY_S:.0f} s"
        )
        return [_build_figure("memory.mixed.mb", gateway.pid, after)]


def build_size_figure(name: str, pid: int, prepared: PreparedDatabase) -> BenchmarkFigure:
    """Return the memory of the largest worker of a running server, after what it just served."""
    usage.require_proc()
    return _build_figure(name, pid, f"{prepared.ops:,} ops, SQLite, after these calls")


def _build_figure(name: str, pid: int, after: str) -> BenchmarkFigure:
    against = f"PSS of the largest of 2 workers, {after}; RSS {usage.get_largest_child_mb(pid):.0f}"
    return BenchmarkFigure(name, round(usage.get_largest_child_pss_mb(pid), 1), "MB", against)
