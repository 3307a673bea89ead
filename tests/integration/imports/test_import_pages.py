"""Importing an OpenAPI document in the console: choose it, see what is in it, pick operations, read the report."""

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db.models.functions import Now
from django.http import HttpResponse
from django.test import Client as HttpClient
from django.urls import reverse
from django.utils import timezone

from core.background import leases
from gateway.models import ConnectionSecret
from registry.catalog import cache
from registry.drafts import merge
from registry.imports import import_job
from registry.models import Connection, DocumentImport, Group, Op
from registry.releases import publishing
from tests.support.clients.api import Api
from tests.support.console.admin_pages import read
from tests.support.servers.processes import eventually
from tests.support.upstreams.http_upstream import HttpUpstream, build_json
from tests.support.upstreams.openapi_documents import build_document

pytestmark = pytest.mark.usefixtures("background_at_once")

TEXT = {"type": "string"}
DOCUMENT = build_document(
    {
        "/pets": {
            "get": {"tags": ["pets"], "summary": "List pets", "operationId": "listPets"},
            "post": {
                "tags": ["pets"],
                "summary": "Add a pet",
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": {"type": "object", "properties": {"name": TEXT}}}},
                },
            },
        },
        "/toys": {"get": {"tags": ["toys"], "summary": "List toys", "deprecated": True}, "trace": {}},
    },
    servers=[{"url": "https://pets.example.com/v1"}],
    components={"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}},
)
CHOOSE = "admin:registry_connection_import"


def send_document(client: HttpClient, **data: Any) -> HttpResponse:
    """Send the first form and return the page of the import."""
    return client.post(reverse(CHOOSE), {"url": "", "text": "", **data}, follow=True)


def pick(client: HttpClient, page: Any, **data: Any) -> HttpResponse:
    """Send the second form of an import and return the page that follows."""
    defaults = {
        "group": "pets",
        "connection": "",
        "base_url": "https://pets.example.com/v1",
        "include_deprecated": "on",
    }
    return client.post(page.request["PATH_INFO"], defaults | data, follow=True)


def test_text_becomes_ops_of_a_new_connection(admin_client: HttpClient) -> None:
    page = send_document(admin_client, text=json.dumps(DOCUMENT))
    assert "<strong>Pets</strong> 1: 3 operations, 1 of them deprecated; 1 cannot be imported." in read(page)
    assert "<code>GET /pets</code> <span>List pets</span>" in read(page)
    assert "<code>TRACE /toys</code> The gateway does not send TRACE requests." in read(page)

    done = read(pick(admin_client, page, tags=["pets"]))

    assert "2 operations of Pets are in the draft, in <code>pets</code>; 1 was left out." in done
    assert re.search(r"\d+ tokens in every request before; now \d+ to list the group\.", done)
    assert "2 operations: 2 ops added, 0 updated, 0 unchanged; 0 retired, 1 left out." in done
    assert dict(Op.objects.values_list("op", "kind")) == {"pets.pet.list": "read", "pets.pet.create": "write"}
    connection = Connection.objects.get()
    assert (connection.name, connection.base_url) == ("pets", "https://pets.example.com/v1")
    assert (connection.auth, connection.key_in, connection.key_name) == ("api_key", "header", "X-Key")
    assert set(Op.objects.values_list("connection__name", flat=True)) == {"pets"}


