"""What was counted, written by hand."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest

from analytics.models import OpDaily, ToolSelection, Turn

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)

Write = Callable[..., None]


@pytest.fixture
def daily(db: None) -> Write:
    """Write a day's figures of an op."""

    def write(op: str = "onto.task.update", *, days_ago: int = 0, **fields: Any) -> None:
        day = (NOON - timedelta(days=days_ago)).date()
        OpDaily.objects.create(**{"op": op, "day": day, "release": "r1", "is_settled": True} | fields)

    return write


@pytest.fixture
def turn(db: None) -> Write:
    """Write a turn, or some."""
    numbers = count()

    def write(*, times: int = 1, days_ago: float = 0, **fields: Any) -> None:
        said = {"client": "chat", "time": NOON - timedelta(days=days_ago), "release": "r1"} | fields
        Turn.objects.bulk_create(Turn(turn=f"t{next(numbers)}", **said) for _ in range(times))

    return write


@pytest.fixture
def selection(db: None) -> Write:
    """Write what was told of a turn, or of some."""
    numbers = count()

    def write(*, times: int = 1, **fields: Any) -> None:
        said = {"client": "chat", "time": NOON, "toolset": "0123", "release": "r1"} | fields
        ToolSelection.objects.bulk_create(ToolSelection(turn=f"t{next(numbers)}", **said) for _ in range(times))

    return write
