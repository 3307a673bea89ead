"""The help and discover endpoints: list, read and search tools."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse

from analytics.events.models import OperationEvent
from core.http.response_headers import PlainHeaders
from core.text.lists import cache_by_text
from gateway.api import requests
from gateway.api.base import JSON_CONTENT_TYPE, GatewayView
from gateway.api.endpoint_docs import (
    OBJECT,
    TEXT,
    TEXTS,
    build_array,
    build_enum,
    build_object,
    build_query_parameters,
    build_ref,
    describe_endpoint,
)
from gateway.contracts import request_schemas
from gateway.help import service
from gateway.models import Scope
from gateway.recording import call_events
from registry.help.answers import HelpAnswer
from registry.models import Op

_EXAMPLES = build_array(build_ref("HelpExample"))
_AGENTS = build_array(build_ref("HelpAgentItem"))
_ARGUMENT = {"name": TEXT, "type": TEXT, "required": {"type": "boolean"}}
_ARGUMENT_OPTIONAL = {"default": {}, "enum": build_array({}), "description": TEXT}
_OP = {"path": TEXT, "type": {"const": "op"}, "kind": build_ref("OpKind")}

# Clients may try them in this order and read [] as {}: of an op without args the full format must come first, or its
# other fields would be lost.
_ANSWERS = ("HelpGroup", "HelpOpFull", "HelpOp", "HelpArg", "HelpSearch", "HelpAgent", "HelpGuide")

# An agent in help and discovery. Only the full format has all of it.
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
    "HelpGuide": build_object(
        {"path": TEXT, "type": {"const": "guide"}, "summary": TEXT},
        {"fields": {"type": "object", "additionalProperties": TEXT}, "examples": build_array(OBJECT)},
        description="How to do what no op does: at batch, how to repeat a call for the rows of an earlier answer.",
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
        {"summary": TEXT, "examples": _EXAMPLES, "schema": OBJECT, "agents": _AGENTS, "omitted": TEXTS},
        description="An op in the short format: its arguments as typed signatures, and the agents that it can run.",
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
            "agents": _AGENTS,
            "omitted": TEXTS,
        },
        description="An op in the full format, with its policy and examples.",
    ),
    "HelpAgentItem": build_object({"name": TEXT, "summary": TEXT}),
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
            "The ops that match a query, best first; the first four with their likeliest args, within max_tokens "
            "(default 500). A message says if none clearly fits. Without a match, the nearest groups with their number "
            "of ops. A long query is shortened."
        ),
    ),
    "HelpSearchItem": build_object(
        {"path": TEXT},
        {
            "summary": TEXT,
            "kind": build_ref("OpKind"),
            "service": TEXT,
            "args": {"type": "object", "additionalProperties": TEXT},
            "more_args": {"type": "integer", "description": "How many others the op has; its help lists them"},
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
_DISCOVER_ANSWERS = tuple(
    "DiscoveredTools DiscoveredAgents DiscoveredTool DiscoveredParameter DiscoveredAgent HelpOpFull".split()
)
DISCOVER_COMPONENTS: dict[str, Any] = {
    "DiscoverRequest": request_schemas.DISCOVER,
    "DiscoverAnswer": {
        "anyOf": [build_ref(name) for name in _DISCOVER_ANSWERS],
        "description": "Exactly what the model should read.",
    },
    "DiscoveredTools": build_object(
        {"tools": build_array(build_ref("DiscoveredName"))},
        {"message": TEXT},
        description="The tools of a domain, or those that a query finds among them, best first.",
    ),
    "DiscoveredAgents": build_object(
        {"agents": build_array(build_ref("DiscoveredName"))}, description="The agents that can be run."
    ),
    "DiscoveredName": build_object(
        {"name": TEXT, "summary": TEXT},
        {
            "service": TEXT,
            "parameters": {"type": "object", "additionalProperties": TEXT},
            "more_parameters": {"type": "integer", "description": "How many others the tool has"},
        },
    ),
    "DiscoveredTool": build_object(
        {"name": TEXT, "parameters": TEXTS},
        {
            "description": TEXT,
            "types": {"type": "object", "additionalProperties": TEXT},
            "usage": build_ref("HelpUsage"),
        },
        description=(
            "One tool: its parameters by name, required ones first, the types of those that are not plain strings, and "
            "a call with placeholders to fill in."
        ),
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


@cache_by_text
def _parse_query_string(query_string: str) -> dict[str, Any]:
    """Return the body that the parameters of a GET stand for."""
    return service.parse_parameters(requests.parse_query_string(query_string))


class HelpView(GatewayView):
    """help: list, read, search."""

    scope = Scope.HELP
    event_type = OperationEvent.Type.HELP
    has_routing = True

    @help_by_post
    def post(self, request: HttpRequest) -> HttpResponse:
        return self._respond(requests.read_json_object(request))

    @help_by_get
    def get(self, request: HttpRequest) -> HttpResponse:
        response = self._respond(_parse_query_string(request.META["QUERY_STRING"]))
        if requests.matches_etag(request.META.get("HTTP_IF_NONE_MATCH", ""), response.headers["ETag"]):
            response.status_code, response.content = 304, b""
            del response.headers["Content-Type"]
        return response

    def _respond(self, body: dict[str, Any]) -> HttpResponse:
        self.requested_path = path if isinstance(path := body.get("path"), str) else ""
        self.event_type = service.get_event_type(body)
        help_answer = service.answer_help(body=body, caller=self.require_caller(), trace=self.trace)
        self.metric_labels = call_events.build_metric_labels(self.event_type, op_kind=help_answer.op_kind)
        return _build_response(help_answer)


class DiscoverView(GatewayView):
    """discover: list the tools of a domain, read one, read one of its parameters."""

    scope = Scope.HELP
    event_type = OperationEvent.Type.DISCOVER
    has_routing = True

    @discover_by_post
    def post(self, request: HttpRequest, name: str) -> HttpResponse:
        self.requested_path = name
        answer = service.answer_discovery(
            name=name,
            body=requests.read_json_object(request),
            caller=self.require_caller(),
            trace=self.trace,
        )
        self.metric_labels = call_events.build_metric_labels(OperationEvent.Type.DISCOVER, op_kind=answer.op_kind)
        return _build_response(answer)


def _build_response(answer: HelpAnswer) -> HttpResponse:
    response = HttpResponse(answer.body, content_type=JSON_CONTENT_TYPE)
    PlainHeaders.replace_in(response).add([("ETag", answer.etag)])
    return response
