"""The answers endpoint: what an end user answers to a service that asked them, with which its call goes on."""

from typing import Any

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiResponse
from rest_framework.request import Request

from analytics.events.models import OperationEvent
from gateway.api import requests
from gateway.api.base import GatewayView, render_envelope
from gateway.api.endpoint_docs import ERROR, OBJECT, build_ref, describe_endpoint
from gateway.batches import service as batches
from gateway.contracts import request_schemas
from gateway.execution import input_answers
from gateway.recording import call_events

_FAILURES = {
    409: "input_required: the service asks something else. input_expired: the token is not valid, or no longer. "
    "input_answered: it was used. Other reasons are those of the call.",
    504: "The call timed out, or its outcome is unknown.",
}
answers_by_post = describe_endpoint(
    id="answer_question",
    summary="Answer a question of a service",
    body="AnswersRequest",
    answers={200: OpenApiResponse(build_ref("Success"), description="The op succeeded.")}
    | {status: OpenApiResponse(ERROR, description=text) for status, text in _FAILURES.items()},
)
_PROPERTIES = request_schemas.ANSWERS["properties"]
COMPONENTS: dict[str, Any] = {
    "AnswersRequest": {
        **request_schemas.ANSWERS,
        "properties": {**_PROPERTIES, "content": _PROPERTIES["content"] | OBJECT},
    },
}


class AnswersView(GatewayView):
    """answers: go on with a call. The op decides which scope it needs."""

    event_type = OperationEvent.Type.EXEC
    has_routing = True

    @answers_by_post
    def post(self, request: Request) -> HttpResponse:
        answered = input_answers.answer(
            requests.read_json_object(request._request), caller=self.require_caller(), trace=self.trace
        )
        if answered.batch_entry is not None:
            batches.store_late_answer(answered.batch_entry, answered.response)
        response = answered.response
        self.metric_labels = call_events.build_exec_labels(response)
        return render_envelope(response.envelope, response.status, response.headers)
