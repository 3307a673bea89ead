from datetime import UTC, datetime, timedelta

import pytest

from analytics.rollout import exposures
from analytics.rollout.evaluation import EvaluationContext
from analytics.rollout.models import Subject

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db]

NOON = datetime(2026, 11, 20, 12, 30, tzinfo=UTC)


def record_contexts(*subjects: str, at: datetime = NOON, **facts: object) -> None:
    for subject in subjects:
        exposures.record_context(EvaluationContext(subject=subject, **facts), at)  # type: ignore[arg-type]  # tests pass different fields
    exposures.flush_subjects()


def test_subject_is_stored_as_last_seen() -> None:
    record_contexts(
        "ana", client="chat", environment="dev", context="project", model="claude-haiku", traits={"plan": "pro", "n": 5}
    )

    assert exposures.find_context("ana") == EvaluationContext(
        "ana", client="chat", environment="dev", context="project", model="claude-haiku", traits={"plan": "pro", "n": 5}
    )
    assert exposures.find_context("ben") is None


def test_subject_is_written_once_an_hour_and_anonymous_ones_never(django_assert_num_queries: object) -> None:
    record_contexts("ana", environment="dev")
    with django_assert_num_queries(0):  # type: ignore[operator]  # pytest-django's, untyped
        record_contexts("ana", environment="production", at=NOON + timedelta(minutes=59))
        record_contexts("", environment="production")
    assert exposures.find_context("ana") == EvaluationContext("ana", environment="dev")

    record_contexts("ana", environment="production", at=NOON + timedelta(minutes=60))
    assert exposures.find_context("ana") == EvaluationContext("ana", environment="production")
    assert Subject.objects.count() == 1

    exposures.clear_subjects()
    record_contexts("ana", environment="staging", at=NOON + timedelta(minutes=60))  # by another process
    assert exposures.find_context("ana") == EvaluationContext("ana", environment="staging")


def test_recent_subjects_are_those_of_seven_days_latest_first() -> None:
    record_contexts("old", at=NOON - timedelta(days=8))
    record_contexts("ana", at=NOON - timedelta(days=6))
    record_contexts("ben")

    assert [facts.subject for facts in exposures.list_recent(NOON)] == ["ben", "ana"]
