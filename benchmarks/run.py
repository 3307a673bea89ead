"""Measures, prints a table and writes var/bench.json: python -m benchmarks.run [beginnings of names of figures]."""

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
    """Measure what is wanted, all without arguments, and return the exit code: a missed goal is told, no failure."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # unwinds: servers are stopped
    Env.read_env(ROOT / ".env")  # as settings do: DATABASE_URL may stand there
    chosen = [measure for measure in MEASURES if any(is_wanted(name, wanted) for name in measure.names)]
    if not chosen:
        names = ", ".join(name for measure in MEASURES for name in measure.names)
        print(f"No figure begins with {' or '.join(wanted)}. There are {names}.", file=sys.stderr)
        return 2
    started = time.monotonic()
    with _alone(), lab.opened() as opened:
        found = [figure for measure in chosen for figure in _measured(measure, opened, wanted)]
    figures.write(found, RESULT)
    print(f"\n{figures.table(found)}\n\n{len(found)} figures in {time.monotonic() - started:.0f} s, in var/bench.json")
    return 0


def is_wanted(name: str, wanted: Sequence[str]) -> bool:
    """Whether a figure was asked for: by the beginning of its name, or with all others."""
    return not wanted or name.startswith(tuple(wanted))


def _measured(measure: Measure, opened: lab.Lab, wanted: Sequence[str]) -> list[Figure]:
    print(f"Measuring {', '.join(measure.names)}", file=sys.stderr, flush=True)
    return [figure for figure in measure.run(opened) if is_wanted(figure.name, wanted)]


@contextmanager
def _alone() -> Iterator[None]:
    """Wait until no other benchmark is under way in this checkout: it would measure us, and take our database."""
    VAR.mkdir(mode=0o700, exist_ok=True)
    with (VAR / "bench.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
