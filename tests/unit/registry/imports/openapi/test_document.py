"""An OpenAPI document as operations: all versions alike, none lost, and clear words for what cannot be read."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry import request_mapping
from registry.imports.openapi import InvalidDocument, SecurityScheme, parse_document
from registry.imports.openapi.yaml_values import parse_yaml
from registry.jsonschema import schema_check
from tests.support.growth import assert_linear
from tests.support.loops import for_each
from tests.support.upstreams.openapi_documents import OK, build_body, build_document, parse

PET_ID = {"name": "petId", "in": "path", "required": True}
SWAGGER = build_document(
    {
        "/pets/{petId}": {
            "patch": {
                "operationId": "updatePet",
                "summary": "Update a pet",
                "consumes": ["application/json"],
                "parameters": [
                    PET_ID | {"type": "integer"},
                    {"name": "tags", "in": "query", "type": "array", "items": {"type": "string"}},
                    {"name": "pet", "in": "body", "required": True, "schema": {"$ref": "#/definitions/Pet"}},
                ],
            }
        }
    },
    version="2.0",
    host="api.example.com",
    basePath="/v1",
    definitions={"Pet": {"type": "object", "properties": {"name": {"type": "string"}}}},
)
OPENAPI = build_document(
    {
        "/pets/{petId}": {
            "patch": {
                "operationId": "updatePet",
                "summary": "Update a pet",
                "parameters": [
                    PET_ID | {"schema": {"type": "integer"}},
                    {
                        "name": "tags",
                        "in": "query",
                        "explode": False,
                        "schema": {"type": "array", "items": {"type": "string"}},
                    },
                ],
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}},
                },
            }
        }
    },
    servers=[{"url": "https://{region}.example.com/v1", "variables": {"region": {"default": "api"}}}],
    components={"schemas": {"Pet": {"type": "object", "properties": {"name": {"type": "string"}}}}},
)


@for_each("document", [SWAGGER, OPENAPI, OPENAPI | {"openapi": "3.0.3"}])
def test_all_versions_become_the_same_operation(document: dict[str, Any]) -> None:
    parsed = parse(document)

    assert (parsed.base_url, parsed.refusals) == ("https://api.example.com/v1", ())
    (operation,) = parsed.operations
    assert (operation.name, operation.tool_name, operation.mapped.is_write) == (
        "PATCH /pets/{petId}",
        "update_pet",
        True,
    )
    assert operation.mapped.schema == {
        "type": "object",
        "properties": {
            "petId": {"type": "integer"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "name": {"type": "string"},
        },
        "required": ["petId"],
        "additionalProperties": False,
    }
    assert operation.mapped.request == {
        "method": "PATCH",
        "path": "/pets/{petId}",
        "parameters": [{"name": "petId", "in": "path"}, {"name": "tags", "in": "query", "explode": False}],
        "body": {"content_type": "application/json", "properties": {"name": {}}},
    }


def test_yaml_is_read_as_the_json_that_it_means() -> None:
    text = """
openapi: 3.1.0
info: {title: On, version: 2024-01-31}
paths:
  /answers:
    get:
      parameters:
        - {name: on, in: query, schema: {type: string, enum: [yes, no, 2024-01-31]}}
      responses: {200: {description: Done.}}
