"""Run benchmarks, print a table and write var/bench.json: python -m benchmarks.run [figure name prefix ...]."""

import fcntl
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from environ import Env

from benchmarks import figures, lab
from benchmarks.figures import Figure
from benchmarks.measures import MEASURES, Measure
from tests.databases import ROOT, VAR

RESULT = VAR / "bench.json"


def main(wanted: Sequence[str]) -> int:
    """Run the benchmarks whose figures match the prefixes (all if none) and return the exit code.

    A missed goal is reported in the table, but is not a failure.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that the servers are stopped
    Env.read_env(ROOT / ".env")  # as settings do: it may contain DATABASE_URL
    chosen = [measure for measure in MEASURES if any(is_wanted(name, wanted) for name in measure.names)]
    if not chosen:
        names = ", ".join(name for measure in MEASURES for name in measure.names)
        print(f"No figure starts with {' or '.join(wanted)}. Available: {names}.", file=sys.stderr)
        return 2
    started = time.monotonic()
    with _alone(), lab.opened() as opened:
        found = [figure for measure in chosen for figure in _measured(measure, opened, wanted)]
    figures.write(found, RESULT)
    print(f"\n{figures.table(found)}\n\n{len(found)} figures in {time.monotonic() - started:.0f} s; see var/bench.json")
    return 0


def is_wanted(name: str, wanted: Sequence[str]) -> bool:
    """Whether the name starts with one of the prefixes, or there are none."""
    return not wanted or name.startswith(tuple(wanted))


def _measured(measure: Measure, opened: lab.Lab, wanted: Sequence[str]) -> list[Figure]:
    print(f"Measuring {', '.join(measure.names)}", file=sys.stderr, flush=True)
    return [figure for figure in measure.run(opened) if is_wanted(figure.name, wanted)]


@contextmanager
def _alone() -> Iterator[None]:
    """Wait until no other benchmark runs in this checkout: it would disturb the timings and drop our database."""
    VAR.mkdir(mode=0o700, exist_ok=True)
    with (VAR / "bench.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
