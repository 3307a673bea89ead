"""Automatic rollback: the guardrail of a cohort switches it off when its calls clearly fail more often."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, User

from analytics.events.models import OperationEvent
from analytics.flags import FlagKey
from analytics.rollout import guardrails
from analytics.rollout.models import Cohort
from audit import audit_log
from audit.models import AuditEntry
from notifications.models import Notification
from tests.support.loops import for_each

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db]

AT = datetime(2026, 3, 2, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture
def cohort() -> Cohort:
    return Cohort.objects.create(name="pilot", flag_id=FlagKey.SURFACE, variant="hybrid", percentage=5, is_guarded=True)


def add_calls(cohort: str, *, failed: int, total: int, time: datetime = AT - HOUR, **fields: Any) -> None:
    error = {"ok": False, "status": 400, "code": "NOT_FOUND", "reason": "not_found"}
    success = {"ok": True, "status": 200}
    call = {"type": "exec", "op": "onto.task.get", "latency_ms": 1.0, "time": time, "cohort": cohort}
    OperationEvent.objects.bulk_create(
        OperationEvent(**call | (error if number < failed else success) | fields) for number in range(total)
    )


def add_worse_calls(**fields: Any) -> None:
    """Add calls of which those of the cohort clearly fail more often than others."""
    add_calls("pilot", failed=30, total=60, **fields)
    add_calls("", failed=20, total=200)


def record_change(cohort: Cohort, time: datetime) -> None:
    audit_log.record_change("cohort", cohort.name, {"percentage": 1}, {"percentage": 5}, by="pia", at=time)


def runs_on(cohort: Cohort) -> bool:
    guardrails.stop_worse_cohorts(AT)
    cohort.refresh_from_db()
    return cohort.is_on


def test_worse_cohort_is_switched_off_and_recorded(cohort: Cohort) -> None:
    add_calls("copy pilot", failed=30, total=60)  # another flag's cohort decided, too
    add_calls("copy", failed=20, total=200)

    assert not runs_on(cohort)

    [entry] = AuditEntry.objects.all()
    assert (entry.name, entry.by, entry.changes) == ("pilot", "guardrail", {"is_on": [True, False]})
    assert entry.note == "In the last 24 hours, 50% of 60 calls failed, and 10% of 200 calls of others."
    [stop] = guardrails.list_stops([cohort])
    assert (stop.cohort, stop.time, stop.reason) == (cohort, AT, entry.note)


def test_people_who_may_change_cohorts_are_told(cohort: Cohort, settings: Any) -> None:
    settings.GATEWAY_SENDS_EMAIL, settings.GATEWAY_NOTIFY_URL = True, "https://hooks.example"
    for role in ("Product manager", "Auditor"):
        person = User.objects.create_user(role, email=f"{role[0]}@example.com".lower(), is_staff=True)
        person.groups.set(Group.objects.filter(name=role))
    add_worse_calls()

    runs_on(cohort)

    notifications = {row.channel: row for row in Notification.objects.all()}
    assert set(notifications) == {"email", "webhook"}
    assert notifications["email"].recipient == "p@example.com"
    assert notifications["webhook"].event == "cohort.stopped"
    assert notifications["email"].link.endswith(f"/admin/analytics/cohort/{cohort.pk}/change/")
    assert "50% of 60 calls failed" in notifications["email"].text


@for_each(
    "own, others",
    [
        ((30, 49), (0, 200)),  # too few calls
        ((30, 60), (10, 49)),  # too few to compare with
        ((12, 60), (20, 200)),  # 20% and 10%: worse with 95%, but not with 99.9%
        ((0, 60), (20, 200)),  # better
    ],
    undone=True,
)
def test_cohort_that_is_not_clearly_worse_stays_on(
    cohort: Cohort, own: tuple[int, int], others: tuple[int, int]
) -> None:
    for name, (failed, total) in (("pilot", own), ("", others)):
        add_calls(name, failed=failed, total=total)

    assert runs_on(cohort)
    assert not AuditEntry.objects.exists()


@for_each("fields", [{"source": "admin"}, {"dry_run": True}, {"type": "help"}], undone=True)
def test_only_calls_count(cohort: Cohort, fields: dict[str, Any]) -> None:
    add_worse_calls(**fields)

    assert runs_on(cohort)


def test_only_calls_since_the_last_change_and_of_one_day_count(cohort: Cohort) -> None:
    add_calls("", failed=20, total=200)
    add_calls("pilot", failed=30, total=60, time=AT - timedelta(hours=25))
    assert runs_on(cohort)

    add_calls("pilot", failed=30, total=60, time=AT - 2 * HOUR)
    record_change(cohort, AT - HOUR)
    assert runs_on(cohort)

    add_calls("pilot", failed=30, total=60)
    assert not runs_on(cohort)


def test_cohort_without_a_guardrail_or_of_a_flag_that_is_off_is_left_alone(
    cohort: Cohort, django_assert_num_queries: Any
) -> None:
    add_worse_calls()
    cohort.is_guarded = False
    cohort.save()
    with django_assert_num_queries(1):
        assert guardrails.stop_worse_cohorts(AT) is False
    cohort.is_guarded, cohort.flag.is_on = True, False
    cohort.save()
    cohort.flag.save()

    assert runs_on(cohort)


def test_cohort_that_somebody_switched_on_again_is_no_stop_any_more(cohort: Cohort) -> None:
    add_worse_calls()
    runs_on(cohort)

    cohort.is_on = True
    cohort.save()
    record_change(cohort, AT + timedelta(seconds=1))

    assert guardrails.list_stops([cohort]) == []
    guardrails.stop_worse_cohorts(AT + HOUR)
    cohort.refresh_from_db()
    assert cohort.is_on  # what failed before does not count
