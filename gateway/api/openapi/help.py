"""OpenAPI of help."""

from typing import Any

from drf_spectacular.utils import OpenApiResponse

from gateway.api.openapi.endpoint import build_query_parameters, describe_endpoint
from gateway.api.openapi.schema_parts import OBJECT, TEXT, TEXTS, build_array, build_enum, build_object, build_ref
from gateway.contracts import request_schemas
from registry.models import Op

_EXAMPLES = build_array(build_ref("HelpExample"))
_ARGUMENT = {"name": TEXT, "type": TEXT, "required": {"type": "boolean"}}
_ARGUMENT_OPTIONAL = {"default": {}, "enum": build_array({}), "description": TEXT}
_OP = {"path": TEXT, "type": {"const": "op"}, "kind": build_ref("OpKind")}

# Clients may try them in this order and read [] as {}: of an op without args the full format must come first, or its
# other fields would be lost.
_ANSWERS = ("HelpGroup", "HelpOpFull", "HelpOp", "HelpArg", "HelpSearch", "HelpAgent")
# An agent in help and discovery. All of it stands only in the full format.
AGENT_REQUIRED = {"name": TEXT, "summary": TEXT, "tools": TEXTS}
AGENT_OPTIONAL = dict.fromkeys(("description", "when_to_use", "system_prompt"), TEXT)
AGENT_OPTIONAL |= dict.fromkeys(("constraints", "examples", "edge_cases"), TEXTS)
AGENT_NOTE = "The full format adds examples, edge cases and, for keys with the scope toolset, the system prompt."

COMPONENTS: dict[str, Any] = {
    "HelpRequest": request_schemas.HELP,
    "HelpAnswer": {
        "oneOf": [build_ref(name) for name in _ANSWERS],
        "description": "Exactly what the model should read.",
    },
    "HelpAgent": build_object(
        {"path": TEXT, "type": {"const": "agent"}, **AGENT_REQUIRED},
        AGENT_OPTIONAL,
        description=f"An agent. {AGENT_NOTE}",
    ),
    "OpKind": build_enum(Op.Kind.values),
    "HelpGroup": build_object(
        {"path": TEXT, "type": {"const": "group"}, "items": build_array(build_ref("HelpGroupItem"))},
        {"summary": TEXT, "next_cursor": TEXT},
        description="A group: its direct children, 50 per page.",
    ),
    "HelpGroupItem": build_object({"path": TEXT}, {"summary": TEXT, "kind": build_ref("OpKind")}),
    "HelpOp": build_object(
        {**_OP, "args": {"type": "object", "additionalProperties": TEXT}},
        {"summary": TEXT, "examples": _EXAMPLES, "schema": OBJECT, "omitted": TEXTS},
        description="An op in the short format: its arguments as typed signatures.",
    ),
    "HelpOpFull": build_object(
        {
            **_OP,
            "args": build_array(build_ref("HelpArgument")),
        },
        {
            "summary": TEXT,
            "entity": TEXT,
            "action": TEXT,
            "description": TEXT,
            "usage": build_ref("HelpUsage"),
            "policy": build_ref("HelpPolicy"),
            "notes": TEXT,
            "examples": _EXAMPLES,
            "schema": OBJECT,
            "omitted": TEXTS,
        },
        description="An op in the full format, with its policy and examples.",
    ),
    "HelpArgument": build_object(_ARGUMENT, _ARGUMENT_OPTIONAL),
    "HelpUsage": build_object({"op": TEXT, "args": OBJECT}),
    "HelpPolicy": build_object({}, {"do": TEXTS, "dont": TEXTS, "edge_cases": TEXTS}),
    "HelpExample": build_object({"args": OBJECT}, {"title": TEXT, "note": TEXT}),
    "HelpArg": build_object(
        {"path": TEXT, "type": {"const": "arg"}, "arg": build_ref("HelpArgumentFull")},
        {"omitted": TEXTS},
        description="One argument of an op, in full.",
    ),
    "HelpArgumentFull": build_object(
        _ARGUMENT,
        {**_ARGUMENT_OPTIONAL, "examples": build_array({}), "schema": OBJECT},
        additionalProperties=True,
        description="An argument with its limits, named as in JSON Schema (minimum, pattern).",
    ),
    "HelpSearch": build_object(
        {
            "query": TEXT,
            "type": {"const": "search"},
            "items": build_array(build_ref("HelpSearchItem")),
        },
        {
            "omitted": TEXTS,
            "message": TEXT,
            "tools": {
                **build_array(OBJECT),
                "description": "On the native surface: what the provider takes as the result of its tool search.",
            },
        },
        description=(
            "The ops that match a query, best first; the first four with their args, as far as max_tokens allows "
            "(default 500). A message says if none clearly fits. Without a match, the nearest groups with their number "
            "of ops."
        ),
    ),
    "HelpSearchItem": build_object(
        {"path": TEXT},
        {
            "summary": TEXT,
            "kind": build_ref("OpKind"),
            "args": {"type": "object", "additionalProperties": TEXT},
            "ops": {"type": "integer"},
        },
    ),
}

_HELP = OpenApiResponse(build_ref("HelpAnswer"), description="Exactly what the model should read.")

help_by_post = describe_endpoint(
    id="request_help", summary="List, read or search", body="HelpRequest", answers={200: _HELP}
)

help_by_get = describe_endpoint(
    id="get_help",
    summary="List, read or search, with an ETag",
    body=None,
    answers={200: _HELP, 304: OpenApiResponse(description="Unchanged since the ETag in If-None-Match.")},
    parameters=build_query_parameters(request_schemas.HELP),
)
