"""Export copy as an archive in the console, and import files after a review of the changes."""

import io
import zipfile
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from audit.models import AuditEntry
from registry.files import export
from registry.models import Group, Op, Release
from registry.releases import stored_releases
from registry.snapshot import snapshot
from tests.support.console.admin_pages import read_text
from tests.support.loops import for_each

pytestmark = pytest.mark.django_db

GROUPS = "groups:\n  - {path: util, summary: Utilities}\n"


def upload_for_review(client: Client, *files: tuple[str, str | bytes]) -> HttpResponse:
    sent = [SimpleUploadedFile(name, text.encode() if isinstance(text, str) else text) for name, text in files]
    return client.post(reverse("admin:registry_op_files"), {"chosen": sent})


def confirm_import(client: Client, review_page: HttpResponse, **fields: str) -> HttpResponse:
    form = {name: review_page.context[name] for name in ("content", "seen")} | fields
    return client.post(reverse("admin:registry_op_files"), form, follow=True)


def test_exported_draft_can_be_imported_elsewhere(admin_client: Client, published: Release) -> None:
    before = snapshot.snapshot_draft()

    sent = admin_client.get(reverse("admin:registry_op_download"))

    assert sent.headers["Content-Type"] == "application/zip"
    assert sent.content == export.to_zip(before)
    with zipfile.ZipFile(io.BytesIO(sent.content)) as archive:
        assert {name: archive.read(name).decode() for name in archive.namelist()} == export.to_files(before)
    assert "Nothing to import. The draft matches these files." in read_text(
        upload_for_review(admin_client, ("draft.zip", sent.content))
    )
    Op.objects.all().delete()
    Group.objects.all().delete()
    confirm_import(admin_client, upload_for_review(admin_client, ("draft.zip", sent.content)))
    assert snapshot.snapshot_draft() == before


def test_import_shows_changes_before_it_writes_them(admin_client: Client, published: Release) -> None:
    op = export.dump_yaml({"ops": [snapshot.snapshot_draft()["ops"][0] | {"summary": "Brought in"}]})

    review_page = upload_for_review(admin_client, ("groups.yaml", GROUPS), ("ops.yaml", op))

    assert "These files add or change 1 op and 1 group in the draft." in read_text(review_page)
    assert "Brought in</ins>" in read_text(review_page)
    assert not Group.objects.filter(path="util").exists()

    response = confirm_import(admin_client, review_page)

    assert "Imported into the draft: 1 op and 1 group." in read_text(response)
    assert response.redirect_chain[0][0] == reverse("admin:registry_release_review")
    assert Op.objects.get().summary == "Brought in"
    entries = AuditEntry.objects.exclude(kind="release")
    assert set(entries.filter(kind__in=["op", "group"]).values_list("by", "note")) == {("admin", "Import of files")}
    assert entries.get(action="imported").note == "Into the draft: 1 op and 1 group"
    assert stored_releases.get_live_release() == published


@for_each(
    "file, message",
    [
        (("a.txt", "hello"), "No YAML files found."),
        (("a.yaml", GROUPS + "ops: [{op: <b>x</b>}]"), "is missing"),
        (("a.yaml", ""), "The submitted file is empty."),
    ],
)
def test_upload_refuses_files_without_copy_and_says_why(admin_client: Client, file: Any, message: str) -> None:
    page = upload_for_review(admin_client, file)

    assert page.status_code == 200
    assert message in read_text(page)
    assert "<b>x</b>" not in page.content.decode()


def test_import_refuses_files_that_would_break_the_draft(admin_client: Client, published: Release) -> None:
    alone = "ops:\n  - {op: no.group.get, tool_name: x, kind: read, summary: X, parameters_schema: {type: object}}\n"

    response = confirm_import(admin_client, upload_for_review(admin_client, ("a.yaml", alone)))

    assert "Nothing was imported." in read_text(response)
    assert "The group no.group is missing" in read_text(response)
    assert Op.objects.count() == 1


def test_action_asks_for_another_review_when_the_draft_was_edited_meanwhile(
    admin_client: Client, published: Release
) -> None:
    review_page = upload_for_review(admin_client, ("groups.yaml", GROUPS))
    Op.objects.update(summary="Meanwhile")

    response = confirm_import(admin_client, review_page)

    assert "The draft has changed since you reviewed it." in read_text(response)
    assert not Group.objects.filter(path="util").exists()


@for_each("content", ["", "nonsense", "e30:1abc:xyz"])
def test_import_refuses_files_that_were_not_reviewed(admin_client: Client, content: str) -> None:
    response = confirm_import(admin_client, upload_for_review(admin_client, ("groups.yaml", GROUPS)), content=content)

    assert "Choose the files again." in read_text(response)
    assert not Group.objects.exists()
