"""Soak: constant traffic over both databases for half an hour: python -m benchmarks.soak [--minutes N] [--rate N].

Prints a table and a summary and writes var/soak.json. The exit code is 1 if anything was missed. Ctrl-C ends the
traffic and prints what there is so far.
"""

import argparse
import json
import signal
import sys
from collections.abc import Mapping
from dataclasses import asdict
from tempfile import TemporaryFile

from benchmarks import lab, usage
from benchmarks.figures import NotMeasured
from benchmarks.lab import Lab, PreparedDatabase
from benchmarks.soak import soak_report
from benchmarks.soak.calls import OPS, CallMix
from benchmarks.soak.soak_report import SoakPlan, SoakResult, WorkerSample
from benchmarks.soak.traffic import Traffic, run_traffic
from tools.databases import VAR

RESULT = VAR / "soak.json"


def main(arguments: list[str]) -> int:
    """Soak both databases and return the exit code."""
    parser = argparse.ArgumentParser(prog="make soak", description="Run constant traffic over both databases.")
    parser.add_argument("--minutes", type=float, default=30, help="of traffic, half of it over each database")
    # Constant, so that windows and runs can be compared, and a fraction of what two cores can serve: at the limit, the
    # tail of the latencies would show the queue and not the server.
    parser.add_argument("--rate", type=float, default=40, help="calls a second")
    options = parser.parse_args(arguments)
    if not usage.is_available():
        parser.error("this system has no /proc, from which memory is read")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that the servers are stopped
    plan = SoakPlan(seconds=options.minutes * 60 / 2, per_second=options.rate)
    results: list[SoakResult] = []
    with lab.open_lab() as soak_lab:
        try:
            databases = {"SQLite": soak_lab.get_sqlite(OPS), "PostgreSQL": soak_lab.get_postgres(OPS)}
        except NotMeasured as error:
            parser.error(str(error))
        for label, prepared in databases.items():
            results.append(soak_database(soak_lab, prepared, label, plan))
            RESULT.write_text(json.dumps([asdict(result) for result in results], indent=2) + "\n")
            print(f"\n{soak_report.format_result(results[-1])}\n", flush=True)
            if results[-1].is_interrupted:
                break
    if any(result.misses for result in results):
        return 1
    return 128 + signal.SIGINT if results[-1].is_interrupted else 0


def soak_database(soak_lab: Lab, prepared: PreparedDatabase, label: str, plan: SoakPlan) -> SoakResult:
    """Run the traffic over one database and judge it."""
    cookie = soak_lab.edit_draft(prepared, 1)["Cookie"]
    samples: list[WorkerSample] = []
    with TemporaryFile("w+") as log:
        with (
            soak_lab.serve_production(prepared, log) as server,
            run_traffic(
                "http://{}:{}".format(*server.address),
                mix=CallMix(prepared.tasks),
                headers={"Authorization": prepared.headers["Authorization"]},
                cookie=cookie,
                per_second=plan.per_second,
                publish_at=plan.iterate_publish_times(),
            ) as traffic,
        ):
            is_interrupted = _sample_workers(label, server.pid, traffic, samples, plan)
        stored = soak_lab.count_stored(prepared)  # the server has stopped, so its buffers are written
        log.seek(0)
        return soak_report.build_result(label, plan, traffic.results, samples, stored, log.read(), is_interrupted)


def _sample_workers(label: str, pid: int, traffic: Traffic, samples: list[WorkerSample], plan: SoakPlan) -> bool:
    """Sample the workers until the time is over. Return whether Ctrl-C ended it."""
    try:
        for number in range(1, round(plan.seconds / plan.sample_every_s) + 1):
            traffic.wait_until(number * plan.sample_every_s)
            memory, cpu = usage.get_mb_by_child(pid), usage.get_cpu_seconds_by_child(pid)
            samples.append(WorkerSample(traffic.elapsed_s, memory, sum(cpu.values())))
            if number % soak_report.SAMPLES_PER_WINDOW == 0:
                _print_progress(label, traffic, memory, plan)
    except KeyboardInterrupt:
        return True
    return False


def _print_progress(label: str, traffic: Traffic, memory: Mapping[str, float], plan: SoakPlan) -> None:
    failed = sum(bool(result.error) for result in traffic.results)
    print(
        f"{label}, {traffic.elapsed_s:.0f} of {plan.seconds:.0f} s: {len(traffic.results):,} requests, {failed} failed;"
        f" workers have {' and '.join(f'{mb:.0f}' for mb in memory.values())} MB",
        file=sys.stderr,
        flush=True,
    )


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
