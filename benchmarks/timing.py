"""One round of a benchmark: the requests that it sends to a prepared database, and how they are timed."""

import re
from collections.abc import Iterator, Sequence
from itertools import chain, cycle, islice
from statistics import median as middle

from benchmarks import figures, load, synthetic
from benchmarks.figures import BenchmarkFigure
from benchmarks.lab import PreparedDatabase
from benchmarks.load import Address
from benchmarks.run_size import shorten, shrink
from registry.snapshot.entries import OpEntry

CONNECTIONS = 16
RATE_SECONDS = 0.6  # many short rounds, so that other load affects both sides equally
SAMPLE = 100  # ops, spread over a catalog, that a round calls
WRITE_PAIRS = 300  # writes with and without an idempotency key per round

_TIMING = re.compile(rb"server-timing: total;dur=([\d.]+), handler;dur=([\d.]+)", re.IGNORECASE)


def measure_rates(ours: Address, bare: Address, requests: Sequence[bytes], rounds: int) -> list[tuple[float, float]]:
    """Return the requests per second of both servers for each round."""
    for address in (ours, bare):
        warm_up(address, requests)
    return [(measure_rate(ours, requests), measure_rate(bare, requests)) for _ in range(shrink(rounds))]


def build_rate_figures(ratio: str, rate: str, rates: list[tuple[float, float]], against: str) -> list[BenchmarkFigure]:
    bare = f"{against} ({middle(bare for _, bare in rates):.0f}/s)"
    return [
        figures.build_median_figure(ratio, [ours / bare for ours, bare in rates], "ratio", bare),
        figures.build_median_figure(rate, [ours for ours, _ in rates], "1/s", "concurrency 16"),
    ]


def measure_rate(address: Address, requests: Sequence[bytes]) -> float:
    seconds = shorten(RATE_SECONDS)
    return load.run_load(address, cycle(requests), connections=CONNECTIONS, seconds=seconds).per_second


def warm_up(address: Address, requests: Sequence[bytes]) -> None:
    """Send everything to both workers, so that their caches are warm."""
    load.run_load(address, chain.from_iterable([requests] * 8), connections=CONNECTIONS)
    load.run_load(address, cycle(requests), connections=CONNECTIONS, seconds=shorten(1))


def measure_p50(address: Address, requests: Sequence[bytes], seconds: float) -> float:
    return middle(load.run_load(address, cycle(requests), seconds=shorten(seconds)).latencies)


def measure_overhead_round(address: Address, requests: Sequence[bytes]) -> float:
    result = load.run_load(address, cycle(requests), seconds=shorten(0.5), with_heads=True)
    timings = [match.groups() for head in result.heads if (match := _TIMING.search(head))]
    return middle(float(total) - float(handler) for total, handler in timings)


def build_write_pairs(prepared: PreparedDatabase, name: str) -> Iterator[tuple[bytes, bytes]]:
    for number, task in enumerate(islice(cycle(prepared.tasks), shrink(WRITE_PAIRS, least=10))):
        args = {"task_id": task, "priority": number % 5 + 1}
        keyed = prepared.build_exec_request(synthetic.WRITE["op"], args, idempotency_key=f"{name}-{number}")
        yield keyed, prepared.build_exec_request(synthetic.WRITE["op"], args)


def build_reads(prepared: PreparedDatabase, op: str = synthetic.READ["op"]) -> list[bytes]:
    return [prepared.build_exec_request(op, {"task_id": task}) for task in prepared.tasks]


def build_help_requests(prepared: PreparedDatabase) -> list[bytes]:
    return [prepared.build_help_request(path=op["op"]) for op in sample_ops(prepared)]


def build_exec_requests(prepared: PreparedDatabase, sample: int = SAMPLE) -> list[bytes]:
    read = [op for op in sample_ops(prepared, sample) if op["kind"] == "read"]
    return [prepared.build_exec_request(op["op"], op["examples"][0]["args"]) for op in read]


def build_searches(prepared: PreparedDatabase) -> list[bytes]:
    """Return help with queries of about three words."""
    return [
        prepared.build_help_request(query=f"{op['action']} {op['entity'].replace('_', ' ')}")
        for op in sample_ops(prepared)
    ]


def sample_ops(prepared: PreparedDatabase, sample: int = SAMPLE) -> list[OpEntry]:
    """Return some ops, evenly spread over the catalog of a database; all if it has fewer."""
    return synthetic.build_ops(prepared.ops)[:: max(1, prepared.ops // sample)]
