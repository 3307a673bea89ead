"""A reviewed draft is published at a time: exactly that draft, or nothing, and the page says why."""

import html
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models.functions import Now
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from audit.models import AuditEntry
from notifications.models import Notification
from registry.models import Activation, Connection, Op, Release, ScheduledPublish
from registry.releases import lifecycle, publishing, stored_releases
from registry.reviews import scheduling
from tests.support.console.admin_pages import get_registry_url, read_text
from tests.support.rows.copy_rows import change_row, make_op

pytestmark = pytest.mark.django_db

URL = "admin:registry_release_review"
HOSTILE = "<img src=x onerror=alert(1)>"
LATER = timedelta(hours=2)


def change_op(summary: str) -> None:
    change_row(Op.objects.get(), by="ed", summary=summary)


def format_time(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M")


def schedule(client: Client, at: datetime | None = None, **fields: str) -> HttpResponse:
    form = {"seen": client.get(reverse(URL)).context["review"].seen, "note": "For the launch", "when": "later"}
    form["publish_at"] = format_time(at or timezone.now() + LATER)
    return client.post(reverse(URL), form | fields, follow=True)


def run_job(monkeypatch: pytest.MonkeyPatch, after: timedelta = LATER) -> ScheduledPublish:
    """Run the periodic job at a later time, and return the row as it is then."""
    monkeypatch.setattr(scheduling, "run_in_background", lambda _, work: work())
    scheduling.publish_when_due(timezone.now() + after)
    return ScheduledPublish.objects.get()


def end_leases() -> None:
    ScheduledPublish.objects.update(held_until=Now() - timedelta(seconds=1))


def test_reviewed_draft_is_published_at_its_time(
    admin_client: Client, changed: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = read_text(schedule(admin_client, note=HOSTILE))
    version = publishing.compute_draft_version()

    assert "if none of them has changed by then." in page
    assert f"Scheduled for {timezone.now() + LATER:%d}".replace(" 0", " ") in page
    assert html.escape(HOSTILE) in page
    assert HOSTILE not in page
    assert run_job(monkeypatch, LATER - timedelta(minutes=2)).state == "waiting"
    assert stored_releases.get_live_release() == changed

    assert run_job(monkeypatch).state == "published"

    live = Activation.objects.get(is_live=True)
    assert (live.release_id, live.note, live.activated_by) == (version, HOSTILE, "admin")
    entries = AuditEntry.objects.filter(kind__in=("schedule", "release"), by="admin").order_by("id")
    assert list(entries.values_list("kind", "action")) == [("schedule", "added"), ("release", "published")]


@pytest.mark.parametrize("cause", ["draft", "live"])
def test_changed_draft_is_not_published_and_the_page_says_why(
    admin_client: Client, changed: Release, monkeypatch: pytest.MonkeyPatch, settings: Any, cause: str
) -> None:
    settings.GATEWAY_SENDS_EMAIL = True
    User.objects.filter(username="admin").update(email="admin@acme.com")
    schedule(admin_client)
    if cause == "draft":
        change_op("Changed since")
        live = changed
    else:
        scheduled = publishing.compute_draft_version()
        change_op("Other")
        live = publishing.publish_draft(note="Other", by="ben", at=timezone.now())
        change_op("Changed")
        assert publishing.compute_draft_version() == scheduled
    assert "<strong>will not be published</strong>" in read_text(admin_client.get(reverse(URL)))
    assert "Will not be published" in read_text(admin_client.get(reverse("admin:registry_activation_changelist")))

    row = run_job(monkeypatch)

    assert stored_releases.get_live_release() == live
    assert row.state == "failed"
    page = read_text(admin_client.get(reverse(URL)))
    assert "Not published as scheduled" in page
    assert html.escape(row.reason) in page
    mail = Notification.objects.get()
    assert (mail.recipient, mail.event) == ("admin@acme.com", "schedule.failed")
    assert row.reason in mail.text
    assert AuditEntry.objects.filter(kind="schedule", action="failed", note=row.reason).exists()


@pytest.mark.both_databases
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda: Connection.objects.update(kind="gone"), ""),
        (lambda: User.objects.update(is_active=False), "admin can no longer publish."),
    ],
)
def test_checks_run_again_at_the_time(
    admin_client: Client, changed: Release, monkeypatch: pytest.MonkeyPatch, change: Callable[[], int], reason: str
) -> None:
    schedule(admin_client)
    assert "onto.task.add is scheduled for" in read_text(schedule(admin_client))
    change()

    row = run_job(monkeypatch)

    assert row.state == "failed"
    assert row.reason.startswith(reason)
    assert stored_releases.get_live_release() == changed


