"""An OpenAPI document of any number of operations, as those of services are: paths, parameters, bodies and schemas."""

from ipaddress import ip_network
from typing import Any

METHODS_PER_RESOURCE = 5
READ_PATH = "/orders-0/{id}"
READ_OPERATION = "getOrder0"  # its operationId
LOOPBACK = (ip_network("127.0.0.0/8"),)  # where the service is

_ERROR = {"description": "The request is invalid.", "content": {"application/json": {"schema": {"type": "object"}}}}


def build_document(operations: int, base_url: str) -> dict[str, Any]:
    """Return a document with this many operations: list, create, get, update and delete of each resource."""
    resources = -(-operations // METHODS_PER_RESOURCE)
    paths: dict[str, Any] = {}
    schemas: dict[str, Any] = {"Address": _build_address()}
    for number in range(resources):
        schemas[f"Order{number}"] = _build_order(number)
        paths |= _build_paths(number)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Orders", "version": "1"},
        "servers": [{"url": base_url}],
        "paths": paths,
        "components": {"schemas": schemas},
    }


def _build_paths(number: int) -> dict[str, Any]:
    name, reference = f"orders-{number}", {"$ref": f"#/components/schemas/Order{number}"}
    body = {"required": True, "content": {"application/json": {"schema": reference}}}
    one = {"200": {"description": "The order", "content": {"application/json": {"schema": reference}}}, "422": _ERROR}
    rows = {"type": "object", "properties": {"items": {"type": "array", "items": reference}}}
    many = {"200": {"description": "The orders", "content": {"application/json": {"schema": rows}}}}
    id = {"name": "id", "in": "path", "required": True, "schema": {"type": "string", "maxLength": 40}}
    none = {"204": {"description": "Deleted"}}
    return {
        f"/{name}": {
            "get": _build_operation("list", number, parameters=_FILTERS, responses=many),
            "post": _build_operation("create", number, requestBody=body, responses=one),
        },
        f"/{name}/{{id}}": {
            "parameters": [id],
            "get": _build_operation("get", number, responses=one),
            "patch": _build_operation("change", number, requestBody=body, responses=one),
            "delete": _build_operation("delete", number, responses=none),
        },
    }


def _build_operation(verb: str, number: int, **fields: Any) -> dict[str, Any]:
    summary = f"{verb.capitalize()} orders of region {number}"
    return {"operationId": f"{verb}Order{number}", "summary": summary, "tags": [f"orders-{number}"], **fields}


_FILTERS = [
    {"name": "status", "in": "query", "schema": {"type": "string", "enum": ["open", "paid", "sent"]}},
    {"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20}},
    {"name": "cursor", "in": "query", "schema": {"type": "string"}, "description": "The next_cursor of a list."},
]


def _build_order(number: int) -> dict[str, Any]:
    line = {
        "type": "object",
        "properties": {"sku": {"type": "string"}, "quantity": {"type": "integer", "minimum": 1}},
        "required": ["sku", "quantity"],
    }
    return {
        "type": "object",
        "description": f"An order of region {number}.",
        "properties": {
            "customer": {"type": "string", "maxLength": 80, "description": "The customer's name."},
            "status": {"type": "string", "enum": ["open", "paid", "sent"]},
            "lines": {"type": "array", "items": line},
            "address": {"$ref": "#/components/schemas/Address"},
            "note": {"type": ["string", "null"]},
        },
        "required": ["customer", "lines"],
    }


def _build_address() -> dict[str, Any]:
    text = {"type": "string", "maxLength": 100}
    return {"type": "object", "properties": {"street": text, "city": text, "country": text}, "required": ["city"]}
