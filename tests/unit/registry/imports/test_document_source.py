"""A document and its files are read from hosts that somebody allowed, within one budget."""

import json
from dataclasses import replace
from typing import Any

import pytest

from registry.imports import document_source, import_document
from registry.imports.document_source import DocumentFiles, HostNotAllowed, UnreadableDocument
from registry.imports.import_document import ReadDocument
from registry.imports.openapi import parse_document
from registry.imports.openapi.references import DocumentTooLarge
from tests.support.loops import for_each
from tests.support.upstreams.openapi_documents import build_document
from tests.support.upstreams.two_hosts import OTHER, TwoHosts


def list_names(document: ReadDocument) -> list[str]:
    return [each.name for each in document.content.operations]


def test_another_host_is_not_asked_and_what_needs_it_is_refused(two_hosts: TwoHosts) -> None:
    document = two_hosts.read()

    assert list_names(document) == ["GET /toys"]
    assert [each.name for each in document.content.refusals] == ["GET /pets", "POST /pets", "POST /toys"]
    for refusal in document.content.refusals:
        assert refusal.is_unread
        assert f"another host, {two_hosts.other_host}, which was not called" in refusal.reason
    assert document.files.unasked_hosts == [two_hosts.other_host]
    assert two_hosts.other.requests == []
    files = document.files
    stored = document_source.read_archive(files.to_archive(), files.hosts, files.unasked)
    assert list_names(import_document.read_document(stored)) == ["GET /toys"]


def test_another_host_is_asked_once_it_is_allowed(two_hosts: TwoHosts) -> None:
    document = two_hosts.read(two_hosts.other_host)

    assert list_names(document) == ["GET /pets", "POST /pets", "GET /toys", "POST /toys"]
    assert (document.content.refusals, document.files.unasked_hosts) == ((), [])
    assert len(two_hosts.other.requests) == 1
    assert document.compute_digest() == two_hosts.read().compute_digest()  # the daily check compares without it


def test_a_redirect_to_another_host_is_not_followed_unless_it_is_allowed(two_hosts: TwoHosts) -> None:
    with pytest.raises(HostNotAllowed, match=two_hosts.other_host):
        two_hosts.read(path="/moved")
    assert two_hosts.other.requests == []

    files = document_source.fetch_document(two_hosts.own.url("/moved"), [two_hosts.other_host])
    assert (files.url, json.loads(files.document)) == (two_hosts.other.url("/x"), OTHER)


@for_each(
    "url, host",
    [
        ("https://a.example/x", "a.example"),
        ("https://A.example.:443/x", "a.example"),
        ("http://a.example:80", "a.example"),
        ("http://a.example:443", "a.example:443"),
        ("https://user@a.example:8443/x", "a.example:8443"),
        ("https://a.example:x/", ""),
        ("file:///srv/a.json", ""),
    ],
)
def test_host_of_an_address(url: str, host: str) -> None:
    assert document_source.get_host(url) == host


def test_all_files_share_one_budget_of_bytes(two_hosts: TwoHosts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_source, "MAX_BYTES", len(json.dumps(two_hosts.document)) + 10)

    document = two_hosts.read(two_hosts.other_host)

    assert "GET /pets" not in list_names(document)


