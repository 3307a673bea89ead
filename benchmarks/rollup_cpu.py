"""What the roll-up of a minute costs at 1,000 calls a second. `benchmarks.rollups` writes the events and runs it."""

from collections.abc import Iterator
from statistics import mean, median
from typing import Any

from benchmarks import figures, timing, usage
from benchmarks.figures import BenchmarkFigure, NotMeasured
from benchmarks.lab import Lab
from benchmarks.run_size import shrink

OPS = 1_000  # in the catalog, as in other benchmarks on this database
USERS = 20_000
POST_SECONDS = 2


def measure_rollups(lab: Lab) -> Iterator[BenchmarkFigure]:
    """Measure the roll-up of a minute at 1,000 calls a second: figures of ops and turns, and with those of users.

    Bare POSTs before and after the first one say how fast the machine is meanwhile.
    """
    _check_usage()
    prepared = lab.get_postgres(OPS)
    posts = timing.build_reads(prepared)
    with lab.serve_bare(b"{}") as bare:
        timing.warm_up(bare.address, posts)
        before = timing.measure_p50(bare.address, posts, POST_SECONDS)
        result = lab.measure_rollups(prepared, 1)
        post = mean([before, timing.measure_p50(bare.address, posts, POST_SECONDS)])
    yield _build_figure("rollups.ops.cpu_s", result, "figures of ops, and turns; PostgreSQL")
    of_post = [100 * seconds * 1000 / result["events"] / post for seconds in _sum_rounds(result)]
    against = f"CPU of the same for one event, over the p50 of a bare DRF POST ({post:.2f} ms), concurrency 1"
    yield figures.build_median_figure("rollups.ops.ratio", of_post, "%", against)
    users = shrink(USERS)
    result = lab.measure_rollups(prepared, users)
    yield _build_figure("rollups.cpu_s", result, f"with figures of {users:,} users; PostgreSQL")


def measure_rollups_on_sqlite(lab: Lab) -> Iterator[BenchmarkFigure]:
    """Measure the same on SQLite."""
    _check_usage()
    users = shrink(USERS)
    result = lab.measure_rollups(lab.get_spare_sqlite(OPS), users)
    yield _build_figure("rollups.sqlite.cpu_s", result, f"with figures of {users:,} users; SQLite")


def _check_usage() -> None:
    if not usage.is_available():
        raise NotMeasured("It needs /proc, which this system does not have.")


def _sum_rounds(result: dict[str, Any]) -> list[float]:
    """Return the CPU seconds of each round, of the process and of the database."""
    return [own + database for own, database in zip(result["own_s"], result["database_s"], strict=True)]


def _build_figure(name: str, result: dict[str, Any], what: str) -> BenchmarkFigure:
    in_database = median(result["database_s"])
    against = f"CPU for the {result['events']:,} events of a minute, {in_database:.2g} of it in the database; {what}"
    return figures.build_median_figure(name, _sum_rounds(result), "s", against)
