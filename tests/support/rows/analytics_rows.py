"""Types of the fixtures that write events and daily figures, the time that they write for, and running the rollup."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from analytics.events import stored_contents
from analytics.events.stored_contents import StoredContents
from analytics.rollups import rollup_job

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)

WriteEvent = Callable[..., None]
CreateRow = Callable[..., None]


def store_contents(days: int, **fields: Any) -> None:
    """Let events keep args and results for some days. 0: they keep none."""
    StoredContents.objects.update_or_create(pk=StoredContents.PK, defaults={"days": days, **fields})
    stored_contents.refresh_rules()


def run_until_done(at: datetime = NOON) -> None:
    while rollup_job.run_rollup(at):
        pass
