"""The benchmarks. Ratios compare interleaved rounds (A B A B …) within one run, so that other load on the machine
affects both sides equally. Each figure is the median of its rounds.

Every server runs as in `make run`: Granian, WSGI, 2 workers with 4 blocking threads each, on loopback.
"""

import math
import os
import sys
import time
from collections.abc import Iterator
from itertools import chain
from statistics import median as middle

from benchmarks import figures, load, memory, servers, synthetic, timing, upstream, usage
from benchmarks.figures import GOALS, BenchmarkFigure, compute_percentile
from benchmarks.lab import Lab, PreparedDatabase
from benchmarks.load import Address, send_once
from benchmarks.run_size import shorten, shrink

ROUNDS = 9
RATE_ROUNDS = 21
SHORT_ROUNDS = 3
FIRST_PAGE_SECONDS = 300.0
OVERHEAD_SECONDS = 0.5
SMALL, MEDIUM, LARGE = 100, 1_000, 10_000  # ops in a catalog
SIZE_NAMES = {SMALL: "100", MEDIUM: "1k", LARGE: "10k"}  # names of the sizes in figure names
ADMIN_OPS, EDITED_OPS = 6_000, 50  # ops in the catalog for the console pages, and how many have unpublished edits
SLOW_READS = 32  # slow reads in a parallel batch
BATCH_THREADS = 8  # per worker; the default of GATEWAY_BATCH_THREADS
IDLE_WARM_UP_SECONDS, IDLE_SECONDS = 5, 30
KEYS = 10_000  # in the memory of a process

BARE_GET = "bare DRF GET of the same bytes, only CommonMiddleware, concurrency 16"
BARE_POST = "bare DRF POST, only CommonMiddleware, concurrency 16"


def measure_cached_help(lab: Lab) -> list[BenchmarkFigure]:
    """Measure cached help of one op, with API key, all middleware and call event, against a bare DRF GET."""
    prepared = lab.get_sqlite(MEDIUM)
    help_request = prepared.build_help_request(path=synthetic.build_ops(4)[3]["op"])
    with lab.serve_gateway(prepared) as gateway:
        answer = send_once(gateway.address, help_request)
        with lab.serve_bare(answer) as bare:
            if send_once(bare.address, help_request) != answer:
                raise load.UnexpectedResponse("The bare server and the gateway return different bytes.")
            rates = timing.measure_rates(gateway.address, bare.address, [help_request], RATE_ROUNDS)
    return timing.build_rate_figures("help.cached.ratio", "help.requests_per_s", rates, BARE_GET)


def measure_exec_read(lab: Lab) -> list[BenchmarkFigure]:
    """Measure a read of one row on SQLite, with API key, validation and call event, against a bare DRF POST."""
    prepared = lab.get_sqlite(MEDIUM)
    return _compare_exec_read(lab, prepared, timing.build_reads(prepared), "exec.read.ratio", "exec.requests_per_s", "")


def measure_exec_read_by_orm(lab: Lab) -> list[BenchmarkFigure]:
    """Measure the same read through the ORM, as in most handlers."""
    prepared = lab.get_sqlite(MEDIUM)
    requests = timing.build_reads(prepared, synthetic.READ_BY_ORM["op"])
    return _compare_exec_read(
        lab, prepared, requests, "exec.orm.ratio", "exec.orm.requests_per_s", " (handler uses the ORM)"
    )


def measure_exec_read_on_postgres(lab: Lab) -> list[BenchmarkFigure]:
    """Measure the same read on PostgreSQL."""
    prepared = lab.get_postgres(MEDIUM)
    names = ("exec.postgres.ratio", "exec.postgres.requests_per_s")
    return _compare_exec_read(lab, prepared, timing.build_reads(prepared), *names, " (gateway on PostgreSQL)")


def measure_overhead(lab: Lab) -> list[BenchmarkFigure]:
    """Measure what the gateway adds to a handler's time, from the Server-Timing header, also against a bare POST."""
    prepared = lab.get_sqlite(MEDIUM)
    requests = timing.build_reads(prepared)
    with lab.serve_gateway(prepared) as gateway, lab.serve_bare(b"{}") as bare:
        for address in (gateway.address, bare.address):
            timing.warm_up(address, requests)
        pairs = [
            (
                timing.measure_overhead_round(gateway.address, requests),
                timing.measure_p50(bare.address, requests, OVERHEAD_SECONDS),
            )
            for _ in range(shrink(ROUNDS))
        ]
    setup = "Server-Timing total minus handler, p50, concurrency 1"
    over_bare = f"{setup}, over the p50 of a bare DRF POST"
    return [
        figures.build_median_figure("exec.overhead.ms", [ours for ours, _ in pairs], "ms", setup),
        figures.build_median_figure("exec.overhead.ratio", [ours / bare for ours, bare in pairs], "ratio", over_bare),
    ]


