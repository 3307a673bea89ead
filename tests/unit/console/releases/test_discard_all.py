"""After a rollback the console asks whether the draft keeps the changes that were taken back."""

import html

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from audit.models import AuditEntry
from registry.models import Group, Op, Release
from registry.releases import lifecycle, publishing, stored_releases
from tests.support.console.admin_pages import get_registry_url, read_text
from tests.support.console.staff import sign_in
from tests.support.rows.copy_rows import change_row, make_op

pytestmark = pytest.mark.django_db

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture
def newer(published: Release) -> Release:
    change_row(Op.objects.get(), summary="Newer")
    make_op("onto.task.copy", tool_name="copy_task")
    release = publishing.publish_draft(note="Newer", by="ann", at=timezone.now())
    lifecycle.name_release(release, name=HOSTILE, labels=[], by="ann", at=timezone.now())
    return release


def run_action(client: Client, action: str, release: Release) -> HttpResponse:
    url = reverse(f"admin:registry_release_{action}", args=[release.pk])
    return client.post(url, {"note": "Back", "reason": "Back"}, follow=True)


def answer(client: Client, taken_back: Release, what: str, **fields: str) -> HttpResponse:
    url = f"{reverse('admin:registry_release_discard_all')}?taken_back={taken_back.pk}"
    form = {"seen": client.get(url).context["seen"], "discard": what} | fields
    return client.post(url, form, follow=True)


def test_rollback_asks_whether_to_keep_what_was_taken_back(
    admin_client: Client, published: Release, newer: Release
) -> None:
    page = read_text(run_action(admin_client, "make_live", published))

    assert "Keep or discard unpublished changes" in page
    assert "Your draft differs from it: <strong>2 ops</strong>." in page
    assert f'All of them come from <a href="{get_registry_url(Release, "change", newer.pk)}">r2' in page
    assert "If you publish the draft, they come back." in page
    assert "Discard all 2 changes" in page
    assert "Discard only" not in page
    assert reverse("admin:registry_release_review") in page
    assert HOSTILE not in page
    assert html.escape(HOSTILE) in page


@pytest.mark.both_databases
def test_discarding_sets_the_draft_to_what_is_live(admin_client: Client, published: Release, newer: Release) -> None:
    run_action(admin_client, "make_live", published)

    page = read_text(answer(admin_client, newer, "all"))

    assert "Reset to the live release: 2 ops." in page
    assert publishing.compute_draft_version() == published.version
    assert stored_releases.get_live_release() == published
    notes = AuditEntry.objects.filter(kind="op", note__startswith="Discarded").values_list("by", "name")
    assert set(notes) == {("admin", "onto.task.add"), ("admin", "onto.task.copy")}
    assert "Nothing to discard." in read_text(admin_client.get(reverse("admin:registry_release_discard_all")))
    assert "Keep or discard" not in read_text(run_action(admin_client, "withdraw", newer))


def test_edits_of_other_entries_can_be_kept(admin_client: Client, published: Release, newer: Release) -> None:
    change_row(Group.objects.get(path="onto"), summary="Since then")
    asked = read_text(run_action(admin_client, "make_live", published))
    assert "Of these, 2 ops come from" in asked
    assert "<td>–</td>" in asked

    answer(admin_client, newer, "from_release")

    assert Group.objects.get(path="onto").summary == "Since then"
    assert list(Op.objects.values_list("op", "summary")) == [("onto.task.add", "Add onto.task.add")]


def test_nothing_is_discarded_that_the_user_did_not_see(
    admin_client: Client, published: Release, newer: Release
) -> None:
    run_action(admin_client, "make_live", published)
    seen = admin_client.get(reverse("admin:registry_release_discard_all")).context["seen"]
    change_row(Group.objects.get(path="onto"), summary="Since then")

    page = read_text(answer(admin_client, newer, "all", seen=seen))

    assert "Nothing was discarded. The draft or the live release has changed since you saw this page." in page
    assert Op.objects.count() == 2


def test_withdrawal_asks_if_the_draft_has_changes_of_that_release(
    admin_client: Client, published: Release, newer: Release
) -> None:
    lifecycle.activate_release(version=published.version, note="Back", by="ann", at=timezone.now())

    page = read_text(run_action(admin_client, "withdraw", newer))

    assert "Discard all 2 changes" in page


@pytest.mark.both_databases
def test_withdrawal_of_an_older_release_raises_no_question_about_new_edits(
    admin_client: Client, published: Release, newer: Release
) -> None:
    change_row(Group.objects.get(path="onto"), summary="Since then")

    assert "Keep or discard" not in read_text(run_action(admin_client, "withdraw", published))


def test_user_who_may_not_edit_the_draft_is_not_asked(published: Release, newer: Release) -> None:
    client = sign_in("publisher", permissions=["view_release", "add_release"])

    assert "Keep or discard" not in read_text(run_action(client, "make_live", published))
    assert client.get(reverse("admin:registry_release_discard_all")).status_code == 403


def test_review_leads_to_discarding_all_and_back(admin_client: Client, published: Release) -> None:
    change_row(Op.objects.get(), summary="Other")
    url, review_url = reverse("admin:registry_release_discard_all"), reverse("admin:registry_release_review")
    review, page = admin_client.get(review_url), admin_client.get(url)

    done = admin_client.post(url, {"seen": page.context["seen"], "discard": "all"})

    assert f'href="{url}">Discard the change</a>' in read_text(review)
    assert f'href="{review_url}">Keep the draft' in read_text(page)
    assert done.headers["Location"] == review_url


def test_an_editor_discards_own_changes_and_keeps_those_of_others(admin_client: Client, published: Release) -> None:
    change_row(Group.objects.get(path="onto"), summary="By ann")
    change_row(Op.objects.get(), summary="By admin", by="admin")
    url = reverse("admin:registry_release_discard_all")

    page = admin_client.get(url)
    admin_client.post(url, {"seen": page.context["seen"], "discard": "own"})

    assert "Discard only your change" in read_text(page)
    assert (Group.objects.get(path="onto").summary, Op.objects.get().summary) == ("By ann", "Add onto.task.add")
    assert "Discard only your" not in read_text(admin_client.get(url))


def test_an_entry_that_somebody_else_changed_too_is_not_ones_own(admin_client: Client, published: Release) -> None:
    change_row(Op.objects.get(), summary="By ann")
    change_row(Op.objects.get(), summary="By admin", by="admin")
    change_row(Group.objects.get(path="onto"), summary="By admin", by="admin")

    assert admin_client.get(reverse("admin:registry_release_discard_all")).context["own"] == 1
