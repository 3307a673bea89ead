"""Fixtures that create daily figures, turns and tool selections."""

from datetime import timedelta
from itertools import count
from typing import Any

import pytest

from analytics.rollups.models import OpDaily
from analytics.turns.models import ToolSelection, Turn
from tests.support.rows.analytics_rows import NOON, CreateRow


@pytest.fixture
def daily(db: None) -> CreateRow:
    def create(op: str = "onto.task.update", *, days_ago: int = 0, **fields: Any) -> None:
        day = (NOON - timedelta(days=days_ago)).date()
        OpDaily.objects.create(**{"op": op, "day": day, "release": "r1", "is_settled": True} | fields)

    return create


@pytest.fixture
def turn(db: None) -> CreateRow:
    numbers = count()

    def create(*, times: int = 1, days_ago: float = 0, **fields: Any) -> None:
        values = {"client": "chat", "time": NOON - timedelta(days=days_ago), "release": "r1"} | fields
        Turn.objects.bulk_create(Turn(turn=f"t{next(numbers)}", **values) for _ in range(times))

    return create


@pytest.fixture
def selection(db: None) -> CreateRow:
    numbers = count()

    def create(*, times: int = 1, **fields: Any) -> None:
        values = {"client": "chat", "time": NOON, "toolset": "0123", "release": "r1"} | fields
        ToolSelection.objects.bulk_create(ToolSelection(turn=f"t{next(numbers)}", **values) for _ in range(times))

    return create
