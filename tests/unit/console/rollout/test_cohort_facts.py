"""What a cohort's page says above its form, and the next step that it offers."""

from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client as HttpClient
from django.urls import reverse

from analytics.events.models import OperationEvent
from analytics.flags import FlagKey
from analytics.reports.verdicts import Advice
from analytics.rollout import guardrails
from analytics.rollout.models import Assignment, Cohort, Subject
from analytics.rollups.models import OpDaily
from audit import audit_log
from audit.models import AuditEntry
from console.rollout import cohort_facts
from tests.support.console.admin_pages import read, read_text
from tests.support.console.staff import sign_in
from tests.support.loops import for_each

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db]

AT = datetime.now(UTC)


@pytest.fixture
def followed() -> Cohort:
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
    return read(http.get(reverse("admin:analytics_cohort_change", args=[cohort.pk])))


def test_cohort_page_compares_it_with_everyone_else_and_shows_its_exposures(
    admin_client: HttpClient, followed: Cohort
) -> None:
    page = read_page(admin_client, followed)

    assert "<strong>Failure rate</strong>: 2.5% of 200, others 20% of 200. Better: " in page
    assert "Not enough data: 0 of 50 turns with a call." in page
    assert "pilot, 2 to 4." in page  # the chart's description: two users before the period, four by its end
    assert "pilot: 5% → 25%" in page  # the chart's table
    assert "pia: 5% → 25%" in page


def test_cohort_page_shows_no_figures_to_those_who_may_not_see_them(followed: Cohort) -> None:
    page = read_page(sign_in("una", permissions=["view_cohort", "change_cohort"]), followed)

    for heading in ("Compared with everyone else", "Exposed users", "Changes</h2>"):
        assert heading not in page


def add_calls(cohort: str, *, failed: int, total: int) -> None:
    for number in range(total):
        error = {"ok": False, "status": 400, "code": "NOT_FOUND"} if number < failed else {"ok": True, "status": 200}
        fields = {"type": "exec", "op": "onto.task.get", "latency_ms": 1.0, "time": AT + timedelta(seconds=1)}
        OperationEvent.objects.create(**fields, **error, cohort=cohort)


def test_cohort_page_shows_what_its_guardrail_sees_and_what_it_did(admin_client: HttpClient, followed: Cohort) -> None:
    assert "Stops automatically" not in read_page(admin_client, followed)
    followed.is_guarded = True
    followed.save()
    add_calls("pilot", failed=1, total=20)
    later = AT + timedelta(minutes=1)

    page = cohort_facts.describe_guardrail(followed, later)
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
        (0, Advice.WIDEN, ["Widen to 1%", "Stop pilot"]),
        (12.5, Advice.WAIT, ["Widen to 25%", "Stop pilot"]),
        (50, Advice.STOP, ["Stop pilot"]),
        (100, Advice.WIDEN, ["Stop pilot"]),
    ],
)
def test_steps_follow_from_the_verdict(cohort: Cohort, percentage: float, advice: Advice, labels: list[str]) -> None:
    Cohort.objects.update(percentage=percentage)
    cohort.refresh_from_db()

    assert [each.label for each in cohort_facts.list_steps(cohort, advice)] == labels
