"""Run the suite: python -m tools.run_tests [arguments for pytest].

With --all, it runs everything, as before a release: see `_run_all`.
"""

import ast
import fcntl
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO
from xml.etree import ElementTree

from environ import Env

from tools import databases
from tools.databases import ROOT, VAR, Database, NoPostgres

CI = bool(os.environ.get("CI"))
BY_DESIGN = "by design:"  # begins the reason of a skip that no machine could avoid
ALL = "--all"
NOTHING_RAN = 5  # pytest's exit code
SLOWEST = 10  # tests and modules that are listed at the end
OTHER_PORTS = 8  # shares of test ports (tests/support/servers/processes.py) that the second run begins after

# What pytest's exit codes mean where the counts do not show it.
CODES = {2: ", interrupted", 3: ", error inside pytest", 4: ", pytest refused its arguments", 5: ", no test ran"}


@dataclass(slots=True)
class Run:
    """How one run ended: pytest's exit code, seconds, tests by outcome, and the reasons of what was left out."""

    name: str
    code: int = 0
    seconds: float = 0
    passed: int = 0
    failed: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    seconds_by_test: Counter[str] = field(default_factory=Counter)  # set-up and teardown included
    seconds_by_module: Counter[str] = field(default_factory=Counter)

    @property
    def is_good(self) -> bool:
        """Whether all went well. pytest's code also reports a suite without tests, and CI must not leave tests out."""
        return self.code == 0 and not (CI and any(not reason.startswith(BY_DESIGN) for reason in self.left_out))


def main(arguments: list[str], *, on_postgres: Sequence[str] = ("-m", "both_databases")) -> int:
    """Run the suite on both databases and print how it went; return the exit code.

    `on_postgres` are further arguments for pytest on the second one: by default they choose the marked tests.
    """
    if ALL in arguments:
        return _run_all([argument for argument in arguments if argument != ALL])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # unwinds: servers are stopped
    Env.read_env(ROOT / ".env")  # as settings do: it may have DATABASE_URL
    # Without bytecode each process that a test starts compiles the project again, for a second or two.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with _alone():
        runs = _run_both(arguments, [*on_postgres, *arguments])
    if runs[0].passed and runs[1].code == NOTHING_RAN:
        runs[1].code = 0  # none of the tests that ARGS chose is marked
    _print_outcome(runs)
    return 0 if all(run.is_good for run in runs) else 1


def _run_all(arguments: list[str]) -> int:
    """Run everything at length: all tests on both databases, then the programs that are not tests.

    The property tests and Schemathesis look at ten times as many examples.
    """
    began = time.monotonic()
    failed = []
    if main(["--hypothesis-profile=thorough", *arguments], on_postgres=()) != 0:
        failed.append("the suite")
    programs = {
        "make chaos": ["tools.chaos"],
        "changing releases": ["tools.mixed_releases"],
        "each benchmark, small": ["benchmarks.run", "--smoke"],
        "make conformance": ["tools.conformance"],
    }
    for name, command in programs.items():
        print(f"\n== {name}", flush=True)
        if subprocess.run([sys.executable, "-m", *command], cwd=ROOT, check=False).returncode != 0:
            failed.append(name)
    minutes = (time.monotonic() - began) / 60
    print(f"\nFailed: {', '.join(failed)}." if failed else "\nEverything passed.", f"It took {minutes:.0f} minutes.")
    return 1 if failed else 0


