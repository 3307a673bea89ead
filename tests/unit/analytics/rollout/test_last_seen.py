from datetime import UTC, datetime, timedelta

import pytest

from analytics.models import Subject
from analytics.rollout import last_seen
from analytics.rollout.evaluation_context import EvaluationContext

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db]

NOON = datetime(2026, 11, 20, 12, 30, tzinfo=UTC)


def see(*subjects: str, at: datetime = NOON, **facts: object) -> None:
    for subject in subjects:
        last_seen.record_context(EvaluationContext(subject=subject, **facts), at)  # type: ignore[arg-type]  # each test names its own
    last_seen.flush()


def test_a_subject_is_kept_as_last_seen() -> None:
    see(
        "ana", client="chat", environment="dev", context="project", model="claude-haiku", traits={"plan": "pro", "n": 5}
    )

    assert last_seen.find_context("ana") == EvaluationContext(
        "ana", client="chat", environment="dev", context="project", model="claude-haiku", traits={"plan": "pro", "n": 5}
    )
    assert last_seen.find_context("ben") is None


def test_it_is_written_once_an_hour_and_nobody_unknown_is(django_assert_num_queries: object) -> None:
    see("ana", environment="dev")
    with django_assert_num_queries(0):  # type: ignore[operator]  # pytest-django's, untyped
        see("ana", environment="production", at=NOON + timedelta(minutes=59))
        see("", environment="production")
    assert last_seen.find_context("ana") == EvaluationContext("ana", environment="dev")

    see("ana", environment="production", at=NOON + timedelta(minutes=60))
    assert last_seen.find_context("ana") == EvaluationContext("ana", environment="production")
    assert Subject.objects.count() == 1


def test_those_of_the_last_seven_days_are_recent_the_latest_first() -> None:
    see("old", at=NOON - timedelta(days=8))
    see("ana", at=NOON - timedelta(days=6))
    see("ben")

    assert [facts.subject for facts in last_seen.list_recent(NOON)] == ["ben", "ana"]


def test_another_process_writes_what_it_saw_over_it() -> None:
    see("ana", environment="dev")
    last_seen.clear()

    see("ana", environment="production")

    assert last_seen.find_context("ana") == EvaluationContext("ana", environment="production")
