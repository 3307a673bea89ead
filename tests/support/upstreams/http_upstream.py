"""A real HTTP service on loopback, with a connection to it and ops that send requests to it."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import orjson
import pytest
from django.utils import timezone

from core.http import client
from registry.catalog import cache, connections
from registry.files import loader
from registry.models import Connection
from registry.releases import lifecycle, publishing
from tests.support.rows.op_entries import build_op_entry, build_schema
from tests.support.upstreams.http_servers import ResponseBytes, Server, build_response

NAME = "shop"
READ, WRITE = "shop.order.get", "shop.order.create"
ORDER_ID = {"type": "string", "maxLength": 200}
READ_REQUEST = {
    "method": "GET",
    "path": "/orders/{id}",
    "parameters": [{"name": "id", "in": "path", "argument": "order_id"}],
}
WRITE_REQUEST = {
    "method": "POST",
    "path": "/orders",
    "body": {"content_type": "application/json", "properties": {"product": {"name": "sku"}}},
}


def build_json(value: Any, status: str = "200 OK", **headers: str) -> bytes:
    return build_response(orjson.dumps(value), status, Content_Type="application/json", **headers)


class HttpUpstream:
    """The service. `answer` is what it answers, to all requests or by request; `requests` is what it got."""

    def __init__(self) -> None:
        self.answer: ResponseBytes | Callable[[bytes], ResponseBytes] = build_json({"id": "7", "state": "open"})
        self.server = Server(lambda request: self.answer(request) if callable(self.answer) else self.answer)

    @property
    def requests(self) -> list[bytes]:
        return self.server.requests

    @property
    def base_url(self) -> str:
        return self.server.url("/v1")

    def get_head(self, index: int = -1) -> str:
        """Return the request line and the headers of a request, in lower case from the second line on."""
        line, _, headers = self.requests[index].partition(b"\r\n\r\n")[0].decode().partition("\r\n")
        return f"{line}\r\n{headers.lower()}\r\n"

    def get_json(self, index: int = -1) -> Any:
        return orjson.loads(self.requests[index].partition(b"\r\n\r\n")[2])


def publish_ops(*entries: dict[str, Any], base_url: str, **connection: Any) -> None:
    """Publish ops at one connection, besides what is live. Fields of the connection are passed by name."""
    Connection.objects.update_or_create(name=NAME, defaults={"kind": "http", "base_url": base_url, **connection})
    groups = sorted({entry["op"].rpartition(".")[0] for entry in entries} | {"shop"})
    loader.load_into_draft(
        {
            "format": 1,
            "groups": [{"path": path, "summary": f"Group {path}"} for path in groups],
            "ops": [entry | {"connection": NAME, "needs_subject": False} for entry in entries],
        }
    )
    with suppress(lifecycle.AlreadyLive):
        publishing.publish_draft(note="For tests", by="tests", at=timezone.now())
    cache.refresh_live()
    connections.clear_connections()


def build_read(**fields: Any) -> dict[str, Any]:
    """Return the entry of an op that gets an order."""
    schema = build_schema(("order_id",), order_id=ORDER_ID)
    return build_op_entry(READ, parameters_schema=schema, request=READ_REQUEST, **fields)


def build_write(**fields: Any) -> dict[str, Any]:
    """Return the entry of an op that creates an order."""
    schema = build_schema(("product",), product={"type": "string"})
    return build_op_entry(WRITE, kind="write", parameters_schema=schema, request=WRITE_REQUEST, **fields)


@pytest.fixture
def http_upstream() -> Iterator[HttpUpstream]:
    """Start the service. It stops after the test."""
    upstream = HttpUpstream()
    yield upstream
    client.close_idle_connections()
    upstream.server.stop()


@pytest.fixture
def shop(live_catalog: object, http_upstream: HttpUpstream) -> HttpUpstream:
    """Publish an op that reads and one that writes."""
    publish_ops(build_read(), build_write(), base_url=http_upstream.base_url)
    return http_upstream
