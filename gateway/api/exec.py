"""The exec endpoint runs one op; the answers endpoint goes on with a call whose service asked the end user."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from drf_spectacular.utils import OpenApiResponse

from analytics.events.models import OperationEvent
from gateway.api import requests
from gateway.api.base import GatewayView, render_accepted, render_envelope
from gateway.api.endpoint_docs import (
    ERROR,
    IDEMPOTENCY_KEY,
    KEY_REUSED,
    OBJECT,
    PREFER,
    build_confirm_header,
    build_ref,
    describe_endpoint,
)
from gateway.batches import followed_calls, input_answers
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
    answers={
        200: OpenApiResponse(build_ref("Success"), description="The op succeeded."),
        202: OpenApiResponse(
            build_ref("BatchStatus"),
            description="With Prefer: respond-async, for an op of an MCP server: a batch of this call, whose URL is in "
            "Location. It may be done already.",
        ),
    }
    | {status: OpenApiResponse(ERROR, description=text) for status, text in _FAILURES.items()},
    parameters=[IDEMPOTENCY_KEY, build_confirm_header(), PREFER],
)


_ANSWER_FAILURES = {
    409: "input_required: the service asks something else. input_expired: the token is not valid, or no longer. "
    "input_answered: it was used. Other reasons are those of the call.",
    504: "The call timed out, or its outcome is unknown.",
}
answers_by_post = describe_endpoint(
    id="answer_question",
    summary="Answer a question of a service",
    body="AnswersRequest",
    answers={200: OpenApiResponse(build_ref("Success"), description="The op succeeded.")}
    | {status: OpenApiResponse(ERROR, description=text) for status, text in _ANSWER_FAILURES.items()},
)


def allow_any_args(schema: Schema) -> dict[str, Any]:
    """Return the schema of an exec body whose args may have any members.

    The schema itself does not say so, because models also read it, and it would cost them tokens.
    """
    properties = schema["properties"]
    return {**schema, "properties": {**properties, "args": properties["args"] | OBJECT}}


_ANSWER_PROPERTIES = request_schemas.ANSWERS["properties"]
COMPONENTS: dict[str, Any] = {
    "ExecRequest": allow_any_args(request_schemas.EXEC),
    "AnswersRequest": {
        **request_schemas.ANSWERS,
        "properties": {**_ANSWER_PROPERTIES, "content": _ANSWER_PROPERTIES["content"] | OBJECT},
    },
}


class ExecView(GatewayView):
    """exec: run one op. The op decides which scope it needs."""

    event_type = OperationEvent.Type.EXEC
    has_routing = True

    @exec_by_post
    def post(self, request: HttpRequest) -> HttpResponse:
        body, caller = requests.read_json_object(request), self.require_caller()
        is_followed = requests.prefers_background(request.META)
        if is_followed and (status := followed_calls.submit_call(body, caller, self.trace)) is not None:
            return render_accepted(status)
        response = pipeline.execute(body=body, caller=caller, trace=self.trace)
        self.metric_labels = call_events.build_exec_labels(response)
        return render_envelope(response.envelope, response.status, response.headers)


class AnswersView(GatewayView):
    """answers: go on with a call. The op decides which scope it needs."""

    event_type = OperationEvent.Type.EXEC
    has_routing = True

    @answers_by_post
    def post(self, request: HttpRequest) -> HttpResponse:
        body = requests.read_json_object(request)
        response = input_answers.answer(body, caller=self.require_caller(), trace=self.trace)
        self.metric_labels = call_events.build_exec_labels(response)
        return render_envelope(response.envelope, response.status, response.headers)
