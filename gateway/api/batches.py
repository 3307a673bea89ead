"""The batch endpoints: send calls, read their progress, cancel them."""

import re
from uuid import UUID

from django.http import HttpResponse
from django.urls import reverse
from rest_framework.request import Request

from gateway.api import query_string, request_body
from gateway.api.base import GatewayView, render_envelope
from gateway.api.openapi.batches import batch_by_post, batch_cancel, batch_status
from gateway.batches import service
from gateway.contracts.errors import FieldError, InvalidRequestError
from gateway.models import Scope

_SECONDS = re.compile(r"[0-9]{1,4}")


class BatchView(GatewayView):
    """batch: several calls in one request. Each entry also needs its own scope."""

    scope = Scope.BATCH
    has_routing = True

    @batch_by_post
    def post(self, request: Request) -> HttpResponse:
        in_background = _prefers_background(request._request.META.get("HTTP_PREFER", ""))
        body = request_body.read_json_object(request._request)
        payload = service.submit(body, self.require_caller(), self.trace, in_background=in_background)
        replay_headers = {"Idempotent-Replayed": "true"} if payload["meta"].get("replayed") else {}
        if not in_background:
            return render_envelope(payload, 200, replay_headers)
        location = reverse("batch_status", kwargs={"id": payload["batch_id"]})
        return render_envelope(
            payload, 202, {"Location": location, "Preference-Applied": "respond-async", **replay_headers}
        )


class BatchStatusView(GatewayView):
    """Progress of a batch, and cancelling its entries that have not started."""

    http_method_names = ["get", "head", "delete"]
    scope = Scope.BATCH

    @batch_status
    def get(self, request: Request, id: UUID) -> HttpResponse:
        wait = _parse_wait(request._request.META["QUERY_STRING"])
        return render_envelope(service.get_status(id, self.require_caller(), self.trace, wait=wait), 200)

    @batch_cancel
    def delete(self, request: Request, id: UUID) -> HttpResponse:
        return render_envelope(service.cancel(id, self.require_caller(), self.trace), 200)


def _prefers_background(header: str) -> bool:
    """Whether a Prefer header (RFC 7240) asks not to wait for the result."""
    return any(each.partition(";")[0].strip().lower() == "respond-async" for each in header.split(","))


def _parse_wait(text: str) -> int:
    """Return the seconds that ?wait= asks for. Raises InvalidRequestError."""
    parameters = query_string.parse(text)
    values = parameters.get("wait", ["0"])
    is_number = set(parameters) <= {"wait"} and len(values) == 1 and _SECONDS.fullmatch(values[0])
    if is_number and int(values[0]) <= service.MAX_WAIT_SECONDS:
        return int(values[0])
    message = f"wait must be a whole number of seconds from 0 to {service.MAX_WAIT_SECONDS}, and the only parameter."
    raise InvalidRequestError(message, reason="malformed_call", field_errors=[FieldError("/wait", "format", message)])
