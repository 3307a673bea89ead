"""What a document says twice, and what OpenAPI 3.2 adds: nothing of it is lost without a word."""

import json

import pytest

from registry.imports.openapi import OpenApiDocument, parse_document
from tests.support.upstreams.openapi_documents import OK, build_document, parse

BOATS = """
{"openapi": "3.0.3", "info": {"title": "Boats", "version": "1"}, "paths": {
 "/boats": {"get": {"summary": "List boats"}, "parameters": [{"name": "a", "in": "query"}]},
 "/boats": {"post": {"summary": "Add a boat"}, "parameters": [{"name": "b", "in": "query"}]}}}
"""
YAML_BOATS = """
openapi: 3.0.3
info: {title: Boats, version: '1'}
paths:
  /boats:
    get: {summary: List boats}
  /boats:
    post: {summary: Add a boat}
"""


def list_names(document: OpenApiDocument) -> list[str]:
    return [each.name for each in document.operations]


@pytest.mark.parametrize("text", [BOATS, YAML_BOATS])
def test_operations_of_a_path_that_is_there_twice_are_all_read(text: str) -> None:
    document = parse_document(text.encode())

    assert list_names(document) == ["GET /boats", "POST /boats"]
    assert document.remarks == ()


@pytest.mark.parametrize("text", [BOATS.replace("post", "get"), YAML_BOATS.replace("post", "get")])
def test_operation_that_is_there_twice_is_reported(text: str) -> None:
    document = parse_document(text.encode())

    assert [(each.name, each.mapped.summary) for each in document.operations] == [("GET /boats", "Add a boat")]
    assert document.remarks == ("The document has get of /boats twice. Only the last one is read.",)


def test_other_keys_that_are_there_twice_are_reported_once() -> None:
    text = json.dumps(build_document({"/a": {"get": {}}})).replace(
        '"info"', '"x-a": 1, "x-a": 2, "x-b": 1, "x-b": 1, "info"'
    )

    assert parse_document(text.encode()).remarks == ("The document has x-a twice. Only the last one is read.",)


def test_methods_of_openapi_3_2_are_reported() -> None:
    described = build_document({"/a": {"get": {}, "query": {}}}, version="3.2.0")
    described["paths"]["/a"]["additionalOperations"] = {"COPY": {"responses": OK}}
    document = parse(described)

    assert list_names(document) == ["GET /a"]
    assert sorted((each.name, each.reason) for each in document.refusals) == [
        ("COPY /a", "The gateway does not send COPY requests."),
        ("QUERY /a", "The gateway does not send QUERY requests."),
    ]


@pytest.mark.parametrize("is_required", [True, False])
def test_whole_query_that_is_not_a_form_is_reported(is_required: bool) -> None:
    content = {"application/json": {"schema": {"type": "object"}}}
    parameter = {"name": "filter", "in": "querystring", "required": is_required, "content": content}
    document = parse(build_document({"/a": {"get": {"parameters": [parameter]}}}, version="3.2.0"))

    said = [each.reason for each in document.refusals] + [
        remark for each in document.operations for remark in each.mapped.remarks
    ]
    (sentence,) = said
    assert sentence.startswith("Its whole query is one value of application/json")
    assert bool(document.operations) is not is_required


@pytest.mark.parametrize("path", ["/a/{b", "/a}/b", "/a/{;b}", "/a?b=x{c}"])
def test_path_that_cannot_be_filled_in_is_left_out_with_the_reason(path: str) -> None:
    document = parse(build_document({path: {"get": {}}}))

    assert document.operations == ()
    assert document.refusals[0].reason.startswith("Its path has ")
