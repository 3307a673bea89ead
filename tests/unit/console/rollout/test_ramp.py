"""The next step of a cohort, beside the verdict on its page."""

from datetime import UTC, datetime

import pytest
from django.test import Client as HttpClient
from django.urls import reverse

from analytics.flags import FlagKey
from analytics.reports.verdicts import Advice
from analytics.rollout.models import Cohort, Subject
from analytics.rollups.models import OpDaily
from audit.models import AuditEntry
from console.rollout import cohort_facts
from tests.support.console.admin_pages import read_text
from tests.support.console.staff import sign_in
from tests.support.loops import for_each

pytestmark = pytest.mark.django_db

AT = datetime.now(UTC)


@pytest.fixture
def cohort() -> Cohort:
    Subject.objects.bulk_create(Subject(subject=f"user-{number}", seen_at=AT) for number in range(200))
    return Cohort.objects.create(name="pilot", flag_id=FlagKey.SURFACE, variant="hybrid", percentage=5)


@pytest.fixture
def manager_client(db: None) -> HttpClient:
    return sign_in("pia", role="Product manager")


def write_figures(*, failed: int, others_failed: int) -> None:
    for name, invalid in (("pilot", failed), ("", others_failed)):
        OpDaily.objects.create(
            op="onto.task.get", day=AT.date(), release="r", cohort=name, calls=500, invalid=invalid, is_settled=True
        )


def take_step(http: HttpClient, cohort: Cohort, step: str, *, seen: str = "5%") -> str:
    url = reverse("admin:analytics_cohort_step", args=[cohort.pk])
    response = http.post(url, {"step": step, "seen": seen}, follow=True)
    return read_text(response)


def read_page(http: HttpClient, cohort: Cohort) -> str:
    return read_text(http.get(reverse("admin:analytics_cohort_change", args=[cohort.pk])))


@pytest.mark.both_databases
def test_page_says_to_widen_and_does_it_in_one_click(manager_client: HttpClient, cohort: Cohort) -> None:
    write_figures(failed=10, others_failed=80)

    page = read_page(manager_client, cohort)
    answer = take_step(manager_client, cohort, "25")

    assert "than users in no cohort" in page
    assert "Widen it." in page
    assert "Widen to 25%</button>" in page
    assert "of last week&#x27;s 200 users move from" in page
    assert "pilot is at 25% now; before, it was at 5%." in answer
    cohort.refresh_from_db()
    assert cohort.percentage == 25
    entry = AuditEntry.objects.get(kind="cohort")
    assert (entry.by, entry.changes) == ("pia", {"percentage": [5.0, 25.0]})


def test_page_offers_only_to_stop_what_got_worse(manager_client: HttpClient, cohort: Cohort) -> None:
    write_figures(failed=80, others_failed=10)

    page = read_page(manager_client, cohort)
    answer = take_step(manager_client, cohort, "stop")

    assert "Stop or narrow it." in page
    assert "Widen to" not in page
    assert "pilot is off now" in answer
    cohort.refresh_from_db()
    assert (cohort.is_on, cohort.percentage) == (False, 5)
    assert "It is off." in read_page(manager_client, cohort)
    assert "Stop pilot" not in read_page(manager_client, cohort)


@pytest.mark.both_databases
def test_step_changes_nothing_if_somebody_else_was_faster(manager_client: HttpClient, cohort: Cohort) -> None:
    Cohort.objects.update(percentage=50)

    assert "pilot was changed in the meantime and is now at 50%." in take_step(manager_client, cohort, "25")
    assert Cohort.objects.get().percentage == 50
    assert not AuditEntry.objects.exists()

    Cohort.objects.update(is_on=False)
    assert "and is now off" in take_step(manager_client, cohort, "100", seen="50%")
    assert Cohort.objects.get().percentage == 50


@for_each("step", ["", "7", "-5", "x"])
def test_unknown_step_is_refused(manager_client: HttpClient, cohort: Cohort, step: str) -> None:
    url = reverse("admin:analytics_cohort_step", args=[cohort.pk])

    assert manager_client.post(url, {"step": step, "seen": "5%"}).status_code == 404
    assert manager_client.get(url).status_code == 405
    assert Cohort.objects.get().percentage == 5


def test_only_those_who_may_change_cohorts_take_steps(cohort: Cohort) -> None:
    client = sign_in("una", role="Auditor")
    write_figures(failed=10, others_failed=80)

    page = read_page(client, cohort)

    assert "Widen it." in page
    assert "Widen to 25%</button>" not in page
    url = reverse("admin:analytics_cohort_step", args=[cohort.pk])
    assert client.post(url, {"step": "25", "seen": "5%"}).status_code == 403


@for_each(
    "percentage, advice, labels",
    [
        (0, Advice.WIDEN, ["Widen to 5%", "Stop pilot"]),
        (12.5, Advice.WAIT, ["Widen to 25%", "Stop pilot"]),
        (50, Advice.STOP, ["Stop pilot"]),
        (100, Advice.WIDEN, ["Stop pilot"]),
    ],
)
def test_steps_follow_from_the_verdict(cohort: Cohort, percentage: float, advice: Advice, labels: list[str]) -> None:
    Cohort.objects.update(percentage=percentage)
    cohort.refresh_from_db()

    assert [each.label for each in cohort_facts.list_steps(cohort, advice)] == labels
