"""Short ways to build OpenAPI documents."""

import json
from typing import Any

from registry.imports.openapi import OpenApiDocument, Operation, parse_document

OK = {"200": {"description": "Done."}}


def build_document(paths: dict[str, Any], version: str = "3.1.0", **fields: Any) -> dict[str, Any]:
    """Return a document with these paths. Operations without responses get one."""
    key = "swagger" if version.startswith("2") else "openapi"
    filled = {
        path: {
            method: {"responses": OK} | operation if isinstance(operation, dict) else operation
            for method, operation in item.items()
        }
        for path, item in paths.items()
    }
    return {key: version, "info": {"title": "Pets", "version": "1"}, "paths": filled} | fields


def parse(document: dict[str, Any], **options: Any) -> OpenApiDocument:
    return parse_document(json.dumps(document).encode(), **options)


def map_operation(operation: dict[str, Any], *, path: str = "/pets", method: str = "post", **fields: Any) -> Operation:
    """Return the only operation of a document."""
    document = parse(build_document({path: {method: operation}}, **fields))
    assert document.refusals == ()
    return document.operations[0]


def build_body(schema: Any, media_type: str = "application/json", **fields: Any) -> dict[str, Any]:
    """Return an operation with a required body."""
    return {"requestBody": {"required": True, "content": {media_type: {"schema": schema} | fields}}}
