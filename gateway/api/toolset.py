"""Endpoints about a turn: what to show the model, how the turn went, and what the end user thinks of it."""

from dataclasses import replace
from typing import Any

from django.http import HttpRequest, HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse

from analytics.events.models import OperationEvent
from analytics.flags import DYNAMIC, STATIC
from core.text import json_text
from gateway.access import release_routing
from gateway.api import requests
from gateway.api.base import JSON_CONTENT_TYPE, GatewayView, render_envelope
from gateway.api.endpoint_docs import (
    ERROR,
    OBJECT,
    TEXT,
    TEXTS,
    build_array,
    build_enum,
    build_object,
    build_ref,
    describe_endpoint,
)
from gateway.contracts import envelopes
from gateway.models import Scope
from gateway.toolset import escalation, feedback, service, telemetry
from gateway.toolset.conversation import MESSAGE_SCHEMA, ROW_SCHEMA, build_conversation_properties
from gateway.toolset.escalation import ESCALATE_SCHEMA
from gateway.toolset.feedback import FEEDBACK_SCHEMA
from gateway.toolset.selection.candidates import ToolCategory
from gateway.toolset.selection.heuristics import Intent, SelectionMode
from gateway.toolset.service import TOOLSET_SCHEMA
from gateway.toolset.telemetry import TELEMETRY_SCHEMA

_VERSIONED = {"release": TEXT, "surface": TEXT, "cohort": {**TEXT, "description": "The cohorts that decided."}}
COMPONENTS: dict[str, Any] = {
    "ToolsetRequest": {
        **TOOLSET_SCHEMA,
        "properties": TOOLSET_SCHEMA["properties"]
        | build_conversation_properties(message=build_ref("ToolsetMessage"), row=build_ref("ToolsetRow")),
    },
    "ToolsetMessage": MESSAGE_SCHEMA,
    "ToolsetRow": ROW_SCHEMA,
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
            "removed": {**TEXTS, "description": "The first tools of the context that are not shown."},
            "removed_count": {"type": "integer", "description": "How many tools of the context are not shown."},
            "dropped": {**TEXTS, "description": "Requested names that are not tools that the caller can run."},
            "confidence": {"type": "number"},
            "reason": TEXT,
            "latency_ms": {"type": "number"},
            "step": {"type": "integer", "description": "How often the toolset was escalated."},
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
TELEMETRY_COMPONENTS: dict[str, Any] = {
    "TelemetryRequest": TELEMETRY_SCHEMA,
    "TelemetryResponse": build_object({"ok": {"const": True}, "meta": build_ref("Meta")}),
    "FeedbackRequest": FEEDBACK_SCHEMA,
    "FeedbackResponse": build_object({"ok": {"const": True}, "meta": build_ref("Meta")}),
}
telemetry_by_post = describe_endpoint(
    id="report_turn",
    summary="Report how a turn went",
    body="TelemetryRequest",
    answers={
        200: OpenApiResponse(
            build_ref("TelemetryResponse"), description="Recorded; a repeated report replaces the earlier one."
        )
    },
)
feedback_by_post = describe_endpoint(
    id="send_feedback",
    summary="Send what the end user thinks of a turn",
    body="FeedbackRequest",
    answers={
        200: OpenApiResponse(
            build_ref("FeedbackResponse"),
            description="Recorded; the user's last thumb on a turn replaces the earlier.",
        )
    },
)


class ToolsetView(GatewayView):
    """toolset: what to show the model in this turn."""

    scope = Scope.TOOLSET
    runs_as_agent = True

    @toolset_by_post
    def post(self, request: HttpRequest) -> HttpResponse:
        payload = service.build_toolset(
            requests.read_json_object(request), self.require_caller(), request.META, self.trace
        )
        return HttpResponse(json_text.dump(payload), content_type=JSON_CONTENT_TYPE)


class EscalationView(GatewayView):
    """escalate: a wider toolset for the same turn."""

    scope = Scope.TOOLSET
    event_type = OperationEvent.Type.ESCALATE
    runs_as_agent = True

    @escalation_by_post
    def post(self, request: HttpRequest, id: str) -> HttpResponse:
        body, caller = requests.read_json_object(request), self.require_caller()
        self.requested_path = name if isinstance(name := body.get("missing_tool"), str) else ""
        toolset = release_routing.verify_toolset(id, key=caller.key, subject=caller.subject)
        self.caller = replace(caller, routing=toolset.served, has_toolset=True)  # for the event if it fails
        payload = escalation.escalate_toolset(toolset, body, self.caller, request.META, self.trace)
        return HttpResponse(json_text.dump(payload), content_type=JSON_CONTENT_TYPE)


class TelemetryView(GatewayView):
    """telemetry: the chat service reports how a turn went."""

    scope = Scope.TOOLSET

    @telemetry_by_post
    def post(self, request: HttpRequest) -> HttpResponse:
        telemetry.record_turn(requests.read_json_object(request), self.require_caller(), self.trace)
        return render_envelope({"ok": True, "meta": envelopes.build_meta(self.trace)}, 200)


class FeedbackView(GatewayView):
    """feedback: the end user's thumb on a turn."""

    scope = Scope.TOOLSET

    @feedback_by_post
    def post(self, request: HttpRequest) -> HttpResponse:
        body, caller = requests.read_json_object(request), self.require_caller()
        warnings = feedback.record_feedback(body, caller, self.trace)
        return render_envelope({"ok": True, "meta": envelopes.build_meta(self.trace, warnings)}, 200)
