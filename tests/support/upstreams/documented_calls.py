"""The request of a call of a documented operation, from its document to the bytes: no database, no network."""

import json
from dataclasses import dataclass
from typing import Any

from gateway.arguments import coercion
from gateway.arguments.normalise import drop_nulls
from gateway.contracts.errors import GatewayError
from gateway.executors.http import request_builder
from registry.catalog.connections import ConnectionConfig
from registry.imports.openapi import Operation, parse_document
from registry.jsonschema import validator
from registry.request_mapping import parse_mapping
from tests.support.upstreams.openapi_documents import OK

HOST = "https://api.example.com"
FILES = {"f-1": ("a.png", "image/png", b"PNG"), "f-2": ("b.pdf", "application/pdf", b"PDF")}


class Refused(Exception):
    """The args are refused; nothing would be sent."""


@dataclass
class Sent:
    """The request: GET /pets?limit=2, its headers and its body."""

    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def read_operation(document: str | dict[str, Any]) -> Operation:
    """Return the only operation of a document. Nothing must be left out."""
    text = document if isinstance(document, str) else json.dumps(document)
    parsed = parse_document(text.encode())
    assert parsed.refusals == ()
    (operation,) = parsed.operations
    return operation


def load_file(file_id: str) -> tuple[str, str, bytes]:
    if file_id not in FILES:
        raise Refused(f"no file {file_id}")
    return FILES[file_id]


def send(document: str | dict[str, Any], /, **args: Any) -> Sent:
    """Return the request that args become. Raises Refused."""
    mapped = read_operation(document).mapped
    args = json.loads(json.dumps(args))
    drop_nulls(mapped.schema, args)
    args = coercion.convert_whole_numbers(mapped.schema, args)
    coercion.fill_defaults(mapped.schema, args)
    if problems := validator.find_instance_problems(mapped.schema, args):
        raise Refused(" ".join(problems))
    config = ConnectionConfig("api", "http", base_url=HOST)
    try:
        built = request_builder.build_request(parse_mapping(mapped.request), args, config, load_file=load_file)
    except GatewayError as error:
        raise Refused(str(error)) from None
    return Sent(f"{built.method} {built.url.removeprefix(HOST)}", dict(built.headers), built.body or b"")


def describe_post(schema: Any, media_type: str = "application/json", *, version: str = "3.0.3", **more: Any) -> Any:
    """Return a document with one operation, POST /things, whose body has this schema. `more` are schemas by name."""
    encoding = {"encoding": more.pop("encoding")} if "encoding" in more else {}
    is_required = more.pop("is_required", True)
    body: dict[str, Any] = {"content": {media_type: {"schema": schema} | encoding}}
    body |= {"required": True} if is_required else {}
    return {
        "openapi": version,
        "info": {"title": "Things", "version": "1"},
        "paths": {"/things": {"post": {"requestBody": body, "responses": OK}}},
        "components": {"schemas": more},
    }


def describe_get(*parameters: dict[str, Any], path: str = "/things", version: str = "3.0.3", **fields: Any) -> Any:
    """Return a document with one operation, a GET with these parameters."""
    key = "swagger" if version.startswith("2") else "openapi"
    operation = {"parameters": list(parameters), "responses": OK} | fields
    return {key: version, "info": {"title": "Things", "version": "1"}, "paths": {path: {"get": operation}}}


def refer(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}
