"""Texts of the review page: a note made from the changes, and what comes after publishing."""

import pytest
from django.test import Client
from django.urls import reverse

from console.releases import release_texts
from registry.models import Op, Release
from registry.snapshot.copy_kinds import Kind
from registry.snapshot.diff import Action, CopyChange
from tests.support.console.admin_pages import read_text
from tests.support.rows.copy_rows import change_row, make_op

ADDED = CopyChange(Kind.OP, "onto.task.copy", Action.ADDED)
REMOVED = CopyChange(Kind.GROUP, "crm", Action.REMOVED)


def make_change(*fields: str) -> CopyChange:
    return CopyChange(Kind.OP, "onto.task.add", Action.CHANGED, dict.fromkeys(fields, ("a", "b")))


@pytest.mark.parametrize(
    ("changes", "note"),
    [
        ([make_change("summary")], "Change summary of onto.task.add"),
        ([make_change("summary", "argument_aliases")], "Change summary and argument aliases of onto.task.add"),
        ([make_change("a", "b", "c"), REMOVED], "Change 3 fields of onto.task.add, remove crm"),
        (
            [CopyChange(Kind.GROUP, "onto", Action.ADDED), ADDED, ADDED, ADDED, REMOVED],
            "Add onto: 3 ops and 1 group, remove 1 group",
        ),
        ([ADDED, ADDED, ADDED, make_change("a"), REMOVED], "Add 3 ops, change 1 op, remove 1 group"),
    ],
)
def test_note_is_made_from_the_changes(changes: list[CopyChange], note: str) -> None:
    assert release_texts.suggest_note(changes) == note


@pytest.mark.django_db
def test_published_release_can_be_watched_and_rolled_back(admin_client: Client, published: Release) -> None:
    change_row(Op.objects.get(), by="admin", summary="Changed")
    url = reverse("admin:registry_release_review")
    page = admin_client.get(url)
    assert "Suggestion: <span>Change summary of onto.task.add</span>" in read_text(page)
    assert "Discard your 1 change</a>" in read_text(page)
    make_op("onto.task.copy")
    admin_client.post(url, {"step": "select", "change": ["op:onto.task.add"]})
    page = admin_client.get(url)
    assert "Discard changes…</a>" in read_text(page)

    form = {"seen": page.context["review"].seen, "note": "Words"}
    told = read_text(admin_client.post(url, form, follow=True))

    assert "Release r2 is live with 1 ops." in told
    assert f'{reverse("admin:registry_release_make_live", args=[published.pk])}">Roll back</a>' in told
    assert ">Watch it</a>" in told
    assert ">Review 1 more change</a>" in told