"""
    (operation,) = parse_document(text.encode()).operations

    assert operation.mapped.schema["properties"] == {"on": {"type": "string", "enum": ["yes", "no", "2024-01-31"]}}


@for_each(
    "raw, problem",
    [
        (b"\xff\xfe", "The document is not UTF-8."),
        (b'{"openapi": "3.1.0",}', "The document is not JSON: "),
        (b"a: [b", "The document is neither JSON nor YAML at line"),
        (b"{}", "It has neither openapi nor swagger."),
        (b'{"openapi": "4.0.0", "paths": {}}', "nor Swagger 2.0. It says 4.0.0."),
        (b'{"openapi": "3.1.0", "paths": {}}', "The document has no operations."),
        (b'{"a":' * 5_000 + b"1" + b"}" * 5_000, "The document is nested more than"),
        (
            b"a: &a [x]\nb: &b [*a,*a]\n"
            + b"".join(b"%c: &%c [%s]\n" % (c, c, b",".join([b"*%c" % (c - 1)] * 20)) for c in b"cdefgh"),
            "The document has more than 5,000,000 values",
        ),
        (b"a: " + b"[" * 50_000, "The file is nested more than 200 levels deep."),
    ],
)
def test_what_cannot_be_read_is_said(raw: bytes, problem: str) -> None:
    with pytest.raises(InvalidDocument) as error:
        parse_document(raw)

    assert problem in str(error.value)


def test_other_files_are_loaded_and_a_missing_one_refuses_only_what_needs_it() -> None:
    document = build_document(
        {
            "/pets": {"get": {"parameters": [{"$ref": "common.yaml#/limit"}]}},
            "/toys": {"get": {"parameters": [{"$ref": "lost.yaml#/limit"}]}},
        }
    )
    files = {"https://example.com/common.yaml": b"limit: {name: limit, in: query, schema: {type: integer}}"}

    parsed = parse(document, url="https://example.com/openapi.json", load=files.__getitem__)

    assert [each.mapped.schema["properties"] for each in parsed.operations] == [{"limit": {"type": "integer"}}]
    ((name, reason),) = [(each.name, each.reason) for each in parsed.refusals]
    assert name == "GET /toys"
    assert "It refers to another file, https://example.com/lost.yaml" in reason


@for_each(
    "schemes, found",
    [
        ({"a": {"type": "http", "scheme": "Bearer"}}, SecurityScheme("bearer")),
        ({"a": {"type": "http", "scheme": "basic"}}, SecurityScheme("basic")),
        ({"a": {"type": "apiKey", "in": "query", "name": "key"}}, SecurityScheme("api_key", "key", "query")),
        ({"a": {"type": "apiKey", "in": "header", "name": "Authorization"}}, SecurityScheme("bearer")),
        (
            {
                "a": {
                    "type": "oauth2",
                    "flows": {"clientCredentials": {"tokenUrl": "https://a.b/t", "scopes": {"x": ""}}},
                }
            },
            SecurityScheme("oauth2_client_credentials", token_url="https://a.b/t", scopes=("x",)),
        ),
        ({"a": {"type": "mutualTLS"}}, SecurityScheme()),
    ],
)
def test_authentication_is_read(schemes: dict[str, Any], found: SecurityScheme) -> None:
    document = build_document({"/": {"get": {}}}, components={"securitySchemes": schemes}, security=[{"a": []}])

    assert parse(document).security == found


def test_operations_are_picked_by_tag_method_words_and_age() -> None:
    document = parse(
        build_document(
            {
                "/pets": {
                    "get": {"tags": ["pets"], "summary": "List pets"},
                    "post": {"tags": ["pets"], "summary": "Add a pet", "deprecated": True},
                },
                "/health": {"get": {"summary": "Tell the state"}},
            }
        )
    )

    def pick(**selection: Any) -> list[str]:
        return [each.name for each in document.select(**selection).operations]

    assert pick(tags=["pets"]) == ["GET /pets", "POST /pets"]
    assert pick(tags=[""]) == ["GET /health"]
    assert pick(methods=["post"]) == ["POST /pets"]
    assert pick(search="LIST pets") == ["GET /pets"]
    assert pick(include_deprecated=False) == ["GET /pets", "GET /health"]


def test_what_the_gateway_never_sends_is_refused_with_the_reason() -> None:
    document = build_document(
        {
            "/a": {"get": {}, "trace": {}},
            "/b": {"get": "x"},
            "/pets": {"get": {"servers": [{"url": "https://api.example.com/v1/"}]}},
            "/files": {"post": {"servers": [{"url": "https://uploads.example.com"}]}},
        },
        servers=[{"url": "https://api.example.com/v1"}],
    )

    other = "It is at another server, https://uploads.example.com. Add it by hand to a separate connection."
    assert [(each.name, each.reason) for each in parse(document).refusals] == [
        ("TRACE /a", "The gateway does not send TRACE requests."),
        ("GET /b", "It is not an object."),
        ("POST /files", other),
    ]


def test_idempotency_keys_are_the_gateways_business() -> None:
    header = {"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}}
    document = parse(build_document({"/pets": {"post": {"parameters": [header]}}}))

    assert document.idempotency_header == "Idempotency-Key"
    assert document.operations[0].mapped.schema["properties"] == {}


KEYS = """
    type properties required items allOf oneOf $ref enum name in schema content example description
