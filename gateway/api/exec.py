"""The exec endpoint: run one op."""

from typing import Any

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiResponse
from rest_framework.request import Request

from analytics.events.models import OperationEvent
from gateway.api import requests
from gateway.api.base import GatewayView, render_envelope
from gateway.api.endpoint_docs import (
    ERROR,
    IDEMPOTENCY_KEY,
    KEY_REUSED,
    OBJECT,
    build_confirm_header,
    build_ref,
    describe_endpoint,
)
from gateway.contracts import request_schemas
from gateway.execution import pipeline
from gateway.recording import call_events
from registry.jsonschema.dialect import Schema

_FAILURES = {
    409: "CONFLICT: details.reason names the case.",
    422: KEY_REUSED,
    504: "The call timed out, or its outcome is unknown.",
}
exec_by_post = describe_endpoint(
    id="run_op",
    summary="Run one op",
    body="ExecRequest",
    answers={200: OpenApiResponse(build_ref("Success"), description="The op succeeded.")}
    | {status: OpenApiResponse(ERROR, description=text) for status, text in _FAILURES.items()},
    parameters=[IDEMPOTENCY_KEY, build_confirm_header()],
)


def allow_any_args(schema: Schema) -> dict[str, Any]:
    """Return the schema of an exec body whose args may have any members.

    The schema itself does not say so, because models also read it, and it would cost them tokens.
    """
    properties = schema["properties"]
    return {**schema, "properties": {**properties, "args": properties["args"] | OBJECT}}


COMPONENTS: dict[str, Any] = {
    "ExecRequest": allow_any_args(request_schemas.EXEC),
}


class ExecView(GatewayView):
    """exec: run one op. The op decides which scope it needs."""

    event_type = OperationEvent.Type.EXEC
    has_routing = True

    @exec_by_post
    def post(self, request: Request) -> HttpResponse:
        response = pipeline.execute(
            body=requests.read_json_object(request._request), caller=self.require_caller(), trace=self.trace
        )
        self.metric_labels = call_events.build_exec_labels(response)
        return render_envelope(response.envelope, response.status, response.headers)