def test_ops_are_ticked_and_renamed_in_the_table(admin_client: HttpClient) -> None:
    page: Any = send_document(admin_client, text=json.dumps(DOCUMENT))
    rows = page.context["form"].ops
    assert [(row.found["name"], row.leaf, row.found["kind"]) for row in rows] == [
        ("GET /pets", "pet.list", "read"), ("POST /pets", "pet.create", "write"), ("GET /toys", "toy.list", "read")
    ]  # fmt: skip
    assert all(row.is_ticked and row.found["tokens"] > 5 for row in rows)
    assert page.context["form"].initial["group"] == "pets"

    table = {"listed": "1", "op": ["0", "1"], "name-1": "animal.adopt"}
    assert "Two ops are named pet.list. Rename one." in read(pick(admin_client, page, **table | {"name-1": "pet.list"}))
    assert "A b is not a valid name." in read(pick(admin_client, page, **table | {"name-1": "A b"}))
    pick(admin_client, page, **table)

    assert set(Op.objects.values_list("op", flat=True)) == {"pets.pet.list", "pets.animal.adopt"}
    assert Group.objects.get(path="pets").summary == "Pets: pets"
    assert Connection.objects.get().import_selection == {"without": ["GET /toys"]}
    again: Any = send_document(admin_client, text=json.dumps(DOCUMENT))
    assert [(row.is_ticked, row.found["path"]) for row in again.context["form"].ops] == [
        (True, "pets.pet.list"), (True, "pets.animal.adopt"), (False, "pets.toy.list")
    ]  # fmt: skip
    assert again.context["form"].initial["connection"] == "pets"
    other: Any = send_document(
        admin_client, text=json.dumps(DOCUMENT | {"paths": {"/cars": DOCUMENT["paths"]["/toys"]}})
    )
    assert (other.context["form"].initial["group"], other.context["form"].initial.get("connection")) == ("pets_2", None)


def test_next_step_after_an_import_is_to_publish_it_with_a_note(admin_client: HttpClient) -> None:
    open_document = {name: value for name, value in DOCUMENT.items() if name != "components"}

    done = read(pick(admin_client, send_document(admin_client, text=json.dumps(open_document))))

    link = re.search(r'ui-button--primary" href="([^"]+)">Review and publish', done)
    assert link
    assert ">Pets: 3 ops</textarea>" in read(admin_client.get(link[1]))
    assert "You can try these ops in the chat once they are published." in done
    with_key = read(pick(admin_client, send_document(admin_client, text=json.dumps(DOCUMENT)), group="a", name="b"))
    assert re.search(r'ui-button--primary" href="[^"]+">Set its credentials', with_key)


def test_live_ops_can_be_tried_in_the_chat(admin_client: HttpClient, api: Api) -> None:
    pick(admin_client, send_document(admin_client, text=json.dumps(DOCUMENT)))
    publishing.publish_draft(note="Pets", by="tests", at=timezone.now(), accepted="Tests", accepted_loss="Tests")
    cache.refresh_live()

    page = read(
        admin_client.get(reverse("admin:registry_connection_change", args=[Connection.objects.get(name="pets").pk]))
    )

    assert '<a href="/chat/?message=List+pets">List pets</a> · <a href="/chat/?message=List+toys">List toys</a>' in page


def test_latest_imports_are_of_the_same_kind(admin_client: HttpClient) -> None:
    send_document(admin_client, text=json.dumps(DOCUMENT))
    DocumentImport.objects.create(url="https://mcp.example.com", found={"connection": {"kind": "mcp"}}, created_by="bo")

    documents, servers = (read(admin_client.get(reverse(name))) for name in (CHOOSE, f"{CHOOSE}_server"))

    assert ("mcp.example.com" in documents, "mcp.example.com" in servers) == (False, True)
    assert ("Latest imports" in documents, "import 1" in servers) == (True, False)


def test_files_are_read_together(admin_client: HttpClient) -> None:
    parameter = {"$ref": "common.yaml#/limit"}
    document = build_document({"/pets": {"get": {"parameters": [parameter]}}})
    files = [
        SimpleUploadedFile("openapi.json", json.dumps(document).encode()),
        SimpleUploadedFile("common.yaml", b"limit: {name: limit, in: query, schema: {type: integer}}"),
    ]

    page = send_document(admin_client, uploads=files)
    pick(admin_client, page)

    assert Op.objects.get().parameters_schema["properties"] == {"limit": {"type": "integer"}}


def test_an_uploaded_document_calls_no_address(admin_client: HttpClient, http_upstream: HttpUpstream) -> None:
    document = build_document({"/pets": {"get": {"parameters": [{"$ref": f"{http_upstream.base_url}/x#/limit"}]}}})

    page = read(send_document(admin_client, text=json.dumps(document)))

    assert "which was not sent with it." in page
    assert http_upstream.requests == []


