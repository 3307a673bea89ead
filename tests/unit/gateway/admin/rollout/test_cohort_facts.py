"""What a cohort's page says above its form."""

from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client as HttpClient
from django.urls import reverse

from analytics import audit
from analytics.models import Assignment, AuditEntry, Cohort, OpDaily
from analytics.rollout.flags import FlagKey

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db]

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
    kind = AuditEntry.Kind.COHORT
    audit.record_change(kind, "pilot", {"percentage": 5.0}, {"percentage": 25.0}, by="pia", at=AT)
    return Cohort.objects.create(name="pilot", flag_id=FlagKey.SURFACE, variant="gateway", percentage=25)


def read_page(http: HttpClient, cohort: Cohort) -> str:
    page = http.get(reverse("admin:analytics_cohort_change", args=[cohort.pk])).content.decode()
    return " ".join(page.split())


def test_cohort_page_compares_it_with_everyone_else(admin_client: HttpClient, cohort: Cohort) -> None:
    page = read_page(admin_client, cohort)

    assert "<strong>Failure rate</strong>: 2.5% of 200, others 20% of 200. Better: " in page
    assert "Not enough data: 0 of 50 turns with a call." in page


def test_cohort_page_shows_exposures_over_time_and_changes(admin_client: HttpClient, cohort: Cohort) -> None:
    page = read_page(admin_client, cohort)

    assert "pilot, 2 to 4." in page  # the chart's description: two users before the period, four by its end
    assert "pilot: 5% → 25%" in page  # the chart's table
    assert "pia: 5% → 25%" in page


def test_cohort_page_shows_no_figures_to_those_who_may_not_see_them(client: HttpClient, cohort: Cohort) -> None:
    user = User.objects.create_user("una", is_staff=True)
    user.groups.add(Group.objects.create(name="Only cohorts"))
    permissions = Group.objects.get(name="Product manager").permissions.filter(codename__contains="cohort")
    user.user_permissions.set(permissions)
    client.force_login(user)

    page = read_page(client, cohort)

    for heading in ("Against everyone else", "Exposed users", "Changes</h2>"):
        assert heading not in page
