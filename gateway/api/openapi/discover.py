"""OpenAPI of discover."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse

from gateway.api.openapi.endpoint import describe_endpoint
from gateway.api.openapi.help import AGENT_NOTE, AGENT_OPTIONAL, AGENT_REQUIRED
from gateway.api.openapi.schema_parts import TEXT, TEXTS, build_array, build_object, build_ref
from gateway.contracts import request_schemas

_ANSWERS = (
    *("DiscoveredTools", "DiscoveredAgents", "DiscoveredTool", "DiscoveredParameter", "DiscoveredAgent"),
    "HelpOpFull",
)

COMPONENTS: dict[str, Any] = {
    "DiscoverRequest": request_schemas.DISCOVER,
    "DiscoverAnswer": {
        "anyOf": [build_ref(name) for name in _ANSWERS],
        "description": "Exactly what the model should read.",
    },
    "DiscoveredTools": build_object(
        {"tools": build_array(build_ref("DiscoveredName"))}, description="The tools of a domain."
    ),
    "DiscoveredAgents": build_object(
        {"agents": build_array(build_ref("DiscoveredName"))}, description="The agents that can be run."
    ),
    "DiscoveredName": build_object({"name": TEXT, "summary": TEXT}),
    "DiscoveredTool": build_object(
        {"name": TEXT, "parameters": TEXTS},
        {"description": TEXT, "usage": build_ref("HelpUsage")},
        description="One tool: its parameters by name, required ones first, and a call with placeholders to fill in.",
    ),
    "DiscoveredParameter": build_object(
        {"name": TEXT, "type": TEXT, "required": {"type": "boolean"}},
        {"description": TEXT, "default": {}, "examples": build_array({})},
        description="One parameter of a tool.",
    ),
    "DiscoveredAgent": build_object(AGENT_REQUIRED, AGENT_OPTIONAL, description=f"One agent. {AGENT_NOTE}"),
}

discover_by_post = describe_endpoint(
    id="discover_tools",
    summary="List the tools of a domain, or read one",
    body="DiscoverRequest",
    answers={200: OpenApiResponse(build_ref("DiscoverAnswer"), description="Exactly what the model should read.")},
    parameters=[
        OpenApiParameter(
            "name",
            OpenApiTypes.STR,
            OpenApiParameter.PATH,
            description="The discovery tool, such as discover_crm_tools, or the path of its group.",
        )
    ],
)
