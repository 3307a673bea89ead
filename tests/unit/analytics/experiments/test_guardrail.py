"""Automatic rollback: the guardrail of a cohort switches it off when its users' calls clearly fail more often."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, User

from analytics.experiments.cohorts import guardrail
from analytics.flags import FlagKey
from analytics.rollout.models import Cohort
from analytics.rollups.models import SubjectFigures
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


def add_users(cohort: str, *failures: int, times: int = 10, calls: int = 10, begin: datetime = AT - HOUR) -> None:
    """Add users of a cohort who failed so often out of `calls`; the same failures for `times` as many users."""
    SubjectFigures.objects.bulk_create(
        SubjectFigures(
            begin=begin, subject=f"{cohort}-{number}", cohort=cohort, calls=calls, failed=failed, is_settled=True
        )
        for number, failed in enumerate(failures * times)
    )


def add_worse_users() -> None:
    """Add users of whom those of the cohort clearly fail more often than others."""
    add_users("pilot", 4, 5, 6)
    add_users("", 0, 1, 2)


def record_change(cohort: Cohort, time: datetime) -> None:
    audit_log.record_change("cohort", cohort.name, {"percentage": 1}, {"percentage": 5}, by="pia", at=time)


def runs_on(cohort: Cohort) -> bool:
    guardrail.stop_worse_cohorts(AT)
    cohort.refresh_from_db()
    return cohort.is_on


def test_worse_cohort_is_switched_off_and_recorded(cohort: Cohort) -> None:
    add_users("copy pilot", 4, 5, 6)  # another flag's cohort decided, too
    add_users("copy", 0, 1, 2)

    assert not runs_on(cohort)

    [entry] = AuditEntry.objects.all()
    assert (entry.name, entry.by, entry.changes) == ("pilot", "guardrail", {"is_on": [True, False]})
    rates = "50% of the calls of 30 users failed, and 10% of the calls of 30 users of others"
    assert entry.note == f"Since the cohort last changed, {rates}."
    [stop] = guardrail.list_stops([cohort])
    assert (stop.cohort, stop.time, stop.reason) == (cohort, AT, entry.note)


def test_people_who_may_change_cohorts_are_told(cohort: Cohort, settings: Any) -> None:
    settings.GATEWAY_SENDS_EMAIL, settings.GATEWAY_NOTIFY_URL = True, "https://hooks.example"
    for role in ("Product manager", "Auditor"):
        person = User.objects.create_user(role, email=f"{role[0]}@example.com".lower(), is_staff=True)
        person.groups.set(Group.objects.filter(name=role))
    add_worse_users()

    runs_on(cohort)

    notifications = {row.channel: row for row in Notification.objects.all()}
    assert set(notifications) == {"email", "webhook"}
    assert notifications["email"].recipient == "p@example.com"
    assert notifications["webhook"].event == "cohort.stopped"
    assert notifications["email"].link.endswith(f"/admin/analytics/cohort/{cohort.pk}/change/")
    assert "50% of the calls of 30 users failed" in notifications["email"].text


@for_each(
    "own, others",
    [
        ({"failures": (5,), "times": 19}, {"failures": (0, 1, 2)}),  # too few users
        ({"failures": (4, 5, 6)}, {"failures": (0, 1), "times": 9}),  # too few to compare with
        ({"failures": (0, 1, 2, 3)}, {"failures": (0, 1, 2)}),  # may be chance
        ({"failures": (0,) * 23 + (1_000, 1_000), "times": 1, "calls": 1_000}, {"failures": (1,), "calls": 1_000}),
        ({"failures": (0, 0, 1)}, {"failures": (0, 1, 2)}),  # better
    ],
    undone=True,
)
def test_cohort_that_is_not_clearly_worse_stays_on(cohort: Cohort, own: dict[str, Any], others: dict[str, Any]) -> None:
    for name, users in (("pilot", own), ("", others)):
        add_users(name, *users.pop("failures"), **users)

    assert runs_on(cohort)
    assert not AuditEntry.objects.exists()


def test_few_heavy_users_are_warned_about_and_not_acted_on(cohort: Cohort) -> None:
    add_users("pilot", 60, times=5, calls=100)
    add_users("", 10, times=30, calls=100)

    assert runs_on(cohort)
    assert guardrail.measure_cohorts([cohort], at=AT)[cohort].is_worse_by_calls


def test_only_what_came_after_the_last_change_and_yesterday_s_midnight_counts(cohort: Cohort) -> None:
    add_users("", 0, 1, 2)
    add_users("pilot", 4, 5, 6, begin=AT - timedelta(days=2))
    assert runs_on(cohort)

    add_users("pilot", 4, 5, 6, begin=AT - 2 * HOUR)
    record_change(cohort, AT - HOUR)
    assert runs_on(cohort)

    add_users("pilot", 4, 5, 6)
    assert not runs_on(cohort)


def test_cohort_without_a_guardrail_or_of_a_flag_that_is_off_is_left_alone(
    cohort: Cohort, django_assert_num_queries: Any
) -> None:
    add_worse_users()
    cohort.is_guarded = False
    cohort.save()
    with django_assert_num_queries(1):
        guardrail.stop_worse_cohorts(AT)
    cohort.is_guarded, cohort.flag.is_on = True, False
    cohort.save()
    cohort.flag.save()

    assert runs_on(cohort)


def test_cohort_that_somebody_switched_on_again_is_no_stop_any_more(cohort: Cohort) -> None:
    add_worse_users()
    runs_on(cohort)

    cohort.is_on = True
    cohort.save()
    record_change(cohort, AT + timedelta(seconds=1))

    assert guardrail.list_stops([cohort]) == []
    guardrail.stop_worse_cohorts(AT + HOUR)
    cohort.refresh_from_db()
    assert cohort.is_on  # what failed before does not count
