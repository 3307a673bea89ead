from datetime import UTC, datetime, timedelta

import pytest

from tests.support.loops import for_each
from workspace.models import MilestoneState, is_missed

pytestmark = pytest.mark.both_databases

AT = datetime(2026, 3, 2, 12, 30, tzinfo=UTC)
PAST, FUTURE = AT - timedelta(seconds=1), AT + timedelta(seconds=1)


@for_each(
    "state, due_at, missed",
    [
        ("pending", PAST, True),
        ("pending", AT, False),  # exactly due is not missed
        ("pending", FUTURE, False),
        ("pending", None, False),  # without a due time it cannot be missed
        ("in_progress", PAST, False),
        ("completed", PAST, False),
        ("missed", PAST, True),
        ("missed", FUTURE, True),  # the state was set by a person
        ("missed", None, True),
    ],
)
def test_milestone_is_missed_after_its_due_time(state: str, due_at: datetime | None, missed: bool) -> None:
    assert is_missed({"state_key": MilestoneState(state).value, "due_at": due_at}, AT) is missed
