"""The benchmarks. Ratios compare interleaved rounds (A B A B …) within one run, so that other load on the machine
affects both sides equally. Each figure is the median of its rounds.

Every server runs as in `make run`: Granian, WSGI, 2 workers with 4 blocking threads each, on loopback.
"""

import math
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, cycle, islice
from statistics import median as middle
from typing import Any

from benchmarks import figures, load, memory, servers, synthetic, upstream
from benchmarks.figures import GOALS, Figure, percentile
from benchmarks.lab import Lab, Prepared
from benchmarks.load import Address, once

CONNECTIONS = 16
ROUNDS = 9
RATE_SECONDS = 0.6  # many short rounds, so that other load affects both sides equally
RATE_ROUNDS = 21
SMALL, USUAL, LARGE = 100, 1_000, 10_000  # ops in a catalog
NAMES = {SMALL: "100", USUAL: "1k", LARGE: "10k"}  # names of the sizes in figure names
MANY, EDITED = 6_000, 50  # ops in the catalog for the admin pages, and how many of them have unpublished edits
SAMPLE = 100  # ops, spread over a catalog, that a round calls
READS_THAT_WAIT = 32  # slow reads in a parallel batch
BATCH_THREADS = 8  # per worker; the default of GATEWAY_BATCH_THREADS
PAIRS = 300  # writes with and without an idempotency key per round
OF_SIZE = (
    *("publish.{}.s", "load.{}.s", "help.{}.p50_ms", "exec.{}.p50_ms", "search.{}.p95_ms"),
    "memory.{}.mb",
)

BARE_GET = "bare DRF GET of the same bytes, only CommonMiddleware, concurrency 16"
BARE_POST = "bare DRF POST, only CommonMiddleware, concurrency 16"

_TIMING = re.compile(rb"server-timing: total;dur=([\d.]+), handler;dur=([\d.]+)", re.IGNORECASE)


def cached_help(lab: Lab) -> list[Figure]:
    """Measure cached help of one op, with API key, all middleware and call event, against a bare DRF GET."""
    prepared = lab.sqlite(USUAL)
    sent = prepared.help(path=synthetic.ops(4)[3]["op"])
    with lab.gateway(prepared) as gateway:
        answer = once(gateway.address, sent)
        with lab.bare(answer) as bare:
            if once(bare.address, sent) != answer:
                raise load.BadAnswer("The bare server and the gateway return different bytes.")
            rates = _rates(gateway.address, bare.address, [sent], RATE_ROUNDS)
    return _of_rates("help.cached.ratio", "help.requests_per_s", rates, BARE_GET)


def exec_read(lab: Lab) -> list[Figure]:
    """Measure a read of one row on SQLite, with API key, validation and call event, against a bare DRF POST."""
    prepared = lab.sqlite(USUAL)
    return _exec_read(lab, prepared, _reads(prepared), "exec.read.ratio", "exec.requests_per_s", "")


def exec_read_by_orm(lab: Lab) -> list[Figure]:
    """Measure the same read through the ORM, as in most handlers."""
    prepared = lab.sqlite(USUAL)
    sent = _reads(prepared, synthetic.READ_BY_ORM["op"])
    return _exec_read(lab, prepared, sent, "exec.orm.ratio", "exec.orm.requests_per_s", " (handler uses the ORM)")


def exec_read_on_postgres(lab: Lab) -> list[Figure]:
    """Measure the same read on PostgreSQL."""
    prepared = lab.postgres(USUAL)
    if prepared is None:
        return []
    names = ("exec.postgres.ratio", "exec.postgres.requests_per_s")
    return _exec_read(lab, prepared, _reads(prepared), *names, " (gateway on PostgreSQL)")


def overhead(lab: Lab) -> list[Figure]:
    """Measure what the gateway adds to a handler's time, from the Server-Timing header."""
    prepared = lab.sqlite(USUAL)
    sent = _reads(prepared)
    with lab.gateway(prepared) as gateway:
        _warm(gateway.address, sent)
        rounds = [_overhead(gateway.address, sent) for _ in range(ROUNDS)]
    against = "Server-Timing total minus handler, p50, concurrency 1"
    return [figures.median("exec.overhead.ms", rounds, "ms", against)]


def scale(lab: Lab) -> list[Figure]:
    """Compare p50 with 10,000 ops and with 100 ops: HTTP, concurrency 1, ops spread over the whole catalog."""
    large, small = lab.sqlite(LARGE), lab.sqlite(SMALL)
    with lab.gateway(large) as many, lab.gateway(small) as few:
        found = []
        for name, asked in (("scale.help.ratio", _helps), ("scale.exec.ratio", _execs)):
            sides = [(many.address, asked(large, LARGE)), (few.address, asked(small, SMALL))]
            for address, sent in sides:
                _warm(address, sent)
            pairs = [[_p50(address, sent, 0.5) for address, sent in sides] for _ in range(ROUNDS)]
            against = f"p50 over HTTP with {LARGE:,} ops divided by p50 with {SMALL}, concurrency 1"
            found.append(figures.median(name, [much / little for much, little in pairs], "ratio", against))
    return found


