"""The page that widens a cohort step by step."""

from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from analytics.flags import FlagKey
from analytics.rollout.experiments import Experiment
from analytics.rollout.models import Cohort, Subject
from console.access.roles import Role
from tests.support.console.admin_pages import read_text

pytestmark = pytest.mark.django_db


@pytest.fixture
def cohort() -> Cohort:
    return Cohort.objects.create(name="pilot", flag_id=FlagKey.SURFACE, variant="gateway", percentage=5)


def get_urls(cohort: Cohort) -> list[str]:
    return [reverse(f"admin:analytics_cohort_{name}", args=[cohort.pk]) for name in ("change", "widen")]


def test_page_begins_above_the_cohorts_share_and_starts_the_steps(admin_client: Client, cohort: Cohort) -> None:
    Subject.objects.bulk_create(Subject(subject=f"user-{number}", seen_at=timezone.now()) for number in range(200))
    change_url, widen_url = get_urls(cohort)
    assert widen_url in read_text(admin_client.get(change_url))
    page = admin_client.get(widen_url)
    assert page.context["form"]["steps"].value() == "25% 8 h, 50% 8 h"
    assert "25% are about 50 of last week's 200 users" in page.context["form"]["steps"].help_text
    sent: dict[str, Any] = {"experiment_name": "pilot-steps", "guardrails": ["failure_rate"]}

    refused = admin_client.post(widen_url, sent | {"steps": "1% 1 h"})
    assert "It is at 5% already" in refused.context["form"].errors["steps"][0]
    done = admin_client.post(widen_url, sent | {"steps": "10% 1 h, 50% 1 h"}, follow=True)

    experiment = Experiment.objects.get()
    assert "pilot is widened step by step, beside an equal control." in read_text(done)
    assert [(arm.variant, arm.percentage) for arm in experiment.list_arms()] == [("legacy", 10), ("gateway", 10)]
    cohort.refresh_from_db()
    assert not cohort.is_on
    page = read_text(admin_client.get(change_url))
    assert "It was widened step by step: its users are in the experiment" in page
    assert reverse("admin:analytics_experiment_change", args=[experiment.pk]) in page


def test_cohort_that_cannot_be_widened_has_no_link_and_says_why(admin_client: Client, cohort: Cohort) -> None:
    Cohort.objects.filter(pk=cohort.pk).update(is_on=False)
    change_url, widen_url = get_urls(cohort)

    assert widen_url not in read_text(admin_client.get(change_url))
    assert "It is off. Start it first." in read_text(admin_client.get(widen_url))
    assert admin_client.post(widen_url, {"steps": "10% 1 h"}).status_code == 200
    assert not Experiment.objects.exists()


def test_who_cannot_publish_cannot_widen_a_release(client: Client, cohort: Cohort) -> None:
    manager = User.objects.create_user("pia", "", "pia", is_staff=True)
    manager.groups.add(Group.objects.get(name=Role.PRODUCT_MANAGER))
    client.force_login(manager)
    _, surface_url = get_urls(cohort)
    released = Cohort.objects.create(name="r2-first", flag_id=FlagKey.RELEASE, variant="a" * 64, percentage=5)
    change_url, widen_url = get_urls(released)

    assert client.get(surface_url).status_code == 200
    assert widen_url not in read_text(client.get(change_url))
    assert client.get(widen_url).status_code == 403