@contextmanager
def _alone() -> Iterator[None]:
    """Wait until no other run is in progress in this checkout: both would use the same test databases."""
    VAR.mkdir(mode=0o700, exist_ok=True)
    with (VAR / "test.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Waiting for the other test run in this checkout to end.", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _run_both(on_sqlite: list[str], on_postgres: list[str]) -> list[Run]:
    """Run pytest on both databases at once, because a third of the time a run waits for processes and pages.

    What the second one prints comes when the first one has ended. With --pdb it runs afterwards.
    """
    seed = random.getrandbits(32)
    sqlite = _Suite(databases.get_sqlite(), seed, on_sqlite, share=0)
    with ExitStack() as stack:
        try:
            server = stack.enter_context(databases.open_postgres())
        except NoPostgres as error:
            left_out = Counter({f"the suite on PostgreSQL: {error}": 1})
            return [sqlite.run(), Run(name="PostgreSQL", left_out=left_out)]
        postgres = _Suite(server, seed, on_postgres, share=OTHER_PORTS)
        if "--pdb" in on_sqlite:
            return [sqlite.run(), postgres.run()]
        with (VAR / "postgres-tests.log").open("w+") as output, postgres.started(output) as process:
            runs = [sqlite.run(), postgres.finish(process)]
            output.seek(0)
            print(f"\n== {server.label}\n{output.read()}", flush=True)
    return runs


class _Suite:
    """One run of pytest on a database. JUnit file, cache and ports are its own."""

    def __init__(self, database: Database, seed: int, arguments: list[str], *, share: int) -> None:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        # Each worker imports all tests. The servers and browsers of the tests take what the workers leave.
        self._workers = cores if share == 0 else max(1, cores - 1)
        self._run = Run(name=database.label)
        self._report = VAR / f"junit-{share}.xml"
        # The seed is chosen here because pytest -q does not tell the one it chooses.
        self._arguments = [f"--randomly-seed={seed}", *arguments]
        if share:
            self._arguments += ["-o", f"cache_dir={VAR / 'pytest-cache'}"]
        # "auto" yields to --pdb, a number does not.
        self._environment = {"PYTEST_XDIST_AUTO_NUM_WORKERS": str(self._workers)} | os.environ
        self._environment |= {"DATABASE_URL": database.url, "GATEWAY_TEST_PORT_SHARE": str(share)}

    def run(self) -> Run:
        """Run it, its output going straight through."""
        with self.started(None) as process:
            return self.finish(process)

    @contextmanager
    def started(self, output: IO[str] | None) -> Iterator[subprocess.Popen[bytes]]:
        """Start it, and stop it if the block is left before it ended. It then has time to drop its databases."""
        hint = f"ARGS={self._arguments[0]} repeats this order"
        print(f"\n== {self._run.name} ({self._workers} workers; {hint})", flush=True)
        self._report.unlink(missing_ok=True)
        command = [sys.executable, "-m", "pytest", f"--junit-xml={self._report}", "-n", "auto", *self._arguments]
        process = subprocess.Popen(command, cwd=ROOT, env=self._environment, stdout=output, stderr=output)
        try:
            yield process
        except KeyboardInterrupt:  # which pytest got, too
            process.wait()
            raise
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                process.wait()

    def finish(self, process: subprocess.Popen[bytes]) -> Run:
        """Wait for its end and count."""
        self._run.code = process.wait()
        if self._report.exists():
            _count(self._run, self._report)
        return self._run


def _count(run: Run, report: Path) -> None:
    results = ElementTree.parse(report)  # noqa: S314 - pytest wrote it just now
    run.seconds += sum(float(suite.get("time", 0)) for suite in results.iter("testsuite"))
    for case in results.iter("testcase"):
        skipped = case.find("skipped")
        module, seconds = case.get("classname", ""), float(case.get("time", 0))
        run.seconds_by_test[f"{module}::{case.get('name')}"] += seconds
        run.seconds_by_module[module] += seconds
        if case.find("failure") is not None or case.find("error") is not None:
            run.failed += 1
        elif skipped is not None:
            run.left_out[_reason(skipped)] += 1
        else:
            run.passed += 1


def _reason(skipped: ElementTree.Element) -> str:
    """Return why a test was skipped. For a whole module, the text holds (path, line, "Skipped: reason")."""
    message = skipped.get("message", "")
    if message == "collection skipped":
        message = str(ast.literal_eval(skipped.text or "''")[-1])
    return message.removeprefix("Skipped: ")


def _print_outcome(runs: list[Run]) -> None:
    width = max(len(run.name) for run in runs)
    print(f"\n{'':{width}}  passed  failed  skipped  seconds")
    for run in runs:
        skipped = run.left_out.total()
        ended = "" if run.is_good else f"  failed{CODES.get(run.code, '')}"
        print(f"{run.name:{width}}  {run.passed:6}  {run.failed:6}  {skipped:7}  {run.seconds:7.1f}{ended}")

    left_out = sum((run.left_out for run in runs), Counter[str]())
    print("\nLeft out:" if left_out else "\nNothing was left out.")
    for reason, count in left_out.most_common():
        print(f"{count:5} × {reason}")
    for run in runs:
        _print_slowest(run)
    if CI and any(not reason.startswith(BY_DESIGN) for reason in left_out):
        print(f'With CI set, this fails: only tests left out "{BY_DESIGN}" are allowed there.')


def _print_slowest(run: Run) -> None:
    for title, seconds_by_name in (("tests", run.seconds_by_test), ("modules", run.seconds_by_module)):
        if seconds_by_name:
            print(f"\nThe slowest {title} on {run.name}, in seconds:")
        for name, seconds in seconds_by_name.most_common(SLOWEST):
            print(f"{seconds:7.1f}  {name}")


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
