"""The telemetry endpoint: the chat service reports how a turn went."""

from django.http import HttpResponse
from rest_framework.request import Request

from gateway.api import request_body
from gateway.api.base import GatewayView, render_envelope
from gateway.api.openapi.telemetry import telemetry_by_post
from gateway.contracts import envelopes
from gateway.models import Scope
from gateway.toolset import telemetry


class TelemetryView(GatewayView):
    """telemetry: the chat service reports how a turn went."""

    scope = Scope.TOOLSET

    @telemetry_by_post
    def post(self, request: Request) -> HttpResponse:
        telemetry.record_turn(request_body.read_json_object(request._request), self.require_caller(), self.trace)
        return render_envelope({"ok": True, "meta": envelopes.build_meta(self.trace)}, 200)
