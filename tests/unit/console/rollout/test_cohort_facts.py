"""What a cohort's page says above its form, and the next step that it offers."""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.test import Client as HttpClient
from django.urls import reverse

from analytics.experiments.cohorts import guardrail
from analytics.experiments.cohorts.verdicts import Advice
from analytics.flags import FlagKey
from analytics.reports.report_filter import NO_COHORT, ReportFilter
from analytics.rollout.models import Assignment, Cohort, Subject
from analytics.rollups.models import SubjectFigures
from audit import audit_log
from audit.models import AuditEntry
from console.rollout import cohort_facts, cohort_steps
from tests.support.console.admin_pages import read, read_text
from tests.support.console.staff import sign_in
from tests.support.loops import for_each
from tests.support.rows.experiment_rows import add_figures, create_experiment

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db]

AT = datetime.now(UTC)


@pytest.fixture
def followed() -> Cohort:
    add_figures("pilot", [0, 0, 0, 1] * 5, at=AT)
    add_figures("", [1, 2, 3, 2] * 5, at=AT)
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
    assert "Not enough data: 0 of 20 users." in page
    assert "pilot, 2 to 4." in page  # the chart's description: two users before the period, four by its end
    assert "pilot: 5% → 25%" in page  # the chart's table
    assert "pia: 5% → 25%" in page


def test_cohort_page_shows_no_figures_to_those_who_may_not_see_them(followed: Cohort) -> None:
    page = read_page(sign_in("una", permissions=["view_cohort", "change_cohort"]), followed)

    for heading in ("Compared with users in no cohort", "Exposed users", "Changes</h2>"):
        assert heading not in page


def add_subjects(cohort: str, users: int, failed: int, begin: datetime) -> None:
    """Add users who failed so often, or once more, out of ten calls since a change of the rollout."""
    SubjectFigures.objects.bulk_create(
        SubjectFigures(subject=f"{cohort}-{user}", begin=begin, cohort=cohort, calls=10, failed=failed, is_settled=True)
        for user in range(users)
    )