def test_address_is_remembered_with_what_was_picked(admin_client: HttpClient, http_upstream: HttpUpstream) -> None:
    http_upstream.answer = build_json(DOCUMENT)
    address = http_upstream.server.url("/openapi.json")
    pick(admin_client, send_document(admin_client, url=address), tags=["pets"], base_url=http_upstream.base_url)

    again: Any = send_document(admin_client, url=address)

    assert Connection.objects.get().document_url == address
    initial = again.context["form"].initial
    assert (initial["group"], initial["connection"], initial["tags"]) == ("pets", "pets", ["pets"])
    assert initial["base_url"] == "https://pets.example.com/v1"  # for a new connection, if one is chosen
    done = read(pick(admin_client, again, connection="pets", tags=["pets"]))
    assert "2 operations: 0 ops added, 0 updated, 2 unchanged; 0 retired, 1 left out." in done


def test_edits_stay_and_what_was_not_picked_stays_too(admin_client: HttpClient) -> None:
    pick(admin_client, send_document(admin_client, text=json.dumps(DOCUMENT)))
    Op.objects.filter(op="pets.pet.list").update(summary="Mine")

    page = send_document(admin_client, text=json.dumps(DOCUMENT))
    done = read(pick(admin_client, page, connection="pets", methods=["POST"]))

    assert "1 operations: 0 ops added, 0 updated, 1 unchanged; 0 retired, 1 left out." in done
    assert Op.objects.get(op="pets.pet.list").summary == "Mine"
    assert set(Op.objects.values_list("status", flat=True)) == {"active"}


@pytest.mark.parametrize(
    ("sent", "problem"),
    [
        ({}, "Enter exactly one: an address, files or text."),
        ({"text": "{}", "url": "https://a.example/x"}, "Enter exactly one: an address, files or text."),
        ({"url": "ftp://a.example"}, "ftp://a.example cannot be fetched. The URL cannot be called."),
        ({"text": "[]"}, "The document is not an OpenAPI document: it is not an object."),
    ],
)
def test_what_is_no_document_is_said(admin_client: HttpClient, sent: dict[str, str], problem: str) -> None:
    assert problem in read(send_document(admin_client, **sent))


def test_document_that_cannot_be_fetched_is_said(admin_client: HttpClient, http_upstream: HttpUpstream) -> None:
    http_upstream.answer = build_json({}, status="404 Not Found")

    page = read(send_document(admin_client, url=http_upstream.server.url("/openapi.json?token=canary")))

    assert "answered with status 404. Check the address." in page
    assert f'value="{http_upstream.server.url("/openapi.json?token=canary")}"' in page, "the address stays in the form"
    assert DocumentImport.objects.get().error.count("canary") == 0


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ({"group": "Pets!"}, "Pets! is not a valid group."),
        ({"base_url": ""}, "Enter the address of the service, such as https://api.example.com/v1."),
        ({"name": "taken"}, "A connection taken exists already. Choose it above, or another name."),
        ({"search": "nothing"}, "No operation matches. Pick fewer conditions."),
        ({"search": ""}, "3 operations are picked, and one import takes 2."),
    ],
)
def test_what_cannot_be_imported_is_said_and_nothing_is_written(
    admin_client: HttpClient, data: dict[str, str], problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_job, "MAX_OPERATIONS", 2)
    Connection.objects.create(name="taken")
    page = send_document(admin_client, text=json.dumps(DOCUMENT))

    assert problem in read(pick(admin_client, page, **data))
    assert (Op.objects.count(), Connection.objects.count()) == (0, 1)


def test_an_error_of_ours_is_said_and_logged(admin_client: HttpClient, monkeypatch: pytest.MonkeyPatch) -> None:
    page = send_document(admin_client, text=json.dumps(DOCUMENT))
    monkeypatch.setattr(merge, "merge_ops", lambda *_, **__: 1 / 0)

    with pytest.raises(ZeroDivisionError):  # run_in_background logs it
        pick(admin_client, page)

    assert DocumentImport.objects.get().error == "The import failed because of a gateway error. See the server's log."
    assert (Op.objects.count(), Group.objects.count(), Connection.objects.count()) == (0, 0, 0)


