"""Files that clients upload: stored for one subject of one client, checked, limited, and taken by ops."""

from collections.abc import Mapping
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test.client import MULTIPART_CONTENT
from django.utils import timezone

from core.demo_data import DEFAULT_SUBJECT
from gateway.contracts.errors import InvalidRequestError, PermissionDeniedError
from gateway.credentials import end_user_settings
from gateway.executors.remote import result_values
from gateway.executors.uploads import store_upload
from gateway.models import Client, EndUserSettings, StoredFile
from registry.models import Connection
from tests.support.clients.api import Api, assert_refused
from tests.support.concurrency import run_at_once
from tests.support.loops import for_each
from tests.support.upstreams.oauth_upstream import build_call

pytestmark = pytest.mark.django_db

CSV = b"name,amount\nAna,1\n"


def upload(api: Api, *, name: str = "a.csv", content: bytes = CSV, type: str = "text/csv") -> HttpResponse:
    """Upload a file as a form."""
    file = SimpleUploadedFile(name, content, type)
    return api.http.post("/api/v1/files", {"file": file}, headers=api.headers)


def upload_raw(api: Api, content: bytes = CSV, **headers: str) -> HttpResponse:
    """Upload a file as the body of the request."""
    sent = {"Content_Disposition": 'attachment; filename="a.csv"', "Content_Type": "text/csv", **headers}
    return api.post("files", raw=content, **{name: value for name, value in sent.items() if value})


@pytest.mark.both_databases
def test_an_uploaded_file_can_be_downloaded_and_taken_by_an_op(api: Api, settings: Any) -> None:
    settings.GATEWAY_URL = "https://gateway.example.com"

    response = upload(api, name="../Rechnung ü.csv")

    stored = response.json()
    assert response.status_code == 200, response.content
    assert stored == {
        "id": stored["id"],
        "name": "Rechnung ü.csv",
        "content_type": "text/csv",
        "size": len(CSV),
        "url": f"https://gateway.example.com/api/v1/files/{stored['id']}",
    }
    assert response.headers["Cache-Control"] == "private, no-cache"
    assert api.get(f"files/{stored['id']}").content == CSV
    client_id = StoredFile.objects.get().client_id
    call = build_call(subject=DEFAULT_SUBJECT, client_id=client_id)
    assert result_values.load_file(call, stored["id"]) == ("Rechnung ü.csv", "text/csv", CSV)


DISPOSITIONS = [
    ('attachment; filename="a.csv"', "a.csv"),
    ("attachment; filename=a.csv", "a.csv"),
    ("attachment; filename*=UTF-8''%C3%BC%20x.csv", "ü x.csv"),
    ("attachment; filename=\"x.csv\"; filename*=UTF-8''y.csv", "y.csv"),
]


@for_each("header, name", DISPOSITIONS)
def test_the_body_can_be_the_file(api: Api, header: str, name: str) -> None:
    response = upload_raw(api, Content_Disposition=header)
    assert (response.status_code, response.json()["name"]) == (200, name), response.content


def test_a_file_is_nobody_elses(api: Api, make_api: Any) -> None:
    id = upload(api).json()["id"]
    other_subject = Api(api.headers["Authorization"].removeprefix("Bearer "), "ben")

    for stranger in (other_subject, make_api(acts_for=DEFAULT_SUBJECT)):
        assert_refused(stranger.get(f"files/{id}"), 404, "file_not_found")
    assert_refused(api.get("files/00000000-0000-4000-8000-000000000000"), 404, "file_not_found")
    StoredFile.objects.update(expires_at=timezone.now())
    assert_refused(api.get(f"files/{id}"), 404, "file_not_found")


def test_a_key_without_the_scope_of_writes_uploads_nothing(make_api: Any) -> None:
    assert_refused(upload(make_api(scopes=["exec:read"])), 403, "scope_missing")
    assert not StoredFile.objects.exists()