def measure_scale(lab: Lab) -> Iterator[BenchmarkFigure]:
    """Compare p50 with 10,000 ops and with 100 ops: HTTP, concurrency 1, ops spread over the whole catalog."""
    large, small = lab.get_sqlite(LARGE), lab.get_sqlite(SMALL)
    with lab.serve_gateway(large) as many, lab.serve_gateway(small) as few:
        for name, build_requests in (
            ("scale.help.ratio", timing.build_help_requests),
            ("scale.exec.ratio", timing.build_exec_requests),
        ):
            sides = [(many.address, build_requests(large)), (few.address, build_requests(small))]
            for address, sent in sides:
                timing.warm_up(address, sent)
            pairs = [[timing.measure_p50(address, sent, 0.5) for address, sent in sides] for _ in range(shrink(ROUNDS))]
            against = f"p50 over HTTP with {large.ops:,} ops divided by p50 with {small.ops}, concurrency 1"
            yield figures.build_median_figure(name, [much / little for much, little in pairs], "ratio", against)


def measure_repairs(lab: Lab) -> list[BenchmarkFigure]:
    """Measure how many malformed calls succeed by what their errors say, and what an error costs."""
    return [BenchmarkFigure(**figure) for figure in lab.run_on_shop("bench_repair")]


def measure_selection(lab: Lab) -> list[BenchmarkFigure]:
    """Measure how well dynamic selection chooses the tools of labelled turns."""
    return [BenchmarkFigure(**figure) for figure in lab.run_on_demo("bench_selection")]


def measure_answers(lab: Lab) -> list[BenchmarkFigure]:
    """Measure how many tokens answers cost."""
    return [BenchmarkFigure(**figure) for figure in lab.run_on_demo("bench_answers")]


def measure_spans(lab: Lab) -> list[BenchmarkFigure]:
    """Measure what tracing costs."""
    return [BenchmarkFigure(**figure) for figure in lab.run_on_demo("bench_spans")]


def measure_data_flow(lab: Lab) -> list[BenchmarkFigure]:
    """Measure what the rules of data flow cost."""
    return [BenchmarkFigure(**figure) for figure in lab.run_on_demo("bench_data_flow")]


def measure_discovery(lab: Lab) -> list[BenchmarkFigure]:
    """Measure the way from a request to the right call: calls, tokens, and search."""
    return [BenchmarkFigure(**figure) for figure in lab.run_on_demo("bench_discovery")]


def measure_idle_cpu(lab: Lab) -> list[BenchmarkFigure]:
    """Measure the CPU time of the busiest worker while nobody calls, in % of a core."""
    usage.require_proc()
    prepared = lab.get_postgres(MEDIUM) if lab.postgres_url else lab.get_sqlite(MEDIUM)
    seconds = shorten(IDLE_SECONDS, least=1)
    with lab.serve_gateway(prepared) as gateway:
        load.run_load(
            gateway.address, [prepared.build_help_request()] * timing.CONNECTIONS, connections=timing.CONNECTIONS
        )
        time.sleep(shorten(IDLE_WARM_UP_SECONDS, least=1))
        before = usage.get_cpu_seconds_by_child(gateway.pid)
        time.sleep(seconds)
        after = usage.get_cpu_seconds_by_child(gateway.pid)
    busiest = max(spent - before.get(child, 0.0) for child, spent in after.items())
    database = prepared.url.partition(":")[0]
    against = f"of a core, the busier of 2 workers over {seconds:g} s without a call, {database}"
    return [BenchmarkFigure("idle.worker.cpu", round(busiest / seconds * 100, 2), "%", against)]


def measure_polls(lab: Lab) -> list[BenchmarkFigure]:
    """Measure a poll of a process with many keys in memory. Nearly all polls find that nothing has changed."""
    prepared = lab.get_postgres(MEDIUM) if lab.postgres_url else lab.get_sqlite(MEDIUM)
    result = lab.measure_polls(prepared, shrink(KEYS))
    database = prepared.url.partition(":")[0]
    against = (
        f"while nothing changes, {result['keys']:,} keys in memory; {result['after_change_ms']:.3g} after a change"
    )
    return [figures.build_median_figure("poll.keys.ms", result["unchanged_ms"], "ms", f"{against}; {database}")]


