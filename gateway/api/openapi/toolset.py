"""OpenAPI of the toolset."""

from typing import Any

from drf_spectacular.utils import OpenApiResponse

from gateway.api.openapi.endpoint import describe_endpoint
from gateway.api.openapi.schema_parts import OBJECT, TEXT, TEXTS, build_array, build_object, build_ref
from gateway.toolset.service import TOOLSET_SCHEMA

_VERSIONED = {"release": TEXT, "surface": TEXT, "cohort": {**TEXT, "description": "The cohorts that decided."}}

COMPONENTS: dict[str, Any] = {
    "ToolsetRequest": TOOLSET_SCHEMA,
    "Toolset": build_object(
        {
            "id": {**TEXT, "description": "For Gateway-Toolset: keeps a turn on this surface and release, 15 minutes."},
            **_VERSIONED,
            "tools": build_array(build_ref("ToolDefinition")),
            "prompt": {**TEXT, "description": "The part of the system prompt about them."},
            "tokens": {"type": "integer", "description": "Tokens of tools and prompt together (o200k_base)."},
        },
        {
            "ops": {
                "type": "object",
                "additionalProperties": build_ref("ToolsetOp"),
                "description": "What each tool is that stands for an op, by its name.",
            },
            "selection": build_ref("ToolsetSelection"),
        },
        description="What to show the model.",
    ),
    "ToolsetOp": build_object({"op": TEXT, "kind": build_ref("OpKind")}, {"entity": TEXT, "action": TEXT}),
    "ToolDefinition": {**OBJECT, "description": "The definition of a tool in the requested format."},
    "ToolsetSelection": build_object(
        {"kind": {"const": "static"}, "count": {"type": "integer"}},
        {"left_out": {**TEXTS, "description": "Tools that providers would refuse, or that were too many."}},
    ),
}

toolset_by_post = describe_endpoint(
    id="get_toolset",
    summary="Get what to show the model in this turn",
    body="ToolsetRequest",
    answers={200: OpenApiResponse(build_ref("Toolset"), description="Tools, prompt, and the toolset id for the turn.")},
)