def test_import_whose_process_stopped_ends(admin_client: HttpClient) -> None:
    row = DocumentImport.objects.create(created_by="ana", url="https://a.example/x", **leases.begin(import_job.LEASE))
    old = DocumentImport.objects.create(created_by="ana", url="https://a.example/x")  # by the version before
    assert import_job.delete_old(timezone.now()) is False
    assert set(DocumentImport.objects.values_list("state", flat=True)) == {"reading"}
    DocumentImport.objects.filter(pk=row.pk).update(held_until=Now() - timedelta(seconds=1))
    DocumentImport.objects.filter(pk=old.pk).update(updated_at=timezone.now() - import_job.LEASE * 2)

    assert import_job.delete_old(timezone.now()) is False

    assert set(DocumentImport.objects.values_list("state", flat=True)) == {"failed"}
    assert "The process that worked on it stopped." in read(
        admin_client.get(reverse("admin:registry_documentimport", args=[row.pk]))
    )
    assert import_job.delete_old(timezone.now() + import_job.KEPT_FOR * 2) is False
    assert not DocumentImport.objects.exists()


def test_process_that_stood_still_does_not_change_the_end(
    admin_client: HttpClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def stand_still(row: DocumentImport) -> None:
        end_leases()
        import_job.delete_old(timezone.now())
        row.state = DocumentImport.State.READY

    monkeypatch.setattr(import_job, "_read", stand_still)

    page = send_document(admin_client, text=json.dumps(DOCUMENT))

    assert "The process that worked on it stopped." in read(page)
    assert "import.lease_lost" in caplog.text


def end_leases() -> None:
    DocumentImport.objects.filter(state__in=["reading", "importing"]).update(held_until=Now() - timedelta(seconds=1))


def use_in_op(connection: Connection) -> None:
    Group.objects.create(path="pets", summary="Pets")
    Op.objects.create(op="pets.list", tool_name="list_pets", summary="List pets.", kind="read", connection=connection)


@pytest.mark.parametrize(
    ("chosen", "use", "is_kept"),
    [
        ("", lambda _: None, False),
        ("", use_in_op, True),
        ("", lambda made: ConnectionSecret.objects.create(connection=made, name="token", value="x"), True),
        ("", lambda made: DocumentImport.objects.create(connection=made, created_by="bo"), True),
        ("mine", lambda _: None, True),
    ],
)
def test_connection_of_a_stopped_import_stays_if_it_is_used_or_was_chosen(
    admin_client: HttpClient, monkeypatch: pytest.MonkeyPatch, chosen: str, use: Any, is_kept: bool
) -> None:
    if chosen:
        Connection.objects.create(name=chosen, kind="http", base_url="https://pets.example.com")
    page = send_document(admin_client, text=json.dumps(DOCUMENT))
    monkeypatch.setattr(import_job, "run_in_background", lambda *_: None)  # its process died
    assert "Importing 3 operations" in read(pick(admin_client, page, connection=chosen))
    use(Connection.objects.get())

    end_leases()
    import_job.delete_old(timezone.now())

    assert "The process that worked on it stopped." in read(admin_client.get(page.request["PATH_INFO"]))
    assert Connection.objects.exists() is is_kept


@pytest.mark.django_db(transaction=True)
def test_slow_import_keeps_its_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    def read_slowly(row: DocumentImport) -> None:
        end_leases()
        own = DocumentImport.objects.filter(pk=row.pk)
        eventually(lambda: own.filter(held_until__gt=Now()).exists(), within=20, what="an extension")
        import_job.delete_old(timezone.now())
        assert own.get().state == "reading"
        row.state = DocumentImport.State.READY

    monkeypatch.setattr(leases, "INTERVAL", 0.01)
    monkeypatch.setattr(import_job, "_read", read_slowly)

    row = import_job.start_reading(url="https://a.example/x", by="ana")

    row.refresh_from_db()
    assert (row.state, row.error) == ("ready", "")
