"""Release to a cohort first: some users read the draft before everyone does."""

from decimal import Decimal
from typing import Any
from unittest.mock import Mock

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from analytics.flags import FlagKey
from analytics.rollout import assignment
from analytics.rollout.models import Cohort, Flag
from audit.models import AuditEntry
from registry.catalog import cache
from registry.evals import evaluation
from registry.models import Op, Release
from registry.releases import lifecycle, publishing, stored_releases
from registry.reviews import cohort_release
from registry.reviews.approval import ApprovalMissing
from registry.reviews.cohort_release import CohortPlan, CohortRefused
from tests.support.clients.api import Api
from tests.support.console.admin_pages import read_text

PATH = "onto.task.update"
NEW = "Change one task, also its date"


def edit_draft(summary: str = NEW) -> None:
    Op.objects.filter(op=PATH).update(summary=summary)


def release_to(name: str = "pilot", percentage: int = 0, listed: tuple[str, ...] = ("ann",), **options: Any) -> Cohort:
    plan = CohortPlan(name, Decimal(percentage), listed)
    return cohort_release.release_draft_to_cohort(plan, note="Try it", by="mia", at=timezone.now(), **options)[1]


def read_summary(api: Api, subject: str) -> Any:
    assignment.refresh_rollout()
    cache.refresh_live()
    return api.get(f"help?path={PATH}", Gateway_Subject=subject).json()["summary"]


def send_review(http: Client, **fields: str) -> Any:
    url = reverse("admin:registry_release_review")
    seen = http.get(url).context["review"].seen
    return http.post(url, {"seen": seen, "note": "Clearer", "when": "cohort", **fields}, follow=True)


