"""Copy as files in the admin: taken out as an archive, brought in after a look at what changes."""

import io
import zipfile
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from analytics.models import AuditEntry
from registry.admin import diff_page
from registry.files import export
from registry.models import Group, Op, Release
from registry.releases import publishing
from registry.snapshot import snapshot
from tests.support.copy_rows import make_op

pytestmark = pytest.mark.django_db

GROUPS = "groups:\n  - {path: util, summary: Utilities}\n"


def text(response: HttpResponse) -> str:
    return " ".join(response.content.decode().split())


def look(client: Client, *files: tuple[str, str | bytes]) -> HttpResponse:
    """Send files to be looked at."""
    sent = [SimpleUploadedFile(name, said.encode() if isinstance(said, str) else said) for name, said in files]
    return client.post(reverse("admin:registry_op_files"), {"chosen": sent})


def bring_in(client: Client, looked: HttpResponse, **said: str) -> HttpResponse:
    """Agree to what was looked at."""
    form = {name: looked.context[name] for name in ("content", "seen")} | said
    return client.post(reverse("admin:registry_op_files"), form, follow=True)


def test_draft_is_taken_out_and_brought_in_elsewhere(admin_client: Client, published: Release) -> None:
    before = snapshot.snapshot_draft()

    sent = admin_client.get(reverse("admin:registry_op_download"))

    assert sent.headers["Content-Type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(sent.content)) as archive:
        assert {name: archive.read(name).decode() for name in archive.namelist()} == export.to_files(before)
    assert "Nothing to import. The draft matches these files." in text(look(admin_client, ("draft.zip", sent.content)))
    Op.objects.all().delete()
    Group.objects.all().delete()
    bring_in(admin_client, look(admin_client, ("draft.zip", sent.content)))
    assert snapshot.snapshot_draft() == before


def test_files_are_looked_at_before_they_are_brought_in(admin_client: Client, published: Release) -> None:
    op = export.dump_yaml({"ops": [snapshot.snapshot_draft()["ops"][0] | {"summary": "Brought in"}]})

    looked = look(admin_client, ("groups.yaml", GROUPS), ("ops.yaml", op))

    assert "These files add or change 1 op and 1 group in the draft." in text(looked)
    assert "Brought in</ins>" in text(looked)
    assert not Group.objects.filter(path="util").exists()

    told = bring_in(admin_client, looked)

    assert "Imported into the draft: 1 op and 1 group." in text(told)
    assert told.redirect_chain[0][0] == reverse("admin:registry_release_review")
    assert Op.objects.get().summary == "Brought in"
    assert set(AuditEntry.objects.values_list("by", "note")) == {("admin", "Import of files")}
    assert publishing.get_live_release() == published


@pytest.mark.parametrize(
    ("file", "said"),
    [
        (("a.txt", "hello"), "No YAML files found."),
        (("a.yaml", "ops: ["), "a.yaml, YAML"),
        (("a.yaml", "opps: []"), "A file may only contain lists named groups"),
        (("a.yaml", GROUPS + "ops: [{op: <b>x</b>}]"), "is a required property"),
        (("a.yaml", b"\xff\xfe\x00"), "a.yaml, YAML"),
        (("a.yaml", ""), "The submitted file is empty."),
    ],
)
def test_what_is_no_copy_is_refused_with_a_sentence(admin_client: Client, file: Any, said: str) -> None:
    page = look(admin_client, file)

    assert page.status_code == 200
    assert said in text(page)
    assert "<b>x</b>" not in page.content.decode()


def test_choosing_nothing_is_told(admin_client: Client) -> None:
    assert "This field is required." in text(admin_client.post(reverse("admin:registry_op_files"), {}))


def test_what_would_break_the_draft_is_not_brought_in(admin_client: Client, published: Release) -> None:
    alone = "ops:\n  - {op: no.group.get, tool_name: x, kind: read, summary: X, parameters_schema: {type: object}}\n"

    told = bring_in(admin_client, look(admin_client, ("a.yaml", alone)))

    assert "Nothing was imported." in text(told)
    assert "The group no.group is missing" in text(told)
    assert Op.objects.count() == 1


def test_a_draft_that_was_edited_meanwhile_is_looked_at_again(admin_client: Client, published: Release) -> None:
    looked = look(admin_client, ("groups.yaml", GROUPS))
    Op.objects.update(summary="Meanwhile")

    told = bring_in(admin_client, looked)

    assert "The draft has changed since you reviewed it." in text(told)
    assert not Group.objects.filter(path="util").exists()


@pytest.mark.parametrize("content", ["", "nonsense", "e30:1abc:xyz"])
def test_what_was_not_looked_at_is_not_brought_in(admin_client: Client, content: str) -> None:
    told = bring_in(admin_client, look(admin_client, ("groups.yaml", GROUPS)), content=content)

    assert "Choose the files again." in text(told)
    assert not Group.objects.exists()


def test_of_many_changes_some_are_shown(admin_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diff_page, "PAGE_SIZE", 2)
    groups = export.dump_yaml({"groups": [{"path": f"g{number}", "summary": "A group"} for number in range(5)]})

    page = text(look(admin_client, ("groups.yaml", groups)))

    assert page.count('class="desk-difference"') == 2
    assert "And 3 more." in page


def test_files_are_for_who_may_write_the_whole_draft(
    client: Client, published: Release, django_user_model: Any
) -> None:
    reader = django_user_model.objects.create_user("reader", is_staff=True)
    reader.user_permissions.set(Permission.objects.filter(codename__in=["view_op", "change_op", "add_op"]))
    client.force_login(reader)

    assert client.get(reverse("admin:registry_op_files")).status_code == 403
    assert client.get(reverse("admin:registry_op_download")).status_code == 403
    assert look(client, ("groups.yaml", GROUPS)).status_code == 403


def test_an_archive_is_the_same_bytes_for_the_same_copy(admin_client: Client) -> None:
    make_op()

    assert export.to_zip(snapshot.snapshot_draft()) == export.to_zip(snapshot.snapshot_draft())
