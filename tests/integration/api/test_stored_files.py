"""Files that ops return: stored for one subject of one client, downloaded, and deleted when they expire."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from mcp_types import CallToolResult, ImageContent

from gateway.contracts.errors import InternalError, NotFoundError, PermissionDeniedError
from gateway.executors.base import UpstreamCall
from gateway.executors.mcp import tool_result
from gateway.executors.remote import result_values
from gateway.executors.remote.result_values import clean_name, load_file, store_file
from gateway.jobs import retention
from gateway.models import ApiKey, StoredFile
from tests.support.clients.api import Api, assert_refused
from tests.support.loops import for_each
from tests.support.upstreams.oauth_upstream import build_call

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db]


def build_read(api: Api, subject: str = "demo-user") -> UpstreamCall:
    """Return a call of an op that reads, by the client of a key."""
    prefix = api.headers["Authorization"].removeprefix("Bearer ")[:11]
    call = build_call(subject=subject, client_id=ApiKey.objects.get(prefix=prefix).client_id)
    return replace(call, op=replace(call.op, kind="read"))


def store(api: Api, *, subject: str = "demo-user", name: str = "a.pdf", content_type: str = "application/pdf") -> Any:
    return store_file(build_read(api, subject), name, content_type, b"%PDF\x00\xff")


def test_a_file_can_be_downloaded_by_its_subject(api: Api, settings: Any) -> None:
    settings.GATEWAY_URL = "https://gateway.example.com"
    stored = store(api, name="../Report “ü”.pdf")

    response = api.get(f"files/{stored['id']}")

    assert stored == {
        "id": stored["id"],
        "name": "Report “ü”.pdf",
        "content_type": "application/pdf",
        "size": 6,
        "url": f"https://gateway.example.com/api/v1/files/{stored['id']}",
    }
    assert (response.status_code, response.content) == (200, b"%PDF\x00\xff")
    assert response.headers["Content-Type"] == "application/pdf"
    assert response.headers["Content-Disposition"].startswith("attachment; filename")
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in response.headers["Content-Security-Policy"]
    assert response.headers["Cache-Control"] == "private, no-cache"


def test_a_file_belongs_to_its_subject_and_client(api: Api, make_api: Any) -> None:
    id = store(api)["id"]
    other_subject = Api(api.headers["Authorization"].removeprefix("Bearer "), "ben")

    for stranger in (other_subject, make_api(acts_for="demo-user")):
        assert_refused(stranger.get(f"files/{id}"), 404, "file_not_found")
    assert_refused(make_api(scopes=["help"]).get(f"files/{id}"), 403, "scope_missing")


def test_an_op_gets_only_the_files_of_its_caller(api: Api) -> None:
    id = store(api)["id"]
    client_id = StoredFile.objects.get().client_id

    assert load_file(build_call(subject="demo-user", client_id=client_id), id) == (
        "a.pdf",
        "application/pdf",
        b"%PDF\x00\xff",
    )
    strangers = [("ben", client_id, id), ("demo-user", client_id + 1, id), ("demo-user", client_id, "x")]
    for subject, client, file_id in strangers:
        with pytest.raises(NotFoundError, match="no stored file with this id"):
            load_file(build_call(subject=subject, client_id=client), file_id)


def test_files_expire(api: Api, settings: Any) -> None:
    settings.GATEWAY_FILE_HOURS = 2
    id = store(api)["id"]
    retention.delete_stored_files(timezone.now() + timedelta(hours=1))
    assert api.get(f"files/{id}").status_code == 200

    StoredFile.objects.update(expires_at=timezone.now())
    assert_refused(api.get(f"files/{id}"), 404, "file_not_found")
    retention.delete_stored_files(timezone.now())

    assert not StoredFile.objects.exists()


def test_one_user_stores_so_much_and_nobody_else_has_less(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_values, "MAX_FILES", 2)
    for _ in range(2):
        store(api)

    with pytest.raises(PermissionDeniedError, match="The first expires at 2") as refused:
        store(api)

    assert (refused.value.status, refused.value.reason) == (429, "file_quota")
    assert int(refused.value.headers["Retry-After"]) <= 24 * 3600
    assert store(api, subject="ben")["id"]
    StoredFile.objects.filter(subject="demo-user").update(expires_at=timezone.now())
    assert store(api)["id"]
    monkeypatch.setattr(result_values, "MAX_TOTAL_BYTES", 11)  # a file has 6
    with pytest.raises(PermissionDeniedError):
        store(api)


def test_write_whose_file_is_over_the_quota_says_so(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_values, "MAX_FILES", 0)
    call = build_call(client_id=1)

    stored = store_file(replace(call, op=replace(call.op, kind="write")), "a.pdf", "application/pdf", b"%PDF")

    assert "id" not in stored
    assert stored["message"].startswith("The file was not stored. At most 0 files")


NAMES = [
    ("report.pdf", "report.pdf"),
    ("/etc/passwd", "passwd"),
    ("..\\..\\evil.exe", "evil.exe"),
    ('a"b\r\nX: y.txt', "abX y.txt"),
    ("exe\u202efdp.txt", "exefdp.txt"),
    ("...", "file"),
    ("", "file"),
    ("x" * 500, "x" * 200),
]


@for_each("name, cleaned", NAMES)
def test_names_are_cleaned(name: str, cleaned: str) -> None:
    assert clean_name(name) == cleaned


@for_each("content_type", ["", "text", "text/html\r\nX: y", "text/html; x=<script>"])
def test_invalid_content_types_become_bytes(api: Api, content_type: str) -> None:
    assert store(api, content_type=content_type)["content_type"] == "application/octet-stream"


def test_one_answer_does_not_use_up_the_quota(api: Api) -> None:
    images = [ImageContent(type="image", data="aGk=", mime_type="image/png") for _ in range(tool_result.MAX_FILES + 2)]

    result = tool_result.read_result(CallToolResult(content=images), build_read(api)).result

    assert StoredFile.objects.count() == tool_result.MAX_FILES
    assert [each["file"].get("message", "") for each in result["content"]][-3:] == [
        "",
        *["The file was not stored: at most 10 files of one answer are stored."] * 2,
    ]


@pytest.mark.parametrize("last", ["aGk=", "no base64"])
def test_an_answer_that_fails_leaves_no_files(api: Api, monkeypatch: pytest.MonkeyPatch, last: str) -> None:
    monkeypatch.setattr(result_values, "MAX_FILES", 2)
    images = [ImageContent(type="image", data=data, mime_type="image/png") for data in ("aGk=", "aGk=", last)]

    with pytest.raises((PermissionDeniedError, InternalError)):
        tool_result.read_result(CallToolResult(content=images), build_read(api))

    assert not StoredFile.objects.exists()