def sizes(lab: Lab) -> list[Figure]:
    """Measure catalogs of each size: publishing, loading, calls, searches and the memory of a worker."""
    return [figure for number in NAMES for figure in _of_size(lab, lab.sqlite(number), number)]


def worker_memory(lab: Lab) -> list[Figure]:
    """Measure the largest worker after it served help (short and full) of every op and ran every read."""
    if not memory.is_told():
        print("Skipping memory.worker.mb: this system has no /proc.", file=sys.stderr)
        return []
    prepared = lab.sqlite(USUAL)
    names = [op["op"] for op in synthetic.ops(USUAL)]
    sent = [
        *(prepared.help(path=name, format=form) for name in names for form in ("short", "full")),
        *_execs(prepared, USUAL, sample=USUAL),
        *_reads(prepared),
    ]
    with lab.gateway(prepared) as gateway:
        for _ in range(3):  # a connection stays with one worker, so that worker has then served everything
            load.drive(gateway.address, sent)
        load.drive(gateway.address, islice(cycle(_reads(prepared)), 5_000), connections=CONNECTIONS)
        value = memory.largest_child_mb(gateway.pid)
    against = f"RSS of the largest of 2 workers, {USUAL:,} ops, after {len(sent):,} calls, among them help of every op"
    return [Figure("memory.worker.mb", round(value, 1), "MB", against)]


def idempotency(lab: Lab) -> list[Figure]:
    """Measure what an idempotency key adds to a small write on PostgreSQL, alternating with and without."""
    prepared = lab.postgres(USUAL)
    if prepared is None:
        return []
    with lab.gateway(prepared) as gateway:
        load.drive(gateway.address, chain.from_iterable(_pairs(prepared, "warm")), connections=CONNECTIONS)
        rounds = [_key_cost(gateway.address, prepared, str(number)) for number in range(ROUNDS)]
    against = f"p50 with a key minus p50 without, PostgreSQL, concurrency 1, {PAIRS} pairs per round"
    return [figures.median("idempotency.ms", rounds, "ms", against)]


def batch_in_parallel(lab: Lab) -> list[Figure]:
    """Measure a parallel batch of slow reads in a web process, relative to the ideal time."""
    prepared = lab.sqlite(SMALL)
    with upstream.serving() as port, lab.gateway(prepared, **{upstream.PORT: str(port)}) as gateway:
        return [_parallel("batch.parallel.ratio", gateway.address, prepared, "SQLite, in the web process")]


def batch_in_parallel_over_redis(lab: Lab) -> list[Figure]:
    """Measure the same batch in a Celery worker over Redis, on PostgreSQL."""
    prepared = lab.postgres(USUAL)
    with servers.redis() as url, upstream.serving() as port:
        if prepared is None or url is None:
            print("Skipping batch.parallel.redis.ratio: it needs PostgreSQL and redis-server.", file=sys.stderr)
            return []
        variables = {upstream.PORT: str(port), "CELERY_BROKER_URL": url}
        with lab.gateway(prepared, **variables) as gateway, lab.worker(prepared, **variables):
            told = "PostgreSQL, one worker process over Redis"
            return [_parallel("batch.parallel.redis.ratio", gateway.address, prepared, told)]


def batch_of_one(lab: Lab) -> list[Figure]:
    """Measure what a batch of one adds to a plain exec call."""
    prepared = lab.sqlite(USUAL)
    op, args = str(synthetic.READ["op"]), {"task_id": prepared.tasks[0]}
    alone, batched = prepared.exec(op, args), prepared.batch(op, args, 1, mode="sequential")
    with lab.gateway(prepared) as gateway:
        load.drive(gateway.address, [batched, alone] * 20, connections=CONNECTIONS)
        rounds = []
        for _ in range(ROUNDS):
            found = load.drive(gateway.address, [batched, alone] * 30).latencies
            rounds.append(middle(found[0::2]) - middle(found[1::2]))
    return [
        figures.median("batch.one.ms", rounds, "ms", "p50 of a batch of one minus p50 of exec, SQLite, concurrency 1")
    ]


@dataclass(frozen=True, slots=True)
class Measure:
    """One benchmark and the names of its figures."""

    names: tuple[str, ...]
    run: Callable[[Lab], list[Figure]]


