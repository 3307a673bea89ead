"""A real FastAPI service: its document is imported from its address, and every operation is called through exec."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.utils import timezone

from core.http import client
from registry.catalog import cache, connections
from registry.imports import document_source, import_document
from registry.imports.import_document import Selection
from registry.models import Connection, Op
from registry.releases import publishing
from tests.support.clients.api import Api
from tests.support.loops import for_each
from tests.support.upstreams.fastapi_app import (
    PDF,
    Card,
    Checkout,
    Item,
    RecordingApp,
    Size,
    SortOrder,
    Transfer,
    serve_app,
)

GROUP = "shop"
PEN = {"name": "pen", "price": 1.5}
PEN_ITEM = Item(name="pen", price=1.5)
CARD = {"method": "card", "number": "4242"}

# Each operation: its op, the args, and what the service must receive.
CALLS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("item.list", {}, {"tag": None, "sort": SortOrder.NAME, "limit": 10}),
    (
        "item.list",
        {"tag": ["new", "a&b=c"], "sort": "price", "limit": 5},
        {"tag": ["new", "a&b=c"], "sort": SortOrder.PRICE, "limit": 5},
    ),
    ("item.get", {"item_id": 7, "with_stock": True}, {"item_id": 7, "with_stock": True}),
    ("session.get", {"x-shop": "north", "theme": "dark"}, {"x_shop": "north", "theme": "dark"}),
    ("session.get", {"x-shop": "north"}, {"x_shop": "north", "theme": None}),
    ("item.create", PEN, {"item": PEN_ITEM}),
    (
        "item.create",
        PEN | {"size": {"width": 140, "height": 9}, "tags": ["blue", "ink"]},
        {"item": Item(name="pen", price=1.5, size=Size(width=140, height=9), tags={"blue", "ink"})},
    ),
    (
        "item.replace",
        {"item_id": 7, "item": PEN, "reason": "new price"},
        {"item_id": 7, "item": PEN_ITEM, "reason": "new price"},
    ),
    (
        "checkout.create",
        {"items": [PEN], "payment": CARD},
        {"checkout": Checkout(items=[PEN_ITEM], payment=Card(method="card", number="4242"))},
    ),
    (
        "payment.create",
        {"body": {"method": "transfer", "iban": "DE02"}},
        {"payment": Transfer(method="transfer", iban="DE02")},
    ),
    ("feedback.create", {"text": "ü & more=less", "stars": 5}, {"text": "ü & more=less", "stars": 5}),
]


@pytest.fixture
def service(live_catalog: object) -> Iterator[RecordingApp]:
    """Serve the app, and publish the ops of its document."""
    service = RecordingApp()
    with serve_app(service.app) as url:
        publish_service(url)
        yield service
        client.close_idle_connections()


def publish_service(url: str) -> None:
    """Import the document of a service from its address, as the import page does, and publish all of its ops."""
    document = import_document.read_document(document_source.fetch_document(f"{url}/openapi.json"))
    fields = import_document.describe_connection(document.content)
    connection = Connection.objects.create(name=GROUP, kind="http", **fields)
    result, _ = import_document.import_document(
        document, Selection(), group=GROUP, connection=connection, by="tests", at=timezone.now()
    )
    assert result.refusals == []
    publishing.publish_draft(note="For tests", by="tests", at=timezone.now(), accepted="Imported copy")
    cache.refresh_live()
    connections.clear_connections()


def test_every_operation_becomes_an_op_that_the_service_understands(api: Api, service: RecordingApp) -> None:
    answers = [api.exec(f"{GROUP}.{op}", args) for op, args, _ in CALLS]

    assert [answer.get("result") for answer in answers] == [{"call": n + 1} for n in range(len(CALLS))], answers
    assert service.received == [expected for _, _, expected in CALLS]
    with_tests_of_their_own = {"export.get", "item.photo.upload", "item.delete"}
    called = {op for op, _, _ in CALLS} | with_tests_of_their_own
    assert {f"{GROUP}.{op}" for op in called} == set(
        Op.objects.filter(connection__name=GROUP).values_list("op", flat=True)
    )


def test_a_deletion_without_content_succeeds(api: Api, service: RecordingApp) -> None:
    envelope = api.exec(f"{GROUP}.item.delete", {"item_id": 7})

    assert envelope["ok"] is True, envelope
    assert service.received == [{"item_id": 7}]


def test_a_file_that_one_op_returned_is_sent_by_another(api: Api, service: RecordingApp) -> None:
    exported = api.exec(f"{GROUP}.export.get", {"name": "2026/all items"})["result"]["file"]
    uploaded = api.exec(f"{GROUP}.item.photo.upload", {"item_id": 7, "photo": exported["id"], "caption": "a “caption”"})

    assert (exported["name"], exported["size"]) == ("items.pdf", len(PDF))
    assert api.get(f"files/{exported['id']}").content == PDF
    assert uploaded["ok"] is True, uploaded
    photo = ("items.pdf", exported["content_type"], PDF)
    assert service.received == [{"name": "2026/all items"}, {"item_id": 7, "photo": photo, "caption": "a “caption”"}]


# What only the service checks: op, args, and the args that its 422 is about. Pydantic names the chosen member of a
# union, "card", as a step of the place.
REFUSED: list[tuple[str, dict[str, Any], list[str]]] = [
    ("item.create", PEN | {"price": 1.505}, ["/price"]),
    ("item.replace", {"item_id": 7, "item": PEN | {"price": 1.505}, "reason": "x"}, ["/item/price"]),
    (
        "checkout.create",
        {"items": [PEN, PEN | {"price": 0.001}], "payment": {"method": "card", "number": "none"}},
        ["/items/1/price", "/payment/card/number"],
    ),
    ("payment.create", {"body": {"method": "card", "number": "none"}}, ["/body/card/number"]),
]


@for_each("op, args, pointers", REFUSED)
def test_a_422_becomes_field_errors_with_the_names_of_args(
    api: Api, service: RecordingApp, op: str, args: dict[str, Any], pointers: list[str]
) -> None:
    error = api.exec(f"{GROUP}.{op}", args)["error"]

    assert (error["code"], error["details"]["reason"]) == ("VALIDATION_ERROR", "upstream_invalid"), error
    assert [each["path"] for each in error["details"]["field_errors"]] == pointers, error
    assert error["details"]["upstream"]["status"] == 422
    assert service.received == []


def test_args_that_the_document_forbids_are_not_sent(api: Api, service: RecordingApp) -> None:
    error = api.exec(f"{GROUP}.item.list", {"limit": 101, "sort": "size"})["error"]

    assert {each["path"] for each in error["details"]["field_errors"]} == {"/limit", "/sort"}
    assert service.received == []