def test_a_rollback_does_not_wait_for_eval_cases(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    earlier = stored_releases.get_live_release()
    edit_draft()
    publishing.publish_draft(note="New", by="mia", at=timezone.now(), accepted="Test")
    monkeypatch.setattr(evaluation, "compare_with_live", Mock(side_effect=AssertionError("not needed")))

    cohort_release.make_live(earlier, ends_cohorts=False, note="Back", by="mia", at=timezone.now())

    assert stored_releases.is_live(earlier.version)


@pytest.mark.both_databases
def test_a_cohort_reads_the_draft_first_and_then_everyone_does(api: Api, admin_client: Client) -> None:
    before = read_summary(api, "ann")
    edit_draft()

    page = send_review(admin_client, cohort="pilot", share="0", listed="ann\nbob", is_guarded="on")

    assert "r2 is released to the cohort pilot (2 listed). All others stay on the live release." in read_text(page)
    assert [read_summary(api, subject) for subject in ("ann", "bob", "eve")] == [NEW, NEW, before]
    cohort = Cohort.objects.get(name="pilot")
    assert (cohort.is_on, cohort.is_guarded, cohort.percentage, cohort.note) == (True, True, 0, "Clearer")
    review = read_text(admin_client.get(reverse("admin:registry_release_review")))
    assert ", which only" in review
    assert "Make live for everyone</a>" in review
    make_live_url = reverse("admin:registry_release_make_live", args=[cohort.variant])
    assert page.context["make_live_url"] == make_live_url
    form = admin_client.get(make_live_url)
    assert "Turn off pilot" in read_text(form)
    assert "All users will read it" in read_text(form)  # those of the cohort, too, whose release it is
    assert form.context["form"]["note"].value() == "Clearer"

    done = admin_client.post(make_live_url, {"note": "Better", "ends_cohorts": "on"}, follow=True)

    assert "Release r2 is live, and pilot off." in read_text(done)
    assert [read_summary(api, subject) for subject in ("ann", "eve")] == [NEW, NEW]
    cohort.refresh_from_db()
    assert not cohort.is_on
    entries = AuditEntry.objects.filter(kind__in=["release", "cohort"]).order_by("id")
    assert [(each.kind, each.action) for each in entries][-4:] == [
        ("cohort", "added"),
        ("release", "released"),
        ("release", "published"),
        ("cohort", "changed"),
    ]


def test_the_review_page_suggests_a_cohort_and_keeps_what_was_typed(api: Api, admin_client: Client) -> None:
    edit_draft()
    form = admin_client.get(reverse("admin:registry_release_review")).context["cohort_form"]
    assert (form["cohort"].value(), form["share"].value(), form["is_guarded"].value()) == ("r2-first", "5", True)

    for fields, field, problem in (
        ({"cohort": "Not a name", "share": "5"}, "cohort", "Use lower-case letters"),
        ({"cohort": "pilot", "share": "0"}, "listed", "List at least one user, or choose a share."),
        ({"cohort": "pilot", "share": "77"}, "share", "77 is not one of the available choices"),
    ):
        answer = send_review(admin_client, **fields)

        assert problem in answer.context["cohort_form"].errors[field][0]
        assert answer.context["form"]["note"].value() == "Clearer"
    assert (Cohort.objects.count(), Release.objects.count()) == (0, 1)


def test_the_suggested_name_is_of_the_release_that_the_draft_already_is(api: Api, admin_client: Client) -> None:
    first = stored_releases.get_live_version()
    edit_draft()
    publishing.publish_draft(note="Clearer", by="ann", at=timezone.now(), accepted="Test")
    lifecycle.activate_release(version=first, note="Back", by="ann", at=timezone.now())

    form = admin_client.get(reverse("admin:registry_release_review")).context["cohort_form"]

    assert form["cohort"].value() == "r2-first"


def test_a_cohort_of_releases_moves_to_the_new_release(api: Api) -> None:
    edit_draft("First try")
    first = release_to(percentage=10)
    edit_draft("Second try")

    second = release_to(percentage=25, listed=("ann", "bob"))

    assert first.pk == second.pk
    assert (second.variant, second.percentage, second.listed) == (
        publishing.compute_draft_version(),
        25,
        ["ann", "bob"],
    )
    assert read_summary(api, "bob") == "Second try"


def test_a_cohort_that_nobody_would_read_through_is_refused(api: Api, settings: Any) -> None:
    with pytest.raises(CohortRefused, match="which everyone reads already"):
        release_to()
    edit_draft()
    Cohort.objects.create(name="surfaces", flag_id=FlagKey.SURFACE, variant="gateway", percentage=5)
    for options, problem in (
        ({"name": "surfaces"}, "surfaces is a cohort of"),
        ({"listed": ()}, "Choose a share, or list users"),
        ({"percentage": 101}, "less than or equal to 100"),
        ({"name": "Über"}, "lower-case letters"),
    ):
        with pytest.raises(CohortRefused, match=problem):
            release_to(**options)
    Flag.objects.filter(pk=FlagKey.RELEASE).update(is_on=False)
    with pytest.raises(CohortRefused, match="Switch it on first"):
        release_to()
    settings.GATEWAY_REVIEW_REQUIRED = True
    AuditEntry.objects.create(time=timezone.now(), by="mia", kind="op", name=PATH, action="changed", changes={"x": []})
    with pytest.raises(ApprovalMissing):
        release_to()
    assert Release.objects.count() == 1


def test_a_withdrawn_release_is_not_released_to_a_cohort(api: Api) -> None:
    edit_draft()
    cohort = release_to()
    lifecycle.withdraw_release(version=cohort.variant, reason="Wrong", by="mia", at=timezone.now())

    with pytest.raises(lifecycle.AlreadyWithdrawn):
        release_to()


def test_the_command_releases_to_a_cohort_and_then_to_everyone(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    edit_draft()
    call_command("catalog", "release", "--cohort", "pilot", "--percentage", "1", "--user", "ann", "--note", "Try it")
    printed = capsys.readouterr().out
    cohort = Cohort.objects.get(name="pilot")
    assert f"Release {cohort.variant[:12]} is on the cohort pilot: 1% and 1 users." in printed
    assert (cohort.percentage, cohort.listed, cohort.is_guarded) == (1, ["ann"], True)

    call_command("catalog", "release", "--cohort", "pilot", "--everyone", "--note", "Good")

    assert "is live for everyone. Turned off: pilot." in capsys.readouterr().out
    assert stored_releases.is_live(cohort.variant)
    for name, problem in (("pilot", "is already live"), ("other", "There is no cohort other")):
        with pytest.raises(CommandError, match=problem):
            call_command("catalog", "release", "--cohort", name, "--everyone", "--note", "Again")
