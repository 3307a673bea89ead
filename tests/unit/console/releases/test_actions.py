"""Release actions: a page says what will happen, one click does it, and invalid actions are refused."""

from datetime import timedelta
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from analytics.flags import FlagKey
from analytics.rollout.models import Cohort, Flag
from registry.models import Activation, Op, Release
from registry.releases import publishing, stored_releases
from tests.support.console.admin_pages import get_registry_url, read_text
from tests.support.rows.copy_rows import make_op

pytestmark = pytest.mark.django_db


def get_action_url(step: str, release: Release, **query: str) -> str:
    return reverse(f"admin:registry_release_{step}", args=[release.pk], query=query)


def submit_action(client: Client, step: str, release: Release, op: str = "", **fields: Any) -> HttpResponse:
    there = get_action_url(step, release, **({"op": op} if op else {}))
    page = client.get(there)
    form = page.context["form"].initial | {"note": "Back", "seen": page.context.get("seen", "")} | fields
    return client.post(there, form, follow=True)


def test_older_release_is_made_live_after_one_confirmation(
    admin_client: Client, published: Release, newer: Release
) -> None:
    page = read_text(admin_client.get(get_action_url("make_live", published)))
    assert "This release replaces the live release within two seconds" in page
    assert "1 op." in page
    assert "Other</del>" in page
    assert stored_releases.get_live_release() == newer

    page_text = read_text(submit_action(admin_client, "make_live", published, note="The words were better"))

    now = Activation.objects.get(is_live=True)
    assert (now.release, now.note, now.activated_by) == (published, "The words were better", "admin")
    assert f"Release {published.short_name} is live." in page_text


def test_release_gets_a_name_and_labels(admin_client: Client, published: Release) -> None:
    submit_action(admin_client, "name", published, name="Clearer <b>words", labels="quarter-4\nreviewed")

    published.refresh_from_db()
    assert (published.name, published.labels) == ("Clearer <b>words", ["quarter-4", "reviewed"])
    page = admin_client.get(get_registry_url(Release, "changelist")).content.decode()
    assert "r1 Clearer &lt;b&gt;words" in page
    assert '<span class="ui-tag">quarter-4</span>' in page
    form = admin_client.get(get_action_url("name", published)).content.decode()
    assert "quarter-4\nreviewed</textarea>" in form
    assert "Clearer &lt;b&gt;words" in form


def test_release_is_withdrawn_with_a_reason(admin_client: Client, published: Release, newer: Release) -> None:
    assert "can never be live again" in read_text(admin_client.get(get_action_url("withdraw", published)))
    assert "Write a few words: why nobody" in read_text(submit_action(admin_client, "withdraw", published, reason=" "))

    page_text = read_text(submit_action(admin_client, "withdraw", published, reason="It told lies"))

    published.refresh_from_db()
    assert (published.withdrawn_by, published.withdrawn_reason) == ("admin", "It told lies")
    assert "no longer served" in page_text
    for step in ("make_live", "withdraw"):
        refused = read_text(admin_client.post(get_action_url(step, published), {"note": "x", "reason": "x"}))
        assert "This is not possible." in refused
        assert "It told lies" in refused
    assert stored_releases.get_live_release() == newer


def test_restore_writes_a_whole_release_into_the_draft(
    admin_client: Client, published: Release, newer: Release
) -> None:
    page = read_text(admin_client.get(get_action_url("restore", published)))
    assert "The live release stays until you publish" in page
    assert "Other</del>" in page

    page_text = read_text(submit_action(admin_client, "restore", published))

    assert f"Restored release {published.short_name} into the draft: 1 op." in page_text
    assert publishing.compute_draft_version() == published.version
    assert stored_releases.get_live_release() == newer
    assert "No changes." in read_text(admin_client.get(get_action_url("restore", published)))
    assert "The draft already has this content." in read_text(submit_action(admin_client, "restore", published))


def test_restore_writes_one_op_of_a_release_into_the_draft(
    admin_client: Client, published: Release, newer: Release
) -> None:
    other = make_op("onto.task.other", tool_name="other_task")
    page = read_text(admin_client.get(get_action_url("restore", published, op="onto.task.add")))
    assert "Only <strong>onto.task.add</strong> is restored." in page
    assert "1 op." in page

    page_text = read_text(submit_action(admin_client, "restore", published, op="onto.task.add"))

    assert f"Restored onto.task.add from release {published.short_name} into the draft." in page_text
    assert Op.objects.get(op="onto.task.add").summary == "Add onto.task.add"
    assert Op.objects.filter(pk=other.pk).exists()
    for method in (admin_client.get, admin_client.post):
        assert method(get_action_url("restore", published, op="nothing")).status_code == 404


def test_action_asks_for_another_review_when_the_draft_was_edited_meanwhile(
    admin_client: Client, published: Release, newer: Release
) -> None:
    version = admin_client.get(get_action_url("restore", published)).context["seen"]
    Op.objects.update(summary="Meanwhile")

    page_text = read_text(submit_action(admin_client, "restore", published, seen=version))

    assert "The draft has changed since you reviewed it." in page_text
    assert Op.objects.get().summary == "Meanwhile"


def test_page_of_a_rollback_asks_why_and_leads_back(admin_client: Client, published: Release, newer: Release) -> None:
    url, home = get_action_url("make_live", published), reverse("admin:index")

    page = admin_client.get(url, headers={"Referer": f"http://testserver{home}"})

    assert page.context["form"]["note"].label == "What went wrong?"
    assert page.context["form"]["note"].value() is None
    assert f'href="http://testserver{home}">Cancel</a>' in read_text(page)
    release_url = get_registry_url(Release, "change", published.pk)
    for other in ("https://evil.example/admin/", f"http://testserver{url}", "http://testserver/chat/", ""):
        assert admin_client.get(url, headers={"Referer": other}).context["cancel_url"] == release_url


def test_releases_are_sorted_by_number_and_name_their_cohort(
    admin_client: Client, published: Release, newer: Release
) -> None:
    Release.objects.filter(pk=newer.pk).update(created_at=published.created_at - timedelta(days=9))
    flag = Flag.objects.get(key=FlagKey.RELEASE)
    Cohort.objects.create(name="pilot", flag=flag, variant=published.version, listed=["ann"], salt="x")

    page = admin_client.get(get_registry_url(Release, "changelist"))

    assert [row.number for row in page.context["cl"].result_list] == [2, 1]
    assert "read by the cohort pilot" in read_text(page)