def measure_idempotency(lab: Lab) -> list[BenchmarkFigure]:
    """Measure what an idempotency key adds to a small write on PostgreSQL, alternating with and without."""
    prepared = lab.get_postgres(MEDIUM)
    with lab.serve_gateway(prepared) as gateway:
        load.run_load(
            gateway.address,
            chain.from_iterable(timing.build_write_pairs(prepared, "warm")),
            connections=timing.CONNECTIONS,
        )
        rounds = [_measure_key_cost(gateway.address, prepared, str(number)) for number in range(shrink(ROUNDS))]
    against = f"p50 with a key minus p50 without, PostgreSQL, concurrency 1, {timing.WRITE_PAIRS} pairs per round"
    return [figures.build_median_figure("idempotency.ms", rounds, "ms", against)]


def measure_parallel_batch(lab: Lab) -> list[BenchmarkFigure]:
    """Measure a parallel batch of slow reads in a web process, relative to the ideal time."""
    prepared = lab.get_sqlite(SMALL)
    with upstream.run_upstream() as port, lab.serve_gateway(prepared, **{upstream.PORT_VARIABLE: str(port)}) as gateway:
        return [
            _measure_parallel_batch("batch.parallel.ratio", gateway.address, prepared, "SQLite, in the web process")
        ]


def measure_parallel_batch_over_redis(lab: Lab) -> list[BenchmarkFigure]:
    """Measure the same batch in a Celery worker over Redis, on PostgreSQL."""
    prepared = lab.get_postgres(MEDIUM)
    with servers.run_redis() as url, upstream.run_upstream() as port:
        variables = {upstream.PORT_VARIABLE: str(port), "CELERY_BROKER_URL": url}
        with lab.serve_gateway(prepared, **variables) as gateway, lab.run_worker(prepared, **variables):
            setup = "PostgreSQL, one worker process over Redis"
            return [_measure_parallel_batch("batch.parallel.redis.ratio", gateway.address, prepared, setup)]


def measure_batch_of_one(lab: Lab) -> list[BenchmarkFigure]:
    """Measure what a batch of one adds to a plain exec call."""
    prepared = lab.get_sqlite(MEDIUM)
    op, args = str(synthetic.READ["op"]), {"task_id": prepared.tasks[0]}
    alone, batched = prepared.build_exec_request(op, args), prepared.build_batch_request(op, args, 1, mode="sequential")
    with lab.serve_gateway(prepared) as gateway:
        load.run_load(gateway.address, [batched, alone] * 20, connections=timing.CONNECTIONS)
        rounds = []
        for _ in range(shrink(ROUNDS)):
            latencies = load.run_load(gateway.address, [batched, alone] * 30).latencies
            rounds.append(middle(latencies[0::2]) - middle(latencies[1::2]))
    return [
        figures.build_median_figure(
            "batch.one.ms", rounds, "ms", "p50 of a batch of one minus p50 of exec, SQLite, concurrency 1"
        )
    ]


def measure_changing_releases(lab: Lab) -> list[BenchmarkFigure]:
    """Check help and search responses while, each second, one release is published and one rolled back."""
    seconds = shorten(float(os.environ.get("BENCH_RELEASES_SECONDS", "60")), least=2)
    prepared = lab.get_spare_sqlite(SMALL)
    with lab.serve_gateway(prepared) as gateway:
        result = lab.change_releases(prepared, gateway, seconds)
    for wrong in (*result["mixed"], *result["failed"]):
        print(wrong, file=sys.stderr)
    against = f"of {result['answers']:,} answers in {seconds:.0f} s with {result['changes']} release changes"
    return [BenchmarkFigure(f"releases.{name}", len(result[name]), "answers", against) for name in ("mixed", "failed")]


def measure_reports(lab: Lab) -> list[BenchmarkFigure]:
    """Measure the slowest report over a million events in 28 days, and an experiment with 100,000 users."""
    prepared = lab.get_postgres(MEDIUM)
    result = lab.measure_reports(prepared, shrink(1_000_000))
    seconds = f"written in {result['filled_s']:.0f} s, counted in {result['counted_s']:.0f} s"
    print(f"Reports, p95 in ms: {result['pages']}; {seconds}", file=sys.stderr)
    slowest = max(result["pages"], key=result["pages"].get)
    against = f"{slowest}, the slowest of {len(result['pages'])}; {result['events']:,} events of 28 days, PostgreSQL"
    experiment = result["experiment"]
    of = f"{experiment['calls']:,} calls, PostgreSQL"
    return [
        BenchmarkFigure("reports.1m.p95_ms", round(result["pages"][slowest], 1), "ms", against),
        BenchmarkFigure("experiments.page.p95_ms", round(experiment["page_ms"], 1), "ms", f"its stored figures; {of}"),
        BenchmarkFigure("experiments.guardrails.s", round(experiment["guardrails_s"], 2), "s", f"each minute; {of}"),
        BenchmarkFigure("experiments.figures.s", round(experiment["figures_s"], 1), "s", f"5% of the time; {of}"),
    ]


