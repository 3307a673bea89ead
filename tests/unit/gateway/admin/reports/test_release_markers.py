"""Markers of what went live, for charts."""

from datetime import UTC, datetime, timedelta

import pytest

from gateway.admin.reports.release_markers import list_markers
from registry.models import Op
from registry.releases import publishing
from tests.support.copy_rows import make_op

AT = datetime(2026, 3, 1, 23, 59, tzinfo=UTC)


@pytest.mark.both_databases
@pytest.mark.django_db
def test_marker_names_the_last_release_of_a_day() -> None:
    make_op()
    for number, hours in enumerate((0, 10, 20, 24 * 9)):
        Op.objects.update(summary=f"Words {number}")
        publishing.publish_draft(note="Test", by="tests", at=AT + timedelta(hours=hours))

    days = [AT.date() + timedelta(days=number) for number in range(5)]

    assert list_markers(days) == {0: "r1", 1: "r3"}
