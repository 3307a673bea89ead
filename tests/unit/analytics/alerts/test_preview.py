"""The preview of a rule replays the last days as the job would have checked them."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from analytics.alerts import alert_job, preview
from analytics.alerts.models import Alert, AlertRule
from analytics.turns.models import Turn
from tests.support.rows.analytics_rows import WriteEvent

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db]

AT = datetime(2026, 3, 9, 12, 0, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def build_rule(**fields: Any) -> AlertRule:
    values = {"name": "Calls fail", "metric": "failed_calls", "scope": "op", "threshold": 50.0, "min_count": 5}
    return AlertRule(**values | fields)


def count_openings(rule: AlertRule) -> Counter[str]:
    result = preview.preview_rule(rule, at=AT)
    assert result is not None
    return result.openings


def test_each_failure_with_a_recovery_in_between_would_have_opened_an_alert(write_event: WriteEvent) -> None:
    for days in (1, 3, 5):
        write_event(AT - days * DAY, times=5, op="a.b", code="INTERNAL")
        write_event(AT - days * DAY + 30 * MINUTE, times=20, op="a.b")
    write_event(AT - 2 * DAY, times=5, op="a.c", code="INTERNAL")
    write_event(AT - 9 * DAY, times=5, op="a.d", code="INTERNAL")  # too long ago

    assert count_openings(build_rule()) == {"a.b": 3, "a.c": 1}
    assert count_openings(build_rule(pattern="*.c")) == {"a.c": 1}
    assert count_openings(build_rule(min_count=6)) == {}
    assert not AlertRule.objects.filter(name="Calls fail").exists()


def test_preview_agrees_with_the_job(write_event: WriteEvent) -> None:
    for minute in range(0, 12 * 60, 5):
        is_failing = (minute // 120) % 2 == 0  # two hours with failures, two without
        write_event(AT - 12 * HOUR + minute * MINUTE, times=2, code="INTERNAL" if is_failing else "")
    AlertRule.objects.update(is_on=False)
    rule = build_rule(minutes=60)
    rule.save()
    for minute in range(0, 12 * 60, 5):
        alert_job.check_alerts(AT - 12 * HOUR + minute * MINUTE)

    assert count_openings(rule) == {"onto.task.update": Alert.objects.count()}
    assert Alert.objects.count() == 3


def test_only_the_newest_rows_are_read(write_event: WriteEvent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preview, "MAX_ROWS", 10)
    write_event(AT - 3 * DAY, times=5, op="a.b", code="INTERNAL")
    write_event(AT - HOUR, times=11, op="a.c", code="INTERNAL")

    result = preview.preview_rule(build_rule(), at=AT)

    assert result is not None
    assert result.since == AT - HOUR


def test_turns_have_a_past_and_states_have_none() -> None:
    Turn.objects.create(client="chat", turn="1", time=AT - DAY, repeats=2)

    assert count_openings(build_rule(metric="loops", scope="client", min_count=1)) == {"chat": 1}
    assert preview.preview_rule(build_rule(metric="locked_sign_ins", scope="overall"), at=AT) is None
