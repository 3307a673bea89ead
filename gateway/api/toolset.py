"""The toolset endpoint: what to show the model in this turn."""

import orjson
from django.http import HttpResponse
from rest_framework.request import Request

from gateway.api import request_body
from gateway.api.base import JSON_CONTENT_TYPE, GatewayView
from gateway.api.openapi.toolset import toolset_by_post
from gateway.models import Scope
from gateway.toolset import service


class ToolsetView(GatewayView):
    """toolset: what to show the model in this turn."""

    scope = Scope.TOOLSET
    runs_as_agent = True

    @toolset_by_post
    def post(self, request: Request) -> HttpResponse:
        payload = service.build_toolset(
            request_body.read_json_object(request._request), self.require_caller(), request._request.META, self.trace
        )
        return HttpResponse(orjson.dumps(payload), content_type=JSON_CONTENT_TYPE)