def build_large(size: int) -> DocumentFiles:
    text = {"description": "word " * 200}
    document = build_document({f"/a{number}": {"get": text} for number in range(size // 1_100)})
    return DocumentFiles("file:///x", {"file:///x": json.dumps(document).encode()})


def test_a_large_document_is_parsed_in_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    files = build_large(1_200_000)
    assert files.size > import_document.MAX_BYTES_HERE
    apart = import_document.read_document(files)

    monkeypatch.setattr(import_document, "MAX_BYTES_HERE", files.size)
    assert import_document.read_document(files).content == apart.content
    many = DocumentFiles("file:///x", {"file:///x": b"openapi: 3.1.0\npaths: {/a: {get: {}}}\nx: [1, 2, 3]"})
    monkeypatch.setattr(import_document, "MAX_VALUES_HERE", 5)  # of a document with many values
    assert list_names(import_document.read_document(many)) == ["GET /a"]


def test_references_that_many_operations_share_count_as_values() -> None:
    fields = {f"f{number}": {"$ref": "#/components/schemas/A"} for number in range(100)}
    body = {"content": {"application/json": {"schema": {"type": "object", "properties": fields}}}}
    paths = {
        f"/a{number}": {"post": {"requestBody": {"$ref": "#/components/requestBodies/B"}}} for number in range(100)
    }
    components = {"schemas": {"A": {"type": "string"}}, "requestBodies": {"B": body}}
    document = json.dumps(build_document(paths, components=components)).encode()

    assert len(parse_document(document, most_values=20_000).operations) == 100
    with pytest.raises(DocumentTooLarge):
        parse_document(document, most_values=5_000)


def test_the_process_has_a_memory_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = {"/a": {"get": {}}}
    small, large = build_document(paths), build_document(paths, x=[[]] * 2_000_000)
    monkeypatch.setattr(import_document, "MAX_BYTES_HERE", 0)
    monkeypatch.setattr(import_document, "MAX_MEMORY", 300_000_000)  # the lists alone need two thirds of it

    def read(document: dict[str, object]) -> ReadDocument:
        return import_document.read_document(DocumentFiles("file:///x", {"file:///x": json.dumps(document).encode()}))

    assert list_names(read(small)) == ["GET /a"]
    with pytest.raises(UnreadableDocument, match="The document needs too much memory"):
        read(large)

    monkeypatch.setattr(import_document, "MAX_MEMORY", 1_000_000_000)
    assert list_names(read(large)) == ["GET /a"]


def test_the_process_has_a_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_document, "MAX_BYTES_HERE", 0)
    monkeypatch.setattr(document_source, "MAX_SECONDS", 0.01)

    with pytest.raises(UnreadableDocument, match="The document and its files were not read within"):
        import_document.read_document(build_large(20_000))


def test_another_file_is_loaded_for_the_process(two_hosts: TwoHosts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_document, "MAX_BYTES_HERE", 0)

    assert len(list_names(two_hosts.read(two_hosts.other_host))) == 4
    assert [each.name for each in two_hosts.read().content.refusals] == ["GET /pets", "POST /pets", "POST /toys"]


@for_each(
    "schema, row",
    [
        ({"properties": {"id": {}, "name": {}, "tags": {"type": "array"}}}, {"id": "id", "name": "name"}),
        ({"$ref": "#/components/schemas/Answer"}, {"id": "data.petId", "name": "data.name"}),
        ({"allOf": [{"$ref": "#/components/schemas/Pet"}, {"properties": {"id": {}}}]}, {"id": "id", "name": "name"}),
        ({"type": "array", "items": {"properties": {"id": {}}}}, None),
        ({"properties": {"pets": {"type": "array", "items": {"$ref": "#/components/schemas/Pet"}}}}, None),
        ({"properties": {"pet": {"$ref": "#/components/schemas/Missing"}}}, None),
        ({"properties": {"self": {"$ref": "#/components/schemas/Loop"}}}, None),
        ({}, None),
    ],
)
def test_schema_of_an_answer_says_where_its_row_is(schema: dict[str, Any], row: dict[str, str] | None) -> None:
    schemas = {
        "Pet": {"type": "object", "properties": {"petId": {}, "name": {}}},
        "Answer": {"properties": {"data": {"$ref": "#/components/schemas/Pet"}, "meta": {"properties": {"id": {}}}}},
        "Loop": {"properties": {"self": {"$ref": "#/components/schemas/Loop"}}},
    }
    created = {"201": {"description": "Made", "content": {"application/json": {"schema": schema}}}}
    document = parse_document(
        json.dumps(
            build_document({"/pets": {"post": {"responses": created}}}, components={"schemas": schemas})
        ).encode()
    )

    (op,) = document_source.build_source(document, whole=document).ops

    assert op.fields.get("result_row") == row
    without = replace(op, fields={name: value for name, value in op.fields.items() if name != "result_row"})
    assert op.compute_digest() == without.compute_digest()  # definitions of earlier versions have no such field
