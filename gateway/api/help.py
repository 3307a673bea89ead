"""The help endpoint: list, read, search."""

from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from analytics.models import OperationEvent
from gateway.api import etags, query_string, request_body
from gateway.api.base import JSON_CONTENT_TYPE, GatewayView
from gateway.api.openapi.help import help_by_get, help_by_post
from gateway.help import service
from gateway.models import Scope
from gateway.recording import call_events


class HelpView(GatewayView):
    """help: list, read, search."""

    scope = Scope.HELP
    event_type = OperationEvent.Type.HELP
    has_routing = True

    @help_by_post
    def post(self, request: Request) -> HttpResponse:
        return self._respond(request_body.read_json_object(request._request))

    @help_by_get
    def get(self, request: Request) -> HttpResponse:
        response = self._respond(service.parse_parameters(query_string.parse(request._request.META["QUERY_STRING"])))
        if etags.matches(request._request.META.get("HTTP_IF_NONE_MATCH", ""), response.headers["ETag"]):
            response.status_code, response.content = 304, b""
            del response.headers["Content-Type"]
        return response

    def _respond(self, body: dict[str, Any]) -> HttpResponse:
        self.requested_path = path if isinstance(path := body.get("path"), str) else ""
        self.event_type = service.get_event_type(body)
        help_answer = service.answer_help(body=body, caller=self.require_caller(), trace=self.trace)
        self.metric_labels = call_events.build_metric_labels(self.event_type, op_kind=help_answer.op_kind)
        return HttpResponse(help_answer.body, content_type=JSON_CONTENT_TYPE, headers={"ETag": help_answer.etag})
