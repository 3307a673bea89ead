"""Admins edit eval cases, run them on the draft and releases, and copy them as files."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from audit.models import AuditEntry
from registry.models import Activation, EvalCase, Op, Release
from registry.releases import publishing
from tests.support.console.admin_pages import get_registry_url, read_form, read_text
from tests.support.rows.copy_rows import make_op

pytestmark = pytest.mark.django_db

REQUEST = "telephone <b>the plumber</b>"


@pytest.fixture
def case(published: Release) -> EvalCase:
    """A case whose op the live release finds first."""
    ring = make_op("onto.task.ring", summary="Telephone a person", entity="call", action="ring")
    make_op("onto.task.paint", summary="Put colour on a wall", entity="wall", action="paint")
    case = EvalCase.objects.create(request=REQUEST, op=ring.op, tags=["terse"])
    publishing.publish_draft(note="Ring", by="ann", at=published.created_at, accepted="Tested")
    return case


def lose_the_case() -> None:
    Op.objects.filter(op="onto.task.ring").update(summary="Do it")
    Op.objects.filter(op="onto.task.paint").update(summary="Telephone a plumber")


def open_page(client: Client, name: str, **query: Any) -> str:
    return read_text(client.get(reverse(f"admin:registry_{name}"), query))


def test_the_form_takes_an_op_of_the_draft_and_records_the_change(admin_client: Client, case: EvalCase) -> None:
    url = get_registry_url(EvalCase, "change", case.pk)
    fields = read_form(admin_client.get(url))
    paint = Op.objects.get(op="onto.task.paint")

    saved = admin_client.post(url, fields | {"op": paint.pk, "tags": "short\nodd", "args": '{"title": "x"}'})
    unknown = admin_client.post(url, fields | {"also_accepted": "onto.task.rign"})
    none = admin_client.post(url, fields | {"op": "0", "args": "{}"})

    assert fields["op"] == str(Op.objects.get(op="onto.task.ring").pk)
    assert saved.status_code == 302
    case.refresh_from_db()
    assert (case.op, case.tags, case.args) == ("onto.task.paint", ["short", "odd"], {"title": "x"})
    assert AuditEntry.objects.get(kind="eval_case").changes["op"] == ["onto.task.ring", "onto.task.paint"]
    assert "There is no op onto.task.rign. Did you mean onto.task.ring" in read_text(unknown)
    assert "Select a valid choice" in read_text(none)


def test_the_list_is_filtered_by_set_group_and_tag(admin_client: Client, case: EvalCase) -> None:
    EvalCase.objects.create(request="other one", op="onto.other", case_set="held_back")

    for query in ({"case_set__exact": "tuned"}, {"group": "onto.task"}, {"tag": "terse"}, {"q": "plumber"}):
        page = open_page(admin_client, "evalcase_changelist", **query)
        assert "plumber" in page, query
        assert "other one" not in page, query


def test_a_shipped_case_is_not_deleted(admin_client: Client, case: EvalCase) -> None:
    EvalCase.objects.update(shipped={"request": REQUEST})

    assert admin_client.post(get_registry_url(EvalCase, "delete", case.pk), {"post": "yes"}).status_code == 403


def test_results_compare_releases_and_the_draft(admin_client: Client, case: EvalCase, published: Release) -> None:
    live = Activation.objects.get(is_live=True).release

    forward = open_page(admin_client, "evalcase_compare", after=live.pk, before=published.pk)
    same = open_page(admin_client, "evalcase_compare", after=live.pk, before=live.pk)
    unknown = open_page(admin_client, "evalcase_compare", after="x" * 64, before="")

    assert "1 case won, 0 lost." in forward
    assert "won" not in same
    assert "Every request finds a right op first." in same
    assert "Select a valid choice" in unknown
    lose_the_case()
    lost = open_page(admin_client, "evalcase_compare")  # the draft with the live release
    paint = get_registry_url(Op, "change", Op.objects.get(op="onto.task.paint").pk)
    assert "0 cases won, 1 lost (1 " in lost
    assert "−100.0" in lost
    assert f'<a href="{paint}">onto.task.paint</a>' in lost
    assert "telephone &lt;b&gt;the plumber&lt;/b&gt;" in lost


def test_the_review_asks_why_to_publish_a_loss(admin_client: Client, case: EvalCase) -> None:
    lose_the_case()
    url = reverse("admin:registry_release_review")
    page: Any = admin_client.get(url)
    form = {"seen": page.context["review"].seen, "note": "New words"}

    refused = read_text(admin_client.post(url, form))
    published = admin_client.post(url, form | {"lost_because": "Nobody calls."})

    assert "Does search still find the right op?" in read_text(page)
    assert '<details class="ui-folded" open> <summary>Search: 0 cases won, 1 lost (1 ' in read_text(page)
    assert "telephone &lt;b&gt;the plumber&lt;/b&gt;" in read_text(page)
    assert "Write a few words: why it is right to lose" in refused
    assert published.status_code == 302
    assert Activation.objects.get(is_live=True).lost_because == "Nobody calls."
    assert "Nobody calls." in read_text(admin_client.get(reverse("admin:registry_activation_changelist")))
    live = Activation.objects.get(is_live=True).release
    assert "Nobody calls." in read_text(admin_client.get(get_registry_url(Release, "change", live.pk)))


def test_cases_are_downloaded_and_imported_as_files(admin_client: Client, case: EvalCase) -> None:
    file = admin_client.get(reverse("admin:registry_evalcase_download"))
    assert file.headers["Content-Disposition"] == 'attachment; filename="cases.yaml"'
    changed = file.content.replace(b"terse", b"short")
    url = reverse("admin:registry_evalcase_files")

    imported = admin_client.post(url, {"chosen": SimpleUploadedFile("cases.yaml", changed)}, follow=True)
    refused = admin_client.post(url, {"chosen": SimpleUploadedFile("c.yaml", b"cases: [{request: a, op: onto.gone}]")})
    broken = admin_client.post(url, {"chosen": SimpleUploadedFile("c.yaml", b"cases: {")})

    case.refresh_from_db()
    assert "Imported: 0 added, 1 changed, 0 unchanged." in read_text(imported)
    assert case.tags == ["short"]
    assert "Nothing was imported." in read_text(refused)
    assert "There is no op onto.gone." in read_text(refused)
    assert "Nothing was imported." in read_text(broken)
    assert EvalCase.objects.count() == 1
