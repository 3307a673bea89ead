"""An OpenAPI document on one server that refers to a file on another one."""

from collections.abc import Iterator
from typing import Any

import pytest

from core.http import client
from registry.imports import document_source, import_document
from registry.imports.import_document import ReadDocument
from tests.support.upstreams.http_servers import Server
from tests.support.upstreams.http_upstream import build_json
from tests.support.upstreams.openapi_documents import build_document

LIMIT = {"name": "limit", "in": "query", "schema": {"type": "integer"}}
OTHER = {"limit": LIMIT, "pet": {"type": "object", "properties": {"name": {"type": "string"}}}}


def build_body(ref: str) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": {"$ref": ref}}}}}


class TwoHosts:
    """A server with a document, and another one with a file that it refers to."""

    def __init__(self) -> None:
        self.summary, self.is_moved = "List toys", False
        self.other = Server(lambda _: build_json(OTHER))
        self.own = Server(self._answer)
        self.other_host = self.other.url("").removeprefix("http://").rstrip("/")

    @property
    def document(self) -> dict[str, Any]:
        ref = self.other.url("/common.json")
        limit = {"$ref": f"{ref}#/limit"}
        return build_document(
            {
                "/pets": {"get": {"parameters": [limit]}, "post": build_body("#/components/schemas/A")},
                "/toys": {"get": {"summary": self.summary}, "post": build_body("#/components/schemas/B")},
            },
            components={
                "schemas": {
                    "A": {"properties": {"b": {"$ref": "#/components/schemas/B"}}},
                    "B": {"properties": {"a": {"$ref": "#/components/schemas/A"}, "pet": {"$ref": f"{ref}#/pet"}}},
                }
            },
        )

    def read(self, *hosts: str, path: str = "/openapi.json") -> ReadDocument:
        return import_document.read_document(document_source.fetch_document(self.own.url(path), hosts))

    def _answer(self, request: bytes) -> bytes:
        if self.is_moved or request.startswith(b"GET /moved"):
            return b"HTTP/1.1 302 Found\r\nlocation: %s\r\ncontent-length: 0\r\n\r\n" % self.other.url("/x").encode()
        return build_json(self.document)


@pytest.fixture
def two_hosts() -> Iterator[TwoHosts]:
    """Start both servers. They stop after the test."""
    servers = TwoHosts()
    yield servers
    client.close_idle_connections()
    servers.own.stop()
    servers.other.stop()