def measure_admin_pages(lab: Lab) -> Iterator[BenchmarkFigure]:
    """Measure the largest admin pages, the op list and the review, with thousands of ops, some of them edited."""
    prepared = lab.get_sqlite(ADMIN_OPS)
    edited = shrink(EDITED_OPS, least=5)
    headers = lab.edit_draft(prepared, edited)
    against = f"over HTTP, concurrency 1; {prepared.ops:,} ops, {edited} of them edited, SQLite"
    with lab.serve_gateway(prepared) as gateway:
        for name, path in (("ops", "op"), ("review", "release/review")):
            page_request = load.build_request("GET", f"/admin/registry/{path}/", headers)
            # The first request of each process compares the whole draft, which takes long on a busy machine.
            load.run_load(gateway.address, [page_request] * 8, connections=8, timeout=FIRST_PAGE_SECONDS)
            rounds = [
                load.run_load(gateway.address, [page_request]).latencies[0] / 1_000 for _ in range(shrink(ROUNDS))
            ]
            yield figures.build_median_figure(f"console.{name}.s", rounds, "s", against)


def _compare_exec_read(
    lab: Lab, prepared: PreparedDatabase, requests: list[bytes], ratio: str, rate: str, suffix: str
) -> list[BenchmarkFigure]:
    with lab.serve_gateway(prepared) as gateway, lab.serve_bare(b"{}") as bare:
        rates = timing.measure_rates(gateway.address, bare.address, requests, RATE_ROUNDS if ratio in GOALS else ROUNDS)
    return timing.build_rate_figures(ratio, rate, rates, BARE_POST + suffix)


def measure_size(lab: Lab, number: int) -> Iterator[BenchmarkFigure]:
    """Measure a catalog of a size: publishing, loading, calls, searches and the memory of a worker."""
    prepared = lab.get_sqlite(number)
    name, setup = SIZE_NAMES[number], f"{prepared.ops:,} ops, SQLite"
    yield BenchmarkFigure(
        f"publish.{name}.s", round(prepared.publish_s, 2), "s", f"checks and token counts, one run; {setup}"
    )
    yield figures.build_median_figure(
        f"load.{name}.s", prepared.load_s, "s", f"hash, catalog and search index; {setup}"
    )
    with lab.serve_gateway(prepared) as gateway:
        for call, build_requests in (("help", timing.build_help_requests), ("exec", timing.build_exec_requests)):
            requests = build_requests(prepared)
            timing.warm_up(gateway.address, requests)
            rounds = [timing.measure_p50(gateway.address, requests, 0.3) for _ in range(SHORT_ROUNDS)]
            yield figures.build_median_figure(
                f"{call}.{name}.p50_ms", rounds, "ms", f"over HTTP, concurrency 1; {setup}"
            )
        requests = timing.build_searches(prepared)
        load.run_load(gateway.address, requests, connections=timing.CONNECTIONS)
        rounds = [
            compute_percentile(load.run_load(gateway.address, requests * 2).latencies, 95) for _ in range(SHORT_ROUNDS)
        ]
        against = f"{2 * len(requests)} searches of three words over HTTP, concurrency 1; {setup}"
        yield figures.build_median_figure(f"search.{name}.p95_ms", rounds, "ms", against)
        yield memory.build_size_figure(f"memory.{name}.mb", gateway.pid, prepared)


def _measure_parallel_batch(name: str, address: Address, prepared: PreparedDatabase, setup: str) -> BenchmarkFigure:
    batch_request = prepared.build_batch_request(str(synthetic.WAIT["op"]), {}, SLOW_READS, mode="parallel")
    deadline = time.monotonic() + servers.START_SECONDS
    while time.monotonic() < deadline and b"degraded" in send_once(address, batch_request):
        pass  # the worker is still starting
    ideal = math.ceil(SLOW_READS / BATCH_THREADS) * upstream.DELAY_SECONDS * 1000
    rounds = [load.run_load(address, [batch_request]).latencies[0] / ideal for _ in range(shrink(ROUNDS))]
    against = (
        f"{SLOW_READS} reads of {upstream.DELAY_SECONDS * 1000:.0f} ms over {ideal:.0f} ms, {BATCH_THREADS} at once"
    )
    return figures.build_median_figure(name, rounds, "ratio", f"{against}; {setup}")


def _measure_key_cost(address: Address, prepared: PreparedDatabase, name: str) -> float:
    latencies = load.run_load(address, chain.from_iterable(timing.build_write_pairs(prepared, name))).latencies
    return middle(latencies[0::2]) - middle(latencies[1::2])
