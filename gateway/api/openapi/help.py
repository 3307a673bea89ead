"""OpenAPI of help."""

from typing import Any

from drf_spectacular.utils import OpenApiResponse

from gateway.api.openapi.endpoint import build_query_parameters, describe_endpoint
from gateway.api.openapi.schema_parts import OBJECT, TEXT, TEXTS, build_array, build_object, build_ref
from gateway.contracts import request_schemas

_EXAMPLES = {"type": "array", "items": build_object({"args": OBJECT}, {"title": TEXT, "note": TEXT})}
_POLICY = build_object({}, {"do": TEXTS, "dont": TEXTS, "edge_cases": TEXTS})
_ARGUMENT = {"name": TEXT, "type": TEXT, "required": {"type": "boolean"}}
_OP = {"path": TEXT, "type": {"const": "op"}, "kind": {"enum": ["read", "write"]}}

COMPONENTS: dict[str, Any] = {
    "HelpRequest": request_schemas.HELP,
    "HelpGroup": build_object(
        {
            "path": TEXT,
            "type": {"const": "group"},
            "items": build_array({"path": TEXT}, {"summary": TEXT, "kind": {"enum": ["read", "write"]}}),
        },
        {"summary": TEXT, "next_cursor": TEXT},
        description="A group: its direct children, 50 per page.",
    ),
    "HelpOp": build_object(
        {**_OP, "args": {"type": "object", "additionalProperties": TEXT}},
        {"summary": TEXT, "examples": _EXAMPLES, "schema": OBJECT, "omitted": TEXTS},
        description="An op in the short format: its arguments as typed signatures.",
    ),
    "HelpOpFull": build_object(
        {
            **_OP,
            "args": build_array(_ARGUMENT, {"default": {}, "enum": {"type": "array"}, "description": TEXT}),
        },
        {
            "summary": TEXT,
            "description": TEXT,
            "usage": build_object({"op": TEXT, "args": OBJECT}),
            "policy": _POLICY,
            "notes": TEXT,
            "examples": _EXAMPLES,
            "schema": OBJECT,
            "omitted": TEXTS,
        },
        description="An op in the full format, with its policy and examples.",
    ),
    "HelpArg": build_object(
        {"path": TEXT, "type": {"const": "arg"}, "arg": {"type": "object", "properties": _ARGUMENT}},
        {"omitted": TEXTS},
        description="One argument of an op, in full.",
    ),
    "HelpSearch": build_object(
        {
            "query": TEXT,
            "type": {"const": "search"},
            "items": build_array({"path": TEXT}, {"summary": TEXT, "ops": {"type": "integer"}}),
        },
        {"omitted": TEXTS},
        description="The ops that match a query, best first; else the nearest groups with their number of ops.",
    ),
}

_HELP = OpenApiResponse(
    {"oneOf": [build_ref(name) for name in ("HelpGroup", "HelpOp", "HelpOpFull", "HelpArg", "HelpSearch")]},
    description="Exactly what the model should read.",
)

help_by_post = describe_endpoint(id="help", summary="List, read or search", body="HelpRequest", answers={200: _HELP})

help_by_get = describe_endpoint(
    id="help_get",
    summary="List, read or search, with an ETag",
    body=None,
    answers={200: _HELP, 304: OpenApiResponse(description="Unchanged since the ETag in If-None-Match.")},
    parameters=build_query_parameters(request_schemas.HELP),
)
