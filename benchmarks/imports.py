"""Import a document into the database of a benchmark, and measure how long that takes."""

import time
from typing import Any

import orjson
from django.utils import timezone

from benchmarks import notes_server, rows
from benchmarks.orders_document import READ_PATH, build_document
from registry.imports import document_source, import_document, mcp_import
from registry.imports.document_source import DocumentFiles
from registry.imports.import_document import ReadDocument, Selection
from registry.imports.run_import import ImportResult
from registry.models import Connection
from registry.releases import unpublished

GROUP = "service"
MAP_ROUNDS = 3
URL = "http://127.0.0.1:9/openapi.json"  # nothing is fetched from it


def connect_service(url: str) -> str:
    """Import the document at an address, publish its ops, and return the path of the op that the figures call."""
    result = _import(import_document.read_document(document_source.fetch_document(url)))
    _publish()
    return next(path for path, name in result.upstream_names.items() if name == f"GET {READ_PATH}")


def connect_mcp_server(url: str) -> str:
    """Import the tools of the server at an address, publish them, and return the path of the op."""
    connection = Connection.objects.create(name=GROUP, kind=Connection.Kind.MCP, base_url=url)
    result, _ = import_document.import_document(
        mcp_import.read_server(connection),
        Selection(),
        group=GROUP,
        connection=connection,
        by=rows.ACTOR,
        at=timezone.now(),
    )
    _publish()
    return next(path for path, name in result.upstream_names.items() if name == notes_server.TOOL)


def measure_import(operations: int) -> dict[str, Any]:
    """Return the seconds to map a document's operations, of each round, and to import them into the draft once."""
    files = DocumentFiles(URL, {URL: orjson.dumps(build_document(operations, "http://127.0.0.1:9"))})
    map_seconds = []
    for _ in range(MAP_ROUNDS):
        started = time.perf_counter()
        document = import_document.read_document(files)
        mapped = len(document_source.build_source(document.content, whole=document.content).ops)
        map_seconds.append(time.perf_counter() - started)
    started = time.perf_counter()
    imported = len(_import(document).upstream_names)
    import_seconds = time.perf_counter() - started
    return {"mapped": mapped, "imported": imported, "map_s": map_seconds, "import_s": import_seconds}


def _publish() -> None:
    rows.publish_draft()
    while unpublished.count_batch():  # otherwise the servers would count tokens during the measurement
        pass


def _import(document: ReadDocument) -> ImportResult:
    """Import all operations of a document into the draft."""
    fields = import_document.describe_connection(document.content)
    connection = Connection.objects.create(name=GROUP, kind=Connection.Kind.HTTP, **fields)
    result, _ = import_document.import_document(
        document, Selection(), group=GROUP, connection=connection, by=rows.ACTOR, at=timezone.now()
    )
    return result
