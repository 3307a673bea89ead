"""The discover endpoint: what the tools of one domain are, on the discovery surface."""

from django.http import HttpResponse
from rest_framework.request import Request

from analytics.models import OperationEvent
from gateway.api import request_body
from gateway.api.base import JSON_CONTENT_TYPE, GatewayView
from gateway.api.openapi.discover import discover_by_post
from gateway.help import discovery
from gateway.models import Scope
from gateway.recording import call_events


class DiscoverView(GatewayView):
    """discover: list the tools of a domain, read one, read one of its parameters."""

    scope = Scope.HELP
    event_type = OperationEvent.Type.DISCOVER
    has_routing = True

    @discover_by_post
    def post(self, request: Request, name: str) -> HttpResponse:
        self.requested_path = name
        answer = discovery.answer_discovery(
            name=name,
            body=request_body.read_json_object(request._request),
            caller=self.require_caller(),
            trace=self.trace,
        )
        self.metric_labels = call_events.build_metric_labels(OperationEvent.Type.DISCOVER, op_kind=answer.op_kind)
        return HttpResponse(answer.body, content_type=JSON_CONTENT_TYPE, headers={"ETag": answer.etag})