""".split()
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.sampled_from(["string", "object", "array", "#/components/x", ""]),
    lambda children: (
        st.lists(children, max_size=3)
        | st.dictionaries(
            st.sampled_from(KEYS),
            children,
            max_size=5,
        )
    ),
    max_leaves=12,
)
OPERATIONS = st.fixed_dictionaries(
    {}, optional={"parameters": JSON, "requestBody": JSON, "responses": JSON, "summary": JSON, "tags": JSON}
)
PATHS = st.dictionaries(
    st.sampled_from(["/", "/pets", "/pets/{id}", "/pets/{id}:send", "/a b/{x}{y}", "/v1/pets?kind=cat", "pets#1"]),
    st.dictionaries(st.sampled_from(["get", "post", "put", "delete", "trace"]), OPERATIONS | JSON, min_size=1),
    min_size=1,
)


@given(PATHS)
def test_no_operation_is_lost_and_each_can_be_sent(paths: dict[str, Any]) -> None:
    parsed = parse({"openapi": "3.1.0", "paths": paths})

    names = [each.name for each in (*parsed.operations, *parsed.refusals)]
    assert sorted(names) == sorted(f"{method.upper()} {path}" for path, item in paths.items() for method in item)
    for operation in parsed.operations:
        mapped = operation.mapped
        assert schema_check.find_problems(mapped.schema) == []
        assert request_mapping.find_problems(mapped.request, list(mapped.schema["properties"])) == []
        assert mapped.summary
        json.dumps(mapped.schema)


def test_titles_of_invisible_characters_are_empty() -> None:
    operations = {
        "get": {"summary": "\u3164\ufeff", "description": "List the pets."},
        "post": {"summary": "Add a pet", "description": "\u3164\u200d"},
    }
    document = parse(build_document({"/x": operations}, info={"title": "\u3164\u115f\u200d", "version": "1"}))

    assert document.title == ""
    assert [each.mapped.summary for each in document.operations] == ["List the pets", "Add a pet"]
    assert [each.mapped.description for each in document.operations] == ["List the pets.", "Add a pet"]


def test_odd_numbers_indexes_and_halves_of_characters_fail_no_import() -> None:
    raw = (
        b'{"openapi": "3.1.0", "info": {"title": "a\\ud800"}, "paths": {"/a": {"get": {"parameters": ['
        b'{"name": "n", "in": "query", "schema": {"type": "integer", "maximum": %s}}]}}, '
        b'"/b": {"get": {"parameters": [{"$ref": "#/list/%s"}]}}, "/c\\ud800": {"get": {}}}, "list": [1]}'
    ) % (b"9" * 400, b"9" * 5_000)

    document = parse_document(raw)

    assert [each.name for each in document.refusals] == ["GET /b", "GET /c\ufffd"]
    assert document.title == "a\ufffd"


def list_items(size: int) -> list[str]:
    return [f"a{chr(0x4E00 + at)}" for at in range(size)]  # the same once cleaned


GROWING = {
    "paths": lambda size: build_document({f"/{name}": {"get": OK} for name in list_items(size)}),
    "parameters": lambda size: build_document(
        {"/a": {"get": {"parameters": [{"name": name, "in": "query"} for name in list_items(size)]}}}
    ),
    "definitions": lambda size: build_document(
        {
            "/a": {
                "post": build_body({"anyOf": [{"$ref": f"#/components/schemas/{name}"} for name in list_items(size)]})
            }
        },
        components={"schemas": {name: {"type": "string"} for name in list_items(size)}},
    ),
}


@pytest.mark.parametrize("build", GROWING.values(), ids=GROWING)
def test_documents_are_read_in_linear_time(build: Callable[[int], dict[str, Any]]) -> None:
    assert_linear(parse_document, lambda size: json.dumps(build(size)).encode(), size=1_000)


def test_merge_keys_of_yaml_are_read_in_linear_time() -> None:
    def build(size: int) -> str:
        own = "".join(f"  b{at}: 1\n" for at in range(size))
        return f"a: &a {{x: 1, y: 2}}\nb:\n  <<: [{', '.join(['*a'] * size)}]\n{own}"

    assert parse_yaml("a: &a {x: 1, y: 2}\nb: &b {y: 3}\nc: {<<: [*b, *a], z: 4}", most=50)["c"] == {
        "x": 1,
        "y": 3,
        "z": 4,
    }
    assert_linear(lambda text: parse_yaml(text, most=1_000_000), build, size=5_000)
