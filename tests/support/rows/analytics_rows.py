"""Types of the fixtures that write events and daily figures, the time that they write for, and running the rollup."""

from collections.abc import Callable
from datetime import UTC, datetime

from analytics.rollups import rollup_job

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)

WriteEvent = Callable[..., None]
CreateRow = Callable[..., None]


def run_until_done(at: datetime = NOON) -> None:
    """Run the rollup until no work is left."""
    while rollup_job.run_rollup(at):
        pass
