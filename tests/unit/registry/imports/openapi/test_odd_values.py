"""An odd value at any place of a document refuses an operation or the document, and raises nothing else."""

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from registry.imports import import_document
from registry.imports.document_source import DocumentFiles, UnreadableDocument
from registry.imports.import_document import Selection
from tests.support.cpu_budget import examples
from tests.support.upstreams.openapi_documents import build_document
from tests.support.values.json_samples import ORDINARY_JSON

PET = {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}, "pet": {"$ref": "#/x"}}}
LIMIT = {"name": "limit", "in": "query", "style": "form", "explode": True, "schema": {"type": "integer"}}
OPERATION = {
    "operationId": "addPet",
    "tags": ["pets"],
    "summary": "Add a pet",
    "deprecated": False,
    "security": [{"key": []}],
    "requestBody": {"required": True, "content": {"application/json": {"schema": PET, "example": {"id": 1}}}},
    "responses": {"200": {"description": "Done.", "content": {"application/json": {"schema": PET}}}},
}
SERVERS = [{"url": "https://{region}.example.com", "variables": {"region": {"default": "a", "enum": ["a"]}}}]
FLOWS = {"clientCredentials": {"tokenUrl": "https://example.com/token", "scopes": {"read": "Read"}}}
DOCUMENTS = (
    build_document(
        {"/pets/{id}": {"parameters": [LIMIT | {"name": "id", "in": "path", "required": True}], "post": OPERATION}},
        servers=SERVERS,
        tags=[{"name": "pets", "description": "Pets"}],
        components={
            "schemas": {"Pet": PET},
            "parameters": {"limit": LIMIT},
            "securitySchemes": {
                "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
                "oauth": {"type": "oauth2", "flows": FLOWS},
            },
        },
    ),
    build_document(
        {"/pets": {"post": OPERATION | {"parameters": [{"name": "pet", "in": "body", "schema": PET}]}}},
        version="2.0",
        host="example.com",
        basePath="/v1",
        schemes=["https"],
        consumes=["application/json"],
        definitions={"Pet": PET},
        securityDefinitions={"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
    ),
)
ODD = st.sampled_from(
    [
        *(None, True, 0, -1, 1e308, 10**400),
        *("", "\0", "\ud800", "a" * 5_000),
        *([], [[]], {}, {"": None}, [None]),
        *({"$ref": ref} for ref in ("#", "#/paths", "#/components/schemas/Pet", "http://[", "//", "", None, 1, [])),
        {"type": ["object", None]},
        {"allOf": [{"$ref": "#"}]},
    ]
)


def list_places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield (*place, key)
        yield from list_places(each, (*place, key))


def replace(value: Any, place: tuple[Any, ...], new: Any, *, is_key: bool) -> None:
    for key in place[:-1]:
        value = value[key]
    if is_key and isinstance(value, dict):
        value[json.dumps(new)[:50]] = value.pop(place[-1])
    else:
        value[place[-1]] = new


PLACES = [(document, place) for document in DOCUMENTS for place in list_places(document)]


@given(st.sampled_from(PLACES), ODD | ORDINARY_JSON, st.booleans())
@settings(max_examples=examples(500))
def test_odd_value_at_any_place(at: tuple[dict[str, Any], tuple[Any, ...]], odd: Any, is_key: bool) -> None:
    document = deepcopy(at[0])
    replace(document, at[1], odd, is_key=is_key)
    files = DocumentFiles("file:///x", {"file:///x": json.dumps(document).encode()})

    try:
        content = import_document.read_document(files)
    except UnreadableDocument:
        return

    import_document.describe_connection(content.content)
    source = content.pick(Selection(), "pets")
    assert len(source.ops) + len(source.refusals) >= len(content.content.operations)
