"""All benchmarks, in the order in which they run."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from benchmarks import chat, connect, loaded_search, mcp, measures, memory, rollup_cpu
from benchmarks.experiments import chance, harm
from benchmarks.figures import BenchmarkFigure
from benchmarks.lab import Lab

SELECTION_FIGURES = "complete elliptic reads_without_writes failed fewer_tools tokens p95".split()
SIZE_FIGURES = tuple("publish.{}.s load.{}.s help.{}.p50_ms exec.{}.p50_ms search.{}.p95_ms memory.{}.mb".split())


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One benchmark and the names of its figures, which it gives one by one, as soon as it has them."""

    names: tuple[str, ...]
    run: Callable[[Lab], Iterable[BenchmarkFigure]]


BENCHMARKS = (
    Benchmark(("help.cached.ratio", "help.requests_per_s"), measures.measure_cached_help),
    Benchmark(("exec.read.ratio", "exec.requests_per_s"), measures.measure_exec_read),
    Benchmark(("exec.orm.ratio", "exec.orm.requests_per_s"), measures.measure_exec_read_by_orm),
    Benchmark(("exec.postgres.ratio", "exec.postgres.requests_per_s"), measures.measure_exec_read_on_postgres),
    Benchmark(("exec.overhead.ms", "exec.overhead.ratio"), measures.measure_overhead),
    Benchmark(("scale.help.ratio", "scale.exec.ratio"), measures.measure_scale),
    Benchmark(("memory.worker.mb",), memory.measure_worker),
    Benchmark(("memory.mixed.mb",), memory.measure_mixed_load),
    Benchmark(("idle.worker.cpu",), measures.measure_idle_cpu),
    Benchmark(("poll.keys.ms",), measures.measure_polls),
    Benchmark(("idempotency.ms",), measures.measure_idempotency),
    Benchmark(("data_flow.call.ms",), measures.measure_data_flow),
    Benchmark(("spans.recorded.us", "spans.sampled.cpu"), measures.measure_spans),
    Benchmark(("batch.parallel.ratio",), measures.measure_parallel_batch),
    Benchmark(("batch.parallel.redis.ratio",), measures.measure_parallel_batch_over_redis),
    Benchmark(("batch.one.ms",), measures.measure_batch_of_one),
    Benchmark(("releases.mixed", "releases.failed"), measures.measure_changing_releases),
    Benchmark(
        tuple(
            "reports.1m.p95_ms experiments.page.p95_ms experiments.guardrails.s experiments.figures.s".split(),
        ),
        measures.measure_reports,
    ),
    Benchmark(("rollups.ops.cpu_s", "rollups.ops.ratio", "rollups.cpu_s"), rollup_cpu.measure_rollups),
    Benchmark(("rollups.sqlite.cpu_s",), rollup_cpu.measure_rollups_on_sqlite),
    Benchmark(
        (
            "discovery.calls",
            "discovery.tokens",
            "discovery.4k.calls",
            "discovery.4k.tokens",
            "search.plain.top3",
            "evals.1k.s",
            *(f"evals.{name}.top{rank}" for name in ("tuned", "held_back") for rank in (1, 3, 5)),
        ),
        measures.measure_discovery,
    ),
    Benchmark(
        tuple(
            """
    answers.examples.tokens answers.examples.tokens_p90 answers.tasks.tokens answers.events.tokens
    answers.updates.tokens batch.loop.tokens.ratio
""".split()
        ),
        measures.measure_answers,
    ),
    Benchmark(
        ("repair.rate", "repair.held_out.rate", "repair.tokens_p90", "repair.tool_names.rate"), measures.measure_repairs
    ),
    Benchmark(
        tuple(f"selection{split}.{name}" for split in ("", ".held_out") for name in SELECTION_FIGURES),
        measures.measure_selection,
    ),
    Benchmark(("chat.first_token.p95_ms",), chat.measure_first_token),
    Benchmark(
        tuple(
            """
    chat.first_event.p50_ms chat.first_event.p95_ms chat.streams.cores chat.streams.mb chat.exec.p95_ms
""".split()
        ),
        chat.measure_streams,
    ),
    Benchmark(("chat.context.tokens", "chat.context.saved"), chat.measure_context),
    Benchmark(("chat.rows.kept",), chat.measure_rows_kept),
    Benchmark(
        tuple(f"chat.turn.{surface}.tokens" for surface in chat.TURN_SURFACES),
        chat.measure_turn_tokens,
    ),
    Benchmark(("connect.overhead.ms",), connect.measure_overhead),
    Benchmark(("connect.vs_fastmcp_proxy",), connect.measure_fastmcp),
    Benchmark(("connect.vs_contextforge",), connect.measure_contextforge),
    Benchmark(("connect.vs_litellm",), connect.measure_litellm),
    Benchmark(("mcp.vs_fastmcp",), mcp.measure_same_tools),
    Benchmark(("mcp.vs_fastmcp_proxy",), mcp.measure_proxy),
    Benchmark(("mcp.vs_litellm",), mcp.measure_litellm),
    Benchmark(("connect.map.seconds", "connect.import.seconds"), connect.measure_import),
    Benchmark(("experiments.verdicts.runs", "experiments.guardrail.runs"), chance.measure_chance),
    Benchmark(("experiments.past.runs", "experiments.past.width"), chance.measure_chance_with_past),
    Benchmark(tuple(f"experiments.doubling.{rate}" for rate in ("20", "10", "5")), harm.measure_doubling),
    Benchmark(("experiments.split.found", "experiments.split.blamed"), harm.measure_split),
    Benchmark(("experiments.judge.s",), harm.measure_judge_arms),
    Benchmark(("search.loaded.p95_ms",), loaded_search.measure_loaded_search),
    Benchmark(("console.ops.s", "console.review.s"), measures.measure_admin_pages),
    *(
        Benchmark(tuple(figure.format(name) for figure in SIZE_FIGURES), partial(measures.measure_size, number=number))
        for number, name in measures.SIZE_NAMES.items()
    ),
)
