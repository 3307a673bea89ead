from typing import Any
from uuid import UUID

import pytest

from tests.factories import MADE_AT
from workspace.kinds import TASK
from workspace.services import rows


def columns(**given: Any) -> dict[str, Any]:
    return dict.fromkeys(TASK.list_row) | {"id": UUID(int=1), "updated_at": MADE_AT, "description_preview": ""} | given


def test_abbreviated_leaves_empty_fields_out_and_writes_json_values() -> None:
    assert rows.abbreviated(columns(priority=3), kind=TASK) == {
        "id": "00000000-0000-0000-0000-000000000001",
        "priority": 3,
        "updated_at": "2026-03-01T09:00:00Z",
    }


@pytest.mark.parametrize(
    ("description", "preview"),
    [
        ("x" * 99, "x" * 99),
        ("x" * 100, "x" * 100),  # fits: not cut
        ("x" * 101, "x" * 100 + "…"),
        ("ü" * 101, "ü" * 100 + "…"),  # characters, not bytes
        ("🌱" * 101, "🌱" * 100 + "…"),
    ],
)
def test_abbreviated_cuts_the_description(description: str, preview: str) -> None:
    row = rows.abbreviated(columns(description_preview=description), kind=TASK)

    assert row["description_preview"] == preview