def test_scheduled_publish_is_cancelled(
    admin_client: Client, changed: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedule(admin_client)
    url, row = reverse("admin:registry_release_cancel_schedule"), ScheduledPublish.objects.get()

    page = read_text(admin_client.post(url, {"id": row.pk}, follow=True))

    assert "The scheduled publish is cancelled." in page
    assert run_job(monkeypatch).state == "cancelled"
    assert stored_releases.get_live_release() == changed
    assert "Nothing to cancel" in read_text(admin_client.post(url, {"id": row.pk}, follow=True))
    assert "cancelled" in read_text(admin_client.get(get_registry_url(ScheduledPublish, "changelist")))


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"publish_at": ""}, "Choose a day and a time."),
        ({"publish_at": "2020-01-01T10:00"}, "This time has passed."),
        ({"publish_at": "9999-01-01T10:00"}, "Choose a time within 90 days."),
        ({"note": ""}, "Write a few words: what changed, and why."),
        ({"seen": "0"}, "The draft has changed since you reviewed it."),
        ({"when": ""}, "To publish at this time, press Schedule."),
    ],
)
def test_invalid_time_is_refused_and_nothing_typed_is_lost(
    admin_client: Client, changed: Release, fields: dict[str, str], error: str
) -> None:
    page = read_text(schedule(admin_client, **{"note": "Typed text"} | fields))

    assert error in page
    assert "note" in fields or "Typed text</textarea>" in page
    assert not ScheduledPublish.objects.exists()
    assert stored_releases.get_live_release() == changed