def test_cohort_page_shows_what_its_guardrail_sees_and_what_it_did(admin_client: HttpClient, followed: Cohort) -> None:
    assert "Stops automatically" not in read_page(admin_client, followed)
    followed.is_guarded = True
    followed.save()
    SubjectFigures.objects.all().delete()
    since = AT + timedelta(seconds=1)
    add_subjects("pilot", 8, 2, since)
    later = AT + timedelta(minutes=1)

    page = cohort_facts.describe_guardrail(followed, later)
    SubjectFigures.objects.all().delete()
    add_subjects("pilot", 30, 7, since)
    add_subjects("", 30, 1, since)
    guardrail.stop_worse_cohorts(later)
    stopped = read_page(admin_client, Cohort.objects.get())

    assert "Stops automatically once 20 users on both sides show that it is worse." in page
    assert page.endswith(" UTC: 8 users, and 0 others.")
    assert "Stopped automatically on " in stopped
    assert "Since the cohort last changed, 70% of the calls of 30 users failed, and 10% of the calls" in stopped
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
    """Write figures of 50 users on each side, of 10 calls each, of which so many failed in all."""
    for name, total in (("pilot", failed), ("", others_failed)):
        add_figures(name, [total // 50 + (number < total % 50) for number in range(50)], at=AT)


def take_step(http: HttpClient, cohort: Cohort, step: str, *, seen: str = "at 5%") -> str:
    url = reverse("admin:analytics_cohort_step", args=[cohort.pk])
    response = http.post(url, {"step": step, "seen": seen}, follow=True)
    return read_text(response)


def test_page_says_to_widen_and_does_it_in_one_click(manager_client: HttpClient, cohort: Cohort) -> None:
    write_figures(failed=10, others_failed=80)

    page = read_page(manager_client, cohort)
    answer = take_step(manager_client, cohort, "25")

    assert "than users in no cohort" in page
    assert "Widen it." in page
    assert re.search(r"Widen to 25%</summary>.*>Confirm</button>", page, re.DOTALL)
    assert "of last week&#x27;s 200 users move from" in page
    assert "pilot is at 25% (was at 5%)." in answer
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
    assert "pilot is stopped (was at 5%)." in answer
    cohort.refresh_from_db()
    assert (cohort.is_on, cohort.percentage) == (False, 5)
    assert "It is off." in read_page(manager_client, cohort)
    assert "Stop pilot" not in read_page(manager_client, cohort)
    assert "Start pilot again</summary>" in read_page(manager_client, cohort)


def test_step_can_be_undone_until_something_else_is_changed(manager_client: HttpClient, cohort: Cohort) -> None:
    url = reverse("admin:analytics_cohort_step", args=[cohort.pk])
    done = take_step(manager_client, cohort, "25")
    undo = {"step": "undo", "entry": re.findall(r'name="entry" value="(\d+)"', done)[0]}

    undone = read_text(manager_client.post(url, undo, follow=True))
    cohort.refresh_from_db()
    again = read_text(manager_client.post(url, undo, follow=True))

    assert "Undone: pilot is at 5%." in undone
    assert (cohort.is_on, cohort.percentage) == (True, 5)
    assert "Nothing was changed" in again
    take_step(manager_client, cohort, "guard")
    cohort.refresh_from_db()
    assert cohort.is_guarded


def test_cohort_that_reads_what_everyone_reads_has_no_verdict(manager_client: HttpClient, cohort: Cohort) -> None:
    write_figures(failed=10, others_failed=80)
    Cohort.objects.update(variant="legacy")

    page = read_page(manager_client, cohort)

    assert "pilot gets the default, legacy, like users in no cohort. There is nothing to compare." in page
    for text in ("Widen", "fewer failed calls", "Compared with"):
        assert text not in page
    sides = {"first": NO_COHORT, "second": "pilot"}
    report = read_text(manager_client.get(reverse("admin:report_comparison"), sides))
    assert "There is nothing to compare." in report


def test_page_counts_the_same_days_everywhere(manager_client: HttpClient, cohort: Cohort) -> None:
    add_figures("pilot", [0] * 12, at=AT)
    add_figures("", [0] * 50, at=AT)

    page = read_page(manager_client, cohort)

    assert "about 1 more day at this rate" in page
    assert "12 of 20 users; about 1 more day." in page


def test_step_widens_beyond_the_users_that_the_list_reaches(cohort: Cohort) -> None:
    cohort.listed = [f"user-{number}" for number in range(80)]  # 40% of those seen
    cohort.save()

    assert cohort_steps.list_steps(cohort, Advice.WIDEN)[0].label == "Widen to 50%"


def test_step_changes_nothing_if_somebody_else_was_faster(manager_client: HttpClient, cohort: Cohort) -> None:
    Cohort.objects.update(percentage=50)

    assert "pilot was changed in the meantime and is now at 50%." in take_step(manager_client, cohort, "25")
    assert Cohort.objects.get().percentage == 50
    assert not AuditEntry.objects.exists()

    Cohort.objects.update(is_on=False)
    assert "and is now off" in take_step(manager_client, cohort, "100", seen="at 50%")
    assert Cohort.objects.get().percentage == 50


def test_state_names_the_share_and_the_list() -> None:
    cohort = Cohort(name="pilot", percentage=0, listed=["ana", "ben"])
    assert cohort_steps.describe_state(cohort) == "on for 2 listed users"
    cohort.percentage = Decimal("12.5")
    assert cohort_steps.describe_state(cohort) == "at 12.5% and 2 listed users"


@for_each("step", ["", "7", "-5", "x"])
def test_unknown_step_is_refused(manager_client: HttpClient, cohort: Cohort, step: str) -> None:
    url = reverse("admin:analytics_cohort_step", args=[cohort.pk])

    assert manager_client.post(url, {"step": step, "seen": "at 5%"}).status_code == 404
    assert manager_client.get(url).status_code == 405
    assert Cohort.objects.get().percentage == 5


def test_only_those_who_may_change_cohorts_take_steps(cohort: Cohort) -> None:
    client = sign_in("una", role="Auditor")
    write_figures(failed=10, others_failed=80)

    page = read_page(client, cohort)

    assert "Widen it." in page
    assert "Widen to 25%" not in page
    url = reverse("admin:analytics_cohort_step", args=[cohort.pk])
    assert client.post(url, {"step": "25", "seen": "at 5%"}).status_code == 403


@for_each(
    "percentage, advice, labels",
    [
        (0, Advice.WIDEN, ["Give it to 1% of the users as well", "Stop pilot", "Turn on automatic stop"]),
        (12.5, Advice.WAIT, ["Widen to 25%", "Stop pilot", "Turn on automatic stop"]),
        (50, Advice.STOP, ["Stop pilot", "Turn on automatic stop"]),
        (50, None, ["Stop pilot", "Turn on automatic stop"]),
        (100, Advice.WIDEN, ["Stop pilot"]),
    ],
)
def test_steps_follow_from_the_verdict(
    cohort: Cohort, percentage: float, advice: Advice | None, labels: list[str]
) -> None:
    Cohort.objects.update(percentage=percentage)
    cohort.refresh_from_db()

    assert [each.label for each in cohort_steps.list_steps(cohort, advice)] == labels


def test_arm_of_an_experiment_has_no_verdict_beside_that_of_its_experiment() -> None:
    arm = create_experiment(AT, name="tools").list_arms()[1]
    add_figures("", [0] * 20, at=AT)
    add_figures(arm.name, [9] * 20, at=AT)

    verdict = cohort_facts.decide(arm, ReportFilter(AT), {})

    text = "tools-b is an arm of the experiment tools, whose page has the verdict."
    assert (verdict.box.text, verdict.advice) == (text, None)


def test_better_list_is_not_widened_but_given_to_others(manager_client: HttpClient, cohort: Cohort) -> None:
    Cohort.objects.filter(pk=cohort.pk).update(percentage=0, listed=["ana"])
    write_figures(failed=10, others_failed=80)

    page = read_page(manager_client, cohort)

    assert "Give it to a share of the other users as well." in page
    assert "Widen" not in page.replace("Widen step by step", "")