def changing_releases(lab: Lab) -> list[Figure]:
    """Check help and search responses while, each second, one release is published and one rolled back."""
    seconds = float(os.environ.get("BENCH_RELEASES_SECONDS", "60"))
    prepared = lab.spare(SMALL)
    with lab.gateway(prepared) as gateway:
        seen = lab.changed(prepared, gateway, seconds)
    for wrong in (*seen["mixed"], *seen["failed"]):
        print(wrong, file=sys.stderr)
    told = f"of {seen['answers']:,} answers in {seconds:.0f} s with {seen['changes']} release changes"
    return [Figure(f"releases.{name}", len(seen[name]), "answers", told) for name in ("mixed", "failed")]


def reports_of_a_million(lab: Lab) -> list[Figure]:
    """Measure the slowest admin report over a million events in 28 days."""
    prepared = lab.postgres(USUAL)
    if prepared is None:
        return []
    found = lab.reported(prepared, 1_000_000)
    seconds = f"written in {found['filled_s']:.0f} s, counted in {found['counted_s']:.0f} s"
    print(f"Reports, p95 in ms: {found['pages']}; {seconds}", file=sys.stderr)
    slowest = max(found["pages"], key=found["pages"].get)
    against = f"{slowest}, the slowest of {len(found['pages'])}; {found['events']:,} events of 28 days, PostgreSQL"
    return [Figure("reports.1m.p95_ms", round(found["pages"][slowest], 1), "ms", against)]


def desk(lab: Lab) -> list[Figure]:
    """Measure the largest admin pages, the op list and the review, with thousands of ops, some of them edited."""
    prepared = lab.sqlite(MANY)
    headers = lab.edited(prepared, EDITED)
    against = f"over HTTP, concurrency 1; {MANY:,} ops, {EDITED} of them edited, SQLite"
    found = []
    with lab.gateway(prepared) as gateway:
        for name, path in (("ops", "op"), ("review", "release/review")):
            sent = load.request("GET", f"/admin/registry/{path}/", headers)
            load.drive(gateway.address, [sent] * 8, connections=8)  # warm the caches of every process
            rounds = [load.drive(gateway.address, [sent]).latencies[0] / 1_000 for _ in range(ROUNDS)]
            found.append(figures.median(f"desk.{name}.s", rounds, "s", against))
    return found


MEASURES = (
    Measure(("help.cached.ratio", "help.requests_per_s"), cached_help),
    Measure(("exec.read.ratio", "exec.requests_per_s"), exec_read),
    Measure(("exec.orm.ratio", "exec.orm.requests_per_s"), exec_read_by_orm),
    Measure(("exec.postgres.ratio", "exec.postgres.requests_per_s"), exec_read_on_postgres),
    Measure(("exec.overhead.ms",), overhead),
    Measure(("scale.help.ratio", "scale.exec.ratio"), scale),
    Measure(("memory.worker.mb",), worker_memory),
    Measure(("idempotency.ms",), idempotency),
    Measure(("batch.parallel.ratio",), batch_in_parallel),
    Measure(("batch.parallel.redis.ratio",), batch_in_parallel_over_redis),
    Measure(("batch.one.ms",), batch_of_one),
    Measure(("releases.mixed", "releases.failed"), changing_releases),
    Measure(("reports.1m.p95_ms",), reports_of_a_million),
    Measure(("desk.ops.s", "desk.review.s"), desk),
    Measure(tuple(figure.format(name) for name in NAMES.values() for figure in OF_SIZE), sizes),
)


def _exec_read(lab: Lab, prepared: Prepared, sent: list[bytes], ratio: str, rate: str, told: str) -> list[Figure]:
    with lab.gateway(prepared) as gateway, lab.bare(b"{}") as bare:
        rates = _rates(gateway.address, bare.address, sent, RATE_ROUNDS if ratio in GOALS else ROUNDS)
    return _of_rates(ratio, rate, rates, BARE_POST + told)


def _rates(ours: Address, bare: Address, sent: Sequence[bytes], rounds: int) -> list[tuple[float, float]]:
    """Return the requests per second of both servers for each round."""
    for address in (ours, bare):
        _warm(address, sent)
    return [(_rate(ours, sent), _rate(bare, sent)) for _ in range(rounds)]


def _of_rates(ratio: str, rate: str, rates: list[tuple[float, float]], against: str) -> list[Figure]:
    bare = f"{against} ({middle(bare for _, bare in rates):.0f}/s)"
    return [
        figures.median(ratio, [ours / bare for ours, bare in rates], "ratio", bare),
        figures.median(rate, [ours for ours, _ in rates], "1/s", "concurrency 16"),
    ]


def _rate(address: Address, sent: Sequence[bytes]) -> float:
    return load.drive(address, cycle(sent), connections=CONNECTIONS, seconds=RATE_SECONDS).per_second