@pytest.mark.both_databases
def test_publish_goes_on_after_its_process_died(
    admin_client: Client, changed: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedule(admin_client)
    monkeypatch.setattr(scheduling, "run_in_background", lambda *_: None)  # claimed, then nothing more happens
    scheduling.publish_when_due(timezone.now() + LATER)

    assert run_job(monkeypatch).state == "waiting"  # another process leaves it alone
    end_leases()
    assert run_job(monkeypatch).state == "published"


@pytest.mark.both_databases
def test_process_that_stood_still_does_not_change_the_end(
    admin_client: Client, changed: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedule(admin_client)
    stopped: list[Any] = []
    monkeypatch.setattr(scheduling, "run_in_background", lambda _, work: stopped.append(work))
    scheduling.publish_when_due(timezone.now() + LATER)
    publish, published = scheduling._publish, []

    def stand_still(*args: Any) -> str:
        if not published:
            published.append(1)
            end_leases()
            assert run_job(monkeypatch).state == "published"
            return "Something else stopped it."
        return publish(*args)

    monkeypatch.setattr(scheduling, "_publish", stand_still)
    stopped[0]()

    assert ScheduledPublish.objects.get().state == "published"
    assert Activation.objects.count() == 2


@pytest.mark.both_databases
def test_publish_that_is_cancelled_after_its_claim_is_not_done(
    admin_client: Client, changed: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedule(admin_client)
    claimed: list[Any] = []
    monkeypatch.setattr(scheduling, "run_in_background", lambda _, work: claimed.append(work))
    scheduling.publish_when_due(timezone.now() + LATER)
    assert scheduling.cancel_publish(ScheduledPublish.objects.get(), by="admin", at=timezone.now())

    claimed[0]()

    assert ScheduledPublish.objects.get().state == "cancelled"
    assert Activation.objects.count() == 1


@pytest.mark.both_databases
def test_publish_that_was_done_before_the_process_died_is_not_done_twice(
    admin_client: Client, changed: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedule(admin_client)
    publishing.publish_draft(note="Done", by="admin", at=timezone.now())

    assert run_job(monkeypatch).state == "published"
    assert Activation.objects.count() == 2


def test_unexpected_error_is_told_too(
    admin_client: Client, changed: Release, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    schedule(admin_client)

    def fail(**_: Any) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(lifecycle, "activate_release", fail)

    row = run_job(monkeypatch)

    assert (row.state, row.reason) == (
        "failed",
        "An error stopped it: RuntimeError. The log has more. Publish it by hand.",
    )
    assert "scheduled_publish.failed" in caplog.text


@pytest.mark.both_databases
def test_last_editor_needs_an_approval_to_schedule(admin_client: Client, changed: Release, settings: Any) -> None:
    settings.GATEWAY_REVIEW_REQUIRED = True
    change_op("By admin")
    AuditEntry.objects.filter(kind="op").update(by="admin")

    assert "Nobody else can publish: give somebody the role Admin" in read_text(schedule(admin_client))
    assert not ScheduledPublish.objects.exists()


def import_op() -> None:
    """Change the draft as an import of another op does."""
    make_op("onto.task.copy")


@pytest.mark.both_databases
def test_other_changes_void_no_schedule(
    admin_client: Client, changed: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedule(admin_client)
    import_op()
    page = read_text(admin_client.get(reverse(URL)))
    publishing.publish_draft(note="Import", by="ben", at=timezone.now(), only=[("op", "onto.task.copy")])

    row = run_job(monkeypatch)

    assert "will not be published" not in page
    assert (row.state, row.reason) == ("published", "")
    live = Activation.objects.get(is_live=True).release
    assert live.op_count == 2
    assert '"summary":"Changed"' in live.content


def test_a_draft_that_is_scheduled_as_a_whole_has_nothing_to_publish(admin_client: Client, changed: Release) -> None:
    page = read_text(schedule(admin_client))

    assert 'Every change of the draft is <a href="#scheduled">scheduled</a>.' in page
    assert "cannot be published" not in page
    assert 'id="publish-form"' not in page


def test_scheduled_entries_are_left_out_and_cannot_be_published_before(admin_client: Client, changed: Release) -> None:
    schedule(admin_client)
    import_op()
    context = admin_client.get(reverse(URL)).context
    assert [change.name for change in context["review"].changes] == ["onto.task.copy"]

    admin_client.post(reverse(URL), {"step": "select", "change": ["op:onto.task.add", "op:onto.task.copy"]})
    page = admin_client.get(reverse(URL))
    form = {"seen": page.context["review"].seen, "note": "All"}
    refused = read_text(admin_client.post(reverse(URL), form))

    assert "onto.task.add is scheduled for" in read_text(page)
    assert "Leave these changes out" in read_text(page)
    assert 'id="publish-form"' not in read_text(page)  # the notice and the button would contradict each other
    assert "Leave it out, or cancel the schedule." in refused
    assert stored_releases.get_live_release() == changed
    admin_client.post(reverse(URL), {"step": "leave_held"})
    assert [each.name for each in admin_client.get(reverse(URL)).context["review"].changes] == ["onto.task.copy"]


@pytest.mark.both_databases
def test_two_schedules_of_different_entries_are_both_published(
    admin_client: Client, changed: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedule(admin_client, note="First")
    import_op()
    schedule(admin_client, note="Second")
    monkeypatch.setattr(scheduling, "run_in_background", lambda _, work: work())

    for _ in range(2):
        scheduling.publish_when_due(timezone.now() + LATER)

    assert set(ScheduledPublish.objects.values_list("note", "state")) == {
        ("First", "published"),
        ("Second", "published"),
    }
    live = Activation.objects.get(is_live=True).release
    assert live.version == publishing.compute_draft_version()
