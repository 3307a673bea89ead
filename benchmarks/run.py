"""Run benchmarks, print a table and write var/bench.json: python -m benchmarks.run [figure name prefix ...]."""

import signal
import sys
import time
from collections.abc import Sequence

from benchmarks import figures, lab
from benchmarks.benchmark_list import BENCHMARKS, Benchmark
from benchmarks.figures import BenchmarkFigure
from tools.databases import VAR

RESULT = VAR / "bench.json"


def main(prefixes: Sequence[str]) -> int:
    """Run the benchmarks whose figures match the prefixes (all if none) and return the exit code.

    A missed goal is reported in the table, but is not a failure.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that the servers are stopped
    selected = [measure for measure in BENCHMARKS if any(is_wanted(name, prefixes) for name in measure.names)]
    if not selected:
        names = ", ".join(name for measure in BENCHMARKS for name in measure.names)
        print(f"No figure starts with {' or '.join(prefixes)}. Available: {names}.", file=sys.stderr)
        return 2
    started = time.monotonic()
    with lab.open_lab() as benchmark_lab:
        results = [figure for measure in selected for figure in _run_benchmark(measure, benchmark_lab, prefixes)]
    figures.write_json(results, RESULT)
    print(
        f"\n{figures.format_table(results)}\n\n"
        f"{len(results)} figures in {time.monotonic() - started:.0f} s; see var/bench.json"
    )
    return 0


def is_wanted(name: str, prefixes: Sequence[str]) -> bool:
    """Whether the name starts with one of the prefixes, or there are none."""
    return not prefixes or name.startswith(tuple(prefixes))


def _run_benchmark(measure: Benchmark, benchmark_lab: lab.Lab, prefixes: Sequence[str]) -> list[BenchmarkFigure]:
    print(f"Measuring {', '.join(measure.names)}", file=sys.stderr, flush=True)
    return [figure for figure in measure.run(benchmark_lab) if is_wanted(figure.name, prefixes)]


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
