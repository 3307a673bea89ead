"""What a cohort's page says above its form."""

from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client as HttpClient
from django.urls import reverse

from analytics.events.models import OperationEvent
from analytics.flags import FlagKey
from analytics.rollout import guardrails
from analytics.rollout.models import Assignment, Cohort
from analytics.rollups.models import OpDaily
from audit import audit_log
from console.rollout import cohort_facts
from tests.support.console.admin_pages import read_text

pytestmark = pytest.mark.django_db

AT = datetime.now(UTC)


@pytest.fixture
def cohort() -> Cohort:
    for cohort, invalid in (("pilot", 5), ("", 40)):
        OpDaily.objects.create(
            op="onto.task.get", day=AT.date(), release="r", cohort=cohort, calls=200, invalid=invalid, is_settled=True
        )
    for number, days in enumerate((40, 40, 2, 0)):
        fields = {"flag": FlagKey.SURFACE, "variant": "gateway", "cohort": "pilot", "subject": f"user-{number}"}
        Assignment.objects.create(**fields, time=AT - timedelta(days=days))
    kind = "cohort"
    audit_log.record_change(kind, "pilot", {"percentage": 5.0}, {"percentage": 25.0}, by="pia", at=AT)
    return Cohort.objects.create(name="pilot", flag_id=FlagKey.SURFACE, variant="gateway", percentage=25)


def read_page(http: HttpClient, cohort: Cohort) -> str:
    return read_text(http.get(reverse("admin:analytics_cohort_change", args=[cohort.pk])))


def test_cohort_page_compares_it_with_everyone_else(admin_client: HttpClient, cohort: Cohort) -> None:
    page = read_page(admin_client, cohort)

    assert "<strong>Failure rate</strong>: 2.5% of 200, others 20% of 200. Better: " in page
    assert "Not enough data: 0 of 50 turns with a call." in page


def test_cohort_page_shows_exposures_over_time_and_changes(admin_client: HttpClient, cohort: Cohort) -> None:
    page = read_page(admin_client, cohort)

    assert "pilot, 2 to 4." in page  # the chart's description: two users before the period, four by its end
    assert "pilot: 5% → 25%" in page  # the chart's table
    assert "pia: 5% → 25%" in page


@pytest.mark.both_databases
def test_cohort_page_shows_no_figures_to_those_who_may_not_see_them(client: HttpClient, cohort: Cohort) -> None:
    user = User.objects.create_user("una", is_staff=True)
    user.groups.add(Group.objects.create(name="Only cohorts"))
    permissions = Group.objects.get(name="Product manager").permissions.filter(codename__contains="cohort")
    user.user_permissions.set(permissions)
    client.force_login(user)

    page = read_page(client, cohort)

    for heading in ("Compared with everyone else", "Exposed users", "Changes</h2>"):
        assert heading not in page


def add_calls(cohort: str, *, failed: int, total: int) -> None:
    for number in range(total):
        error = {"ok": False, "status": 400, "code": "NOT_FOUND"} if number < failed else {"ok": True, "status": 200}
        fields = {"type": "exec", "op": "onto.task.get", "latency_ms": 1.0, "time": AT + timedelta(seconds=1)}
        OperationEvent.objects.create(**fields, **error, cohort=cohort)


@pytest.mark.both_databases
def test_cohort_page_shows_what_its_guardrail_sees_and_what_it_did(admin_client: HttpClient, cohort: Cohort) -> None:
    assert "Stops automatically" not in read_page(admin_client, cohort)
    cohort.is_guarded = True
    cohort.save()
    add_calls("pilot", failed=1, total=20)
    later = AT + timedelta(minutes=1)

    page = cohort_facts.describe_guardrail(cohort, later)
    add_calls("pilot", failed=40, total=40)
    add_calls("", failed=5, total=100)
    guardrails.stop_worse_cohorts(later)
    stopped = read_page(admin_client, Cohort.objects.get())

    assert "Stops automatically once 50 calls on both sides show that it is worse." in page
    assert page.endswith(" UTC: 20, and 0 of others.")
    assert "Stopped automatically on " in stopped
    assert "68% of 60 calls failed, and 5.0% of 100 calls of others." in stopped
    home = read_text(admin_client.get(reverse("admin:index")))
    assert "pilot was stopped automatically on " in home