# what is sent, status, reason
REFUSED: list[tuple[Mapping[str, str], int, str]] = [
    ({"Content_Disposition": ""}, 400, "malformed_upload"),
    ({"Content_Disposition": "attachment"}, 400, "malformed_upload"),
    ({"Content_Type": "application/x-www-form-urlencoded"}, 415, "malformed_upload"),
    ({"Content_Type": "text"}, 415, "malformed_upload"),
    ({"Content_Type": "image/png"}, 415, "file_type_mismatch"),
    ({"Content_Encoding": "gzip"}, 415, "malformed_upload"),
    ({"Content_Type": "multipart/form-data"}, 400, "malformed_upload"),  # no boundary
]


@for_each("headers, status, reason", REFUSED)
def test_a_wrong_upload_is_refused_with_what_to_send(
    api: Api, headers: Mapping[str, str], status: int, reason: str
) -> None:
    error = assert_refused(upload_raw(api, **headers), status, reason)
    assert "Send" in error["message"]
    assert not StoredFile.objects.exists()


def test_a_form_has_one_file_named_file(api: Api) -> None:
    file = SimpleUploadedFile("a.csv", CSV, "text/csv")
    two = {"file": [file, SimpleUploadedFile("b.csv", CSV, "text/csv")]}
    for form in ({"upload": file}, {}, two):
        response = api.http.post("/api/v1/files", form, content_type=MULTIPART_CONTENT, headers=api.headers)
        assert_refused(response, 400, "malformed_upload")


def test_sizes_are_limited(api: Api, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.GATEWAY_FILE_MAX_BYTES = len(CSV)
    assert upload(api).status_code == 200
    assert upload_raw(api).status_code == 200
    for response in (upload(api, content=CSV + b"x"), upload_raw(api, CSV + b"x"), upload_raw(api, b"x" * 40_000)):
        assert_refused(response, 413, "too_large")
    assert_refused(upload(api, content=b""), 400, "empty_file")
    monkeypatch.setattr(result_values, "MAX_FILES", 2)
    assert "Retry-After" in upload(api).headers
    assert_refused(upload(api), 429, "file_quota")


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_files_that_come_at_the_same_time_do_not_exceed_the_quota(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_values, "MAX_FILES", 2)
    client_id = Client.objects.create(name="chat").pk

    def store() -> bool:
        try:
            store_upload(client_id, "ana", name="a.csv", content_type="text/csv", content=CSV)
        except PermissionDeniedError:
            return False
        return True

    assert sorted(run_at_once([store] * 6, connected=True)) == [False] * 4 + [True] * 2


def test_a_connection_limits_the_files_that_ops_send(api: Api) -> None:
    id = upload(api).json()["id"]
    connection = Connection.objects.create(name="crm", kind="http", base_url="https://crm.example.com")
    limits = EndUserSettings.objects.create(connection=connection, file_types="image/* application/pdf")
    call = build_call(subject=DEFAULT_SUBJECT, client_id=Client.objects.get(keys__prefix=_get_prefix(api)).pk)

    with pytest.raises(InvalidRequestError, match=r"only files of these types: image/\*, application/pdf"):
        result_values.load_file(call, id)
    EndUserSettings.objects.filter(pk=limits.pk).update(file_types="text/*")
    end_user_settings.refresh_settings()
    assert result_values.load_file(call, id)[2] == CSV
    EndUserSettings.objects.filter(pk=limits.pk).update(max_file_kb=1)
    end_user_settings.refresh_settings()
    assert result_values.load_file(call, id)[2] == CSV
    big = upload(api, content=b"x" * 1_001, name="b.txt", type="text/plain").json()["id"]
    with pytest.raises(InvalidRequestError, match=r"at most 1 KB. This one has 1,001 bytes"):
        result_values.load_file(call, big)


def _get_prefix(api: Api) -> str:
    return api.headers["Authorization"].removeprefix("Bearer ")[:11]
