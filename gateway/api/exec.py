"""The exec endpoint: run one op."""

from django.http import HttpResponse
from rest_framework.request import Request

from analytics.models import OperationEvent
from gateway.api import request_body
from gateway.api.base import GatewayView, render_envelope
from gateway.api.openapi.exec import exec_by_post
from gateway.execution import pipeline
from gateway.recording import call_events


class ExecView(GatewayView):
    """exec: run one op. The op decides which scope it needs."""

    event_type = OperationEvent.Type.EXEC
    has_routing = True

    @exec_by_post
    def post(self, request: Request) -> HttpResponse:
        response = pipeline.execute(
            body=request_body.read_json_object(request._request), caller=self.require_caller(), trace=self.trace
        )
        self.metric_labels = call_events.build_exec_labels(response)
        return render_envelope(response.envelope, response.status, response.headers)