def _warm(address: Address, sent: Sequence[bytes]) -> None:
    """Send everything to both workers, so that their caches are warm."""
    load.drive(address, chain.from_iterable([sent] * 8), connections=CONNECTIONS)
    load.drive(address, cycle(sent), connections=CONNECTIONS, seconds=1)


def _p50(address: Address, sent: Sequence[bytes], seconds: float) -> float:
    return middle(load.drive(address, cycle(sent), seconds=seconds).latencies)


def _overhead(address: Address, sent: Sequence[bytes]) -> float:
    found = load.drive(address, cycle(sent), seconds=0.5, with_heads=True)
    timings = [match.groups() for head in found.heads if (match := _TIMING.search(head))]
    return middle(float(total) - float(handler) for total, handler in timings)


def _of_size(lab: Lab, prepared: Prepared, number: int) -> Iterator[Figure]:
    name, told = NAMES[number], f"{number:,} ops, SQLite"
    yield Figure(f"publish.{name}.s", round(prepared.publish_s, 2), "s", f"checks and token counts, one run; {told}")
    yield Figure(f"load.{name}.s", round(prepared.load_s, 2), "s", f"hash, catalog and search index, one run; {told}")
    with lab.gateway(prepared) as gateway:
        for call, asked in (("help", _helps), ("exec", _execs)):
            sent = asked(prepared, number)
            _warm(gateway.address, sent)
            rounds = [_p50(gateway.address, sent, 0.3) for _ in range(3)]
            yield figures.median(f"{call}.{name}.p50_ms", rounds, "ms", f"over HTTP, concurrency 1; {told}")
        sent = [
            prepared.help(query=f"{op['action']} {op['entity'].replace('_', ' ')}") for op in _spread(number, SAMPLE)
        ]
        load.drive(gateway.address, sent, connections=CONNECTIONS)
        found = load.drive(gateway.address, chain.from_iterable([sent] * 5))
        against = f"{5 * SAMPLE} searches of three words over HTTP, concurrency 1; {told}"
        yield Figure(f"search.{name}.p95_ms", round(percentile(found.latencies, 95), 2), "ms", against)
        if memory.is_told():
            value = round(memory.largest_child_mb(gateway.pid), 1)
            yield Figure(f"memory.{name}.mb", value, "MB", f"RSS of the largest of 2 workers after these calls; {told}")


def _parallel(name: str, address: Address, prepared: Prepared, told: str) -> Figure:
    sent = prepared.batch(str(synthetic.WAIT["op"]), {}, READS_THAT_WAIT, mode="parallel")
    until = time.monotonic() + servers.START_SECONDS
    while time.monotonic() < until and b"degraded" in once(address, sent):
        pass  # the worker is still starting
    ideal = math.ceil(READS_THAT_WAIT / BATCH_THREADS) * upstream.SECONDS * 1000
    rounds = [load.drive(address, [sent]).latencies[0] / ideal for _ in range(ROUNDS)]
    against = (
        f"{READS_THAT_WAIT} reads of {upstream.SECONDS * 1000:.0f} ms over {ideal:.0f} ms, {BATCH_THREADS} at once"
    )
    return figures.median(name, rounds, "ratio", f"{against}; {told}")


def _key_cost(address: Address, prepared: Prepared, name: str) -> float:
    found = load.drive(address, chain.from_iterable(_pairs(prepared, name))).latencies
    return middle(found[0::2]) - middle(found[1::2])


def _pairs(prepared: Prepared, name: str) -> Iterator[tuple[bytes, bytes]]:
    for number, task in enumerate(islice(cycle(prepared.tasks), PAIRS)):
        args = {"task_id": task, "priority": number % 5 + 1}
        keyed = prepared.exec(synthetic.WRITE["op"], args, idempotency_key=f"{name}-{number}")
        yield keyed, prepared.exec(synthetic.WRITE["op"], args)


def _reads(prepared: Prepared, op: str = synthetic.READ["op"]) -> list[bytes]:
    return [prepared.exec(op, {"task_id": task}) for task in prepared.tasks]


def _helps(prepared: Prepared, number: int) -> list[bytes]:
    return [prepared.help(path=op["op"]) for op in _spread(number, SAMPLE)]


def _execs(prepared: Prepared, number: int, sample: int = SAMPLE) -> list[bytes]:
    read = [op for op in _spread(number, sample) if op["kind"] == "read"]
    return [prepared.exec(op["op"], op["examples"][0]["args"]) for op in read]


def _spread(number: int, sample: int) -> list[dict[str, Any]]:
    """Return `sample` ops, evenly spread over a catalog of `number` ops."""
    return synthetic.ops(number)[:: number // sample]
