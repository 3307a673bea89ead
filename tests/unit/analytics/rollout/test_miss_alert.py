"""The alert of tool misses notifies people once when it opens, and again only after it closed."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, User

from analytics.rollout import miss_alert
from analytics.turns.models import ToolSelection
from audit.models import AuditEntry
from notifications.models import Notification

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db]

AT = datetime(2026, 3, 2, 12, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def _channels(settings: Any) -> None:
    settings.GATEWAY_SENDS_EMAIL, settings.GATEWAY_NOTIFY_URL = True, "https://hooks.example"
    for role in ("Product manager", "Auditor"):
        person = User.objects.create_user(role, email=f"{role[0]}@example.com".lower(), is_staff=True)
        person.groups.set(Group.objects.filter(name=role))


def report_turns(at: datetime, *, missing: int, total: int = 100) -> None:
    ToolSelection.objects.bulk_create(
        ToolSelection(
            time=at, client="chat", turn=f"{at}-{number}", missed=["close_ticket"] if number < missing else []
        )
        for number in range(total)
    )


def count_webhooks(at: datetime) -> int:
    miss_alert.check_misses(at)
    return Notification.objects.filter(channel="webhook").count()


def test_alert_notifies_those_who_can_change_cohorts() -> None:
    report_turns(AT, missing=8)

    miss_alert.check_misses(AT)

    notifications = {row.channel: row for row in Notification.objects.all()}
    assert notifications["email"].recipient == "p@example.com"
    assert notifications["webhook"].event == "tool_misses.opened"
    assert notifications["email"].text.startswith("8.0% of the 100 turns of the last 24 hours called a tool")
    assert notifications["email"].link.endswith("/admin/reports/tool-selection/")


def test_alert_notifies_once_until_it_closes() -> None:
    report_turns(AT, missing=6)
    assert [count_webhooks(AT), count_webhooks(AT)] == [1, 1]

    # Neither a rate just below the threshold nor a quiet day closes it.
    report_turns(AT + 2 * DAY, missing=5)
    report_turns(AT + 4 * DAY, missing=0, total=99)
    report_turns(AT + 6 * DAY, missing=6)
    assert [count_webhooks(AT + days * DAY) for days in (2, 4, 6)] == [1, 1, 1]

    report_turns(AT + 8 * DAY, missing=4)
    report_turns(AT + 10 * DAY, missing=6)
    assert [count_webhooks(AT + days * DAY) for days in (8, 10)] == [1, 2]
    states = AuditEntry.objects.order_by("id").values_list("changes", flat=True)
    assert [each["is_open"][1] for each in states] == [True, False, True]


def test_alert_stays_closed_for_few_turns_or_misses() -> None:
    report_turns(AT, missing=99, total=99)
    report_turns(AT + 2 * DAY, missing=5)

    assert [count_webhooks(AT), count_webhooks(AT + 2 * DAY)] == [0, 0]
    assert not AuditEntry.objects.exists()
