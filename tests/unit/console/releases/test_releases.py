"""Releases in the console: what was live when, and how releases are shown, read and compared."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from console import diff_view
from registry.models import Activation, Op, Release, ScheduledPublish
from registry.releases import lifecycle, publishing, selection
from tests.support.console.admin_pages import get_registry_url, read_text
from tests.support.rows.copy_rows import change_row, make_op

pytestmark = pytest.mark.django_db

HOSTILE = "<img src=x onerror=alert(1)>"


def publish(note: str, **fields: Any) -> Release:
    Op.objects.update(**fields)
    return publishing.publish_draft(note=note, by="ann", at=timezone.now())


def test_release_list_shows_state_and_note_of_each(admin_client: Client, published: Release, newer: Release) -> None:
    publish("Once more", summary="Third")
    lifecycle.activate_release(version=published.version, note="Back", by="ann", at=timezone.now())
    lifecycle.withdraw_release(version=newer.version, reason="Wrong", by="ann", at=timezone.now())

    rows = [
        row
        for row in admin_client.get(get_registry_url(Release, "changelist")).content.decode().split("<tr")
        if "field-state" in row
    ]

    names = [re.findall(r'<span title="\w{64}">(r\d+)', row)[0] for row in rows]
    assert names == ["r3", "r2", "r1"]
    assert "was live" in rows[0]
    assert "Test" in rows[2]  # not "Back", which says why it is live again
    assert "withdrawn" in rows[1]
    assert "Better words" in rows[1]
    assert sum(">live<" in row for row in rows) == 1


def test_timeline_shows_what_was_live_when_and_links_to_it(
    admin_client: Client, published: Release, newer: Release
) -> None:
    lifecycle.activate_release(version=published.version, note="Back", by="ben", at=timezone.now())

    page = admin_client.get(get_registry_url(Activation, "changelist"))

    rows: Any = page.context["cl"].result_list
    assert [each.note for each in rows] == ["Back", "Better words", "Test"]
    assert [each.until for each in rows] == [None, rows[0].activated_at, rows[1].activated_at]
    assert reverse("admin:registry_release_make_live", args=[newer.pk]) in read_text(page)
    assert f"?before={newer.pk}&amp;after={published.pk}" in read_text(page)
    assert "less than a minute, until now" in read_text(page)
    assert reverse("admin:registry_release_make_live", args=[published.pk]) not in read_text(page)  # it is live
    (lane,) = page.context["lanes"]
    assert [segment.label for segment in lane.segments] == ["r1", "r2", "r1"]


def test_timeline_shows_names_and_notes_as_text_and_what_comes_next(admin_client: Client, published: Release) -> None:
    lifecycle.name_release(published, name=HOSTILE, labels=[], by="ann", at=timezone.now())
    Activation.objects.update(note=HOSTILE, lost_because=HOSTILE)
    change_row(Op.objects.get(), summary="Changed")
    ScheduledPublish.objects.create(
        entries=selection.load_selection().hash_entries(),
        summary="2 ops",
        publish_at=timezone.now(),
        created_by="ada",
        created_at=timezone.now(),
    )

    page = read_text(admin_client.get(get_registry_url(Activation, "changelist")))

    assert HOSTILE not in page
    assert page.count("&lt;img src=x onerror=alert(1)&gt;") >= 3
    assert "Next: 2 ops, scheduled for" in page


def test_release_page_shows_its_state_and_actions(admin_client: Client, published: Release, newer: Release) -> None:
    old, live = (
        read_text(admin_client.get(get_registry_url(Release, "change", release.pk))) for release in (published, newer)
    )

    assert published.version in old
    assert '<span class="ui-breadcrumb" aria-current="page">r1</span>' in old
    assert "by tests, for" in old
    assert all(word in old for word in ("Compare with the draft", "Make live", "Withdraw", "Restore into the draft"))
    assert "until now: Better words" in live
    assert "../make-live/" not in live
    assert "../withdraw/" not in live
    assert "Accepted warnings" not in old


def test_ops_of_a_release_can_be_searched_by_path_and_paged(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diff_view, "PAGE_SIZE", 2)
    for name in ("a", "b", "ba"):
        make_op(f"onto.task.{name}", tool_name=f"{name}_task")
    release = publish("Three")

    def ops(**query: Any) -> list[str]:
        page = admin_client.get(get_registry_url(Release, "change", release.pk), query).context["page"]
        return [op for op, *_ in page]

    assert ops() == ["onto.task.a", "onto.task.b"]
    assert ops(p=2) == ["onto.task.ba"]
    assert ops(q="k.b") == ["onto.task.b", "onto.task.ba"]
    assert ops(q="<b>") == []


def test_op_page_shows_the_op_as_released(admin_client: Client, published: Release, newer: Release) -> None:
    op = Op.objects.get()
    address = reverse("admin:registry_release_read", args=[published.pk])

    page = admin_client.get(address, {"op": op.op})

    forms = {form: body for form, body, _ in page.context["answers"]}
    assert set(forms) == {"short", "full"}
    assert forms["full"]["summary"] == f"Add {op.op}"
    assert "Other</ins>" in read_text(page)
    assert "Restore this op into the draft" in read_text(page)
    of_newer = reverse("admin:registry_release_read", args=[newer.pk])
    assert "No changes." in read_text(admin_client.get(of_newer, {"op": op.op}))
    Op.objects.all().delete()
    assert "The draft no longer has this op." in read_text(admin_client.get(address, {"op": op.op}))
    lifecycle.withdraw_release(version=published.version, reason="Wrong", by="ann", at=timezone.now())
    assert len(admin_client.get(address, {"op": op.op}).context["answers"]) == 2


def test_pages_of_unknown_releases_and_ops_are_not_found(admin_client: Client, published: Release) -> None:
    for op in ("", "nothing", "onto.task.add\x7f"):
        address = reverse("admin:registry_release_read", args=[published.pk])
        assert admin_client.get(address, {"op": op}).status_code == 404, op
    for name in ("read", "make_live", "withdraw", "restore"):
        for version in ("abc", "0" * 64, "é"):
            assert admin_client.get(reverse(f"admin:registry_release_{name}", args=[version])).status_code == 404, name


def test_compare_page_compares_any_two_releases_and_the_draft(
    admin_client: Client, published: Release, newer: Release
) -> None:
    Op.objects.update(summary="Draft")

    def compare(before: str, after: str) -> str:
        return read_text(
            admin_client.get(reverse("admin:registry_release_compare"), {"before": before, "after": after})
        )

    assert "Other</ins>" in compare(published.pk, newer.pk)
    assert "Other</del>" in compare(newer.pk, published.pk)
    assert "Draft</ins>" in compare(newer.pk, "")
    assert "No differences." in compare(newer.pk, newer.pk)
    assert "Select a valid choice" in compare("0" * 64, "")
    assert "Better words" in compare("", "")


def test_release_page_leads_to_a_cohort_on_it_unless_it_was_withdrawn(
    admin_client: Client, published: Release, newer: Release
) -> None:
    url = reverse("admin:registry_release_change", args=[published.pk])
    add_url = f"{reverse('admin:analytics_cohort_add')}?flag=tool_release&amp;variant={published.pk}"

    form: Any = admin_client.get(add_url.replace("&amp;", "&")).context["adminform"].form

    assert add_url in admin_client.get(url).content.decode()
    assert form["variant"].value() == published.pk
    lifecycle.withdraw_release(version=published.version, reason="Wrong", by="ann", at=timezone.now())
    assert "Add a cohort with this release" not in admin_client.get(url).content.decode()
