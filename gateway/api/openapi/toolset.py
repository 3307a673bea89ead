"""OpenAPI of the toolset."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse

from analytics.rollout.flags import DYNAMIC, STATIC
from gateway.api.openapi.endpoint import ERROR, describe_endpoint
from gateway.api.openapi.schema_parts import OBJECT, TEXT, TEXTS, build_array, build_enum, build_object, build_ref
from gateway.toolset.escalation import ESCALATE_SCHEMA, STEPS
from gateway.toolset.selection.categories import ToolCategory
from gateway.toolset.selection.plan import Intent, SelectionMode
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
    "EscalateRequest": ESCALATE_SCHEMA,
    "ToolsetSelection": build_object(
        {"kind": build_enum((STATIC, DYNAMIC)), "count": {"type": "integer"}},
        {
            "mode": {**build_enum(SelectionMode), "description": "What decided; default: all tools of the context."},
            "intent": build_enum(Intent),
            "tool_categories": build_array(build_enum(ToolCategory)),
            "required": {**TEXTS, "description": "Tools without which the message cannot be answered."},
            "optional": {**TEXTS, "description": "Tools that fitted the budget, the likeliest first."},
            "added": {**TEXTS, "description": "Tools from outside the context, or added by this step."},
            "removed": {**TEXTS, "description": "Tools of the context that are not shown."},
            "dropped": {**TEXTS, "description": "Names that were asked for and are no tool that the caller may run."},
            "confidence": {"type": "number"},
            "reason": TEXT,
            "latency_ms": {"type": "number"},
            "step": {**build_enum(STEPS), "description": "How far the toolset was escalated."},
            "left_out": {**TEXTS, "description": "Tools that providers would refuse, or that were too many."},
        },
        description="How the tools of the legacy surface were selected.",
    ),
}

toolset_by_post = describe_endpoint(
    id="get_toolset",
    summary="Get what to show the model in this turn",
    body="ToolsetRequest",
    answers={200: OpenApiResponse(build_ref("Toolset"), description="Tools, prompt, and the toolset id for the turn.")},
)

escalation_by_post = describe_endpoint(
    id="escalate_toolset",
    summary="Get a wider toolset for a turn that lacked a tool",
    body="EscalateRequest",
    answers={
        200: OpenApiResponse(build_ref("Toolset"), description="The wider toolset, to use instead."),
        409: OpenApiResponse(ERROR, description="There is nothing wider."),
    },
    parameters=[OpenApiParameter("id", OpenApiTypes.STR, OpenApiParameter.PATH, description="The id of the toolset.")],
)
