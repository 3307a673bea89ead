"""The toolset endpoints: what to show the model in this turn, and a wider toolset if that lacked a tool."""

from django.http import HttpResponse
from rest_framework.request import Request

from analytics.models import OperationEvent
from core.text import json_text
from gateway.api import request_body
from gateway.api.base import JSON_CONTENT_TYPE, GatewayView
from gateway.api.openapi.toolset import escalation_by_post, toolset_by_post
from gateway.models import Scope
from gateway.toolset import escalation, service


class ToolsetView(GatewayView):
    """toolset: what to show the model in this turn."""

    scope = Scope.TOOLSET
    runs_as_agent = True

    @toolset_by_post
    def post(self, request: Request) -> HttpResponse:
        payload = service.build_toolset(
            request_body.read_json_object(request._request), self.require_caller(), request._request.META, self.trace
        )
        return HttpResponse(json_text.dump(payload), content_type=JSON_CONTENT_TYPE)


class EscalationView(GatewayView):
    """escalate: a wider toolset for the same turn."""

    scope = Scope.TOOLSET
    event_type = OperationEvent.Type.ESCALATE
    runs_as_agent = True

    @escalation_by_post
    def post(self, request: Request, id: str) -> HttpResponse:
        payload = escalation.escalate_toolset(
            id,
            request_body.read_json_object(request._request),
            self.require_caller(),
            request._request.META,
            self.trace,
        )
        return HttpResponse(json_text.dump(payload), content_type=JSON_CONTENT_TYPE)
