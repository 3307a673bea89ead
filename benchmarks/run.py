"""Run benchmarks: python -m benchmarks.run [--smoke] [--docs] [figure name prefix ...].

Each figure is printed and written to var/bench.json when it comes. A benchmark that fails, or takes too long, is a row
that says why, and the run goes on. Exit codes: 0 all goals were met, 1 a goal was missed, 2 wrong arguments, 3 a
benchmark failed, 4 a time or a rate missed its goal, but other programs used the machine.

--smoke runs everything at about a hundredth of its size, to show that each benchmark gives its figures. Their values
say nothing and are not judged. --docs writes the figures of a whole run into docs/performance.md.
"""

import os
import signal
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks import docs_tables, lab, run_size, usage
from benchmarks.benchmark_list import BENCHMARKS, Benchmark
from benchmarks.figures import NotMeasured
from benchmarks.run_record import FigureGap, GapKind, RunRecord
from tools.databases import VAR

WRONG_ARGUMENTS = 2
SMOKE_OPTION, DOCS_OPTION = "--smoke", "--docs"
LONGEST_SECONDS = 900  # of a benchmark; the slowest takes 260 on two cores
BUSY_SECONDS = 0.5  # how long the machine is watched before and after each benchmark
RESULT, SMOKE_RESULT = VAR / "bench.json", VAR / "bench-smoke.json"  # a smoke run keeps the figures of a whole one


def main(arguments: Sequence[str], benchmarks: Sequence[Benchmark] = BENCHMARKS) -> int:
    """Run the benchmarks whose figures match the prefixes (all if none) and return the exit code."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that the servers are stopped
    prefixes = [argument for argument in arguments if argument not in (SMOKE_OPTION, DOCS_OPTION)]
    if SMOKE_OPTION in arguments:
        os.environ[run_size.SMOKE] = "yes"
    names = [name for benchmark in benchmarks for name in benchmark.names]
    wanted = [name for name in names if is_wanted(name, prefixes)]
    if not wanted:
        print(f"No figure starts with {' or '.join(prefixes)}. Available: {', '.join(names)}.", file=sys.stderr)
        return WRONG_ARGUMENTS
    with lab.open_lab() as benchmark_lab:
        record = run_benchmarks(benchmarks, wanted, benchmark_lab, SMOKE_RESULT if run_size.is_smoke() else RESULT)
    print(f"\n{record.build_summary()}")
    if DOCS_OPTION in arguments:
        docs_tables.write_docs_table("performance.md", "figures", *record.build_docs_table())
    return record.compute_exit_code()


def is_wanted(name: str, prefixes: Sequence[str]) -> bool:
    """Whether the name starts with one of the prefixes, or there are none."""
    return not prefixes or name.startswith(tuple(prefixes))


def run_benchmarks(
    benchmarks: Sequence[Benchmark], wanted: Sequence[str], benchmark_lab: lab.Lab, path: Path
) -> RunRecord:
    """Run the benchmarks that measure wanted figures, and record each figure, or why it has no value."""
    record = RunRecord(path, wanted)
    for benchmark in benchmarks:
        if missing := [name for name in benchmark.names if name in wanted]:
            print(f"Measuring {', '.join(missing)}", file=sys.stderr, flush=True)
            record.add_busy_share(usage.measure_busy_share(run_size.shorten(BUSY_SECONDS, least=0.05)))
            _run_benchmark(benchmark, benchmark_lab, missing, record)
    record.add_busy_share(usage.measure_busy_share(run_size.shorten(BUSY_SECONDS, least=0.05)))
    record.write()
    return record


def _run_benchmark(benchmark: Benchmark, benchmark_lab: lab.Lab, missing: list[str], record: RunRecord) -> None:
    """Run a benchmark. Each of the missing figures gets a row, whatever happens."""
    kind, reason = GapKind.FAILED, "The benchmark ended without this figure."
    try:
        with _limit_seconds(LONGEST_SECONDS):
            for figure in benchmark.run(benchmark_lab):
                if figure.name in missing:
                    missing.remove(figure.name)
                    record.add_figure(figure)
    except NotMeasured as error:
        kind, reason = GapKind.NOT_RUN, get_first_line(error)
    except Exception as error:  # whatever a benchmark raises, the others can still be measured
        traceback.print_exc()
        reason = get_first_line(error)
    for name in missing:
        record.add_gap(FigureGap(name, kind, reason))


class BenchmarkTooSlow(Exception):
    """A benchmark took longer than it may. Perhaps one of its servers hangs."""


@contextmanager
def _limit_seconds(seconds: float) -> Iterator[None]:
    """Raise BenchmarkTooSlow in this thread if the block takes longer."""

    def stop(*_: object) -> None:
        raise BenchmarkTooSlow(f"It took longer than {seconds:g} s.")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def get_first_line(error: Exception) -> str:
    """Return the first line of an error's message, with its class unless it is ours to read."""
    lines = str(error).strip().splitlines() or [""]
    return lines[0] if isinstance(error, NotMeasured) else f"{type(error).__name__}: {lines[0]}".removesuffix(": ")


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
