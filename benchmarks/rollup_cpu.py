"""What the roll-up of a minute costs at 1,000 calls a second. `benchmarks.rollups` writes the events and runs it."""

from collections.abc import Iterator
from statistics import median

from benchmarks import figures, usage
from benchmarks.figures import BenchmarkFigure, NotMeasured
from benchmarks.lab import Lab, PreparedDatabase
from benchmarks.run_size import shrink

OPS = 1_000  # in the catalog, as in other benchmarks on this database
USERS = 20_000


def measure_rollups(lab: Lab) -> Iterator[BenchmarkFigure]:
    """Measure the roll-up of a minute at 1,000 calls a second: figures of ops and turns, and with those of users."""
    prepared = lab.get_postgres(OPS)
    yield _measure_rollup(lab, prepared, "rollups.ops.cpu_s", 1, "figures of ops, and turns; PostgreSQL")
    users = shrink(USERS)
    yield _measure_rollup(lab, prepared, "rollups.cpu_s", users, f"with figures of {users:,} users; PostgreSQL")


def measure_rollups_on_sqlite(lab: Lab) -> Iterator[BenchmarkFigure]:
    """Measure the same on SQLite."""
    users = shrink(USERS)
    prepared = lab.get_spare_sqlite(OPS)
    yield _measure_rollup(lab, prepared, "rollups.sqlite.cpu_s", users, f"with figures of {users:,} users; SQLite")


def _measure_rollup(lab: Lab, prepared: PreparedDatabase, name: str, users: int, what: str) -> BenchmarkFigure:
    if not usage.is_available():
        raise NotMeasured("It needs /proc, which this system does not have.")
    result = lab.measure_rollups(prepared, users)
    rounds = [own + database for own, database in zip(result["own_s"], result["database_s"], strict=True)]
    in_database = median(result["database_s"])
    against = f"CPU for the {result['events']:,} events of a minute, {in_database:.2g} of it in the database; {what}"
    return figures.build_median_figure(name, rounds, "s", against)
