"""The batch endpoints: send calls, read their progress, cancel them."""

import re
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse

from gateway.api import requests
from gateway.api.base import GatewayView, render_accepted, render_envelope
from gateway.api.endpoint_docs import (
    ERROR,
    IDEMPOTENCY_KEY,
    KEY_REUSED,
    OBJECT,
    PREFER,
    TEXT,
    build_array,
    build_confirm_header,
    build_enum,
    build_object,
    build_ref,
    describe_endpoint,
)
from gateway.api.exec import allow_any_args
from gateway.batches import service
from gateway.contracts import request_schemas
from gateway.contracts.errors import FieldError, InvalidRequestError
from gateway.models import Scope

_BATCH_PROPERTIES = request_schemas.BATCH["properties"]
_INDEX = {"index": {"type": "integer"}}
_COUNTS = {name: {"type": "integer"} for name in ("succeeded", "failed", "skipped")}
_BATCH_FIELDS = {"batch_id": {**TEXT, "format": "uuid"}, "ok": {"type": "boolean"}, "meta": build_ref("Meta")}
_RESEND_NOTE = "Send the batch again with its idempotency key: entries that have run do not run again."
batch_by_post = describe_endpoint(
    id="run_batch",
    summary="Make several calls at once",
    body="BatchRequest",
    answers={
        200: OpenApiResponse(build_ref("Batch"), description="All entries are done, or the time is over."),
        202: OpenApiResponse(build_ref("BatchStatus"), description="Accepted; Location is the URL of its status."),
        422: OpenApiResponse(ERROR, description=KEY_REUSED),
    },
    parameters=[
        IDEMPOTENCY_KEY,
        build_confirm_header(_RESEND_NOTE),
        PREFER,
    ],
)
_STATUS = {200: OpenApiResponse(build_ref("BatchStatus"), description="The current status.")}
batch_status = describe_endpoint(
    id="get_batch",
    summary="Get the status of a batch",
    body=None,
    answers=_STATUS,
    parameters=[
        OpenApiParameter(
            "wait",
            {"type": "integer", "minimum": 0, "maximum": service.MAX_WAIT_SECONDS},
            OpenApiParameter.QUERY,
            description="Seconds to wait for a change before responding. A process lets "
            f"{service.MAX_WAITING_REQUESTS} requests wait at the same time and responds to others immediately: "
            "if nothing has changed, wait a second before you ask again.",
        )
    ],
)
batch_cancel = describe_endpoint(
    id="cancel_batch",
    summary="Cancel entries that have not started, and stop calls of MCP servers",
    body=None,
    answers=_STATUS,
)
_SECONDS = re.compile(r"[0-9]{1,4}")


def _build_list_of_one_of(*names: str) -> dict[str, Any]:
    return build_array({"oneOf": [build_ref(name) for name in names]})


_ENTRIES = _BATCH_PROPERTIES["ops"] | _build_list_of_one_of("BatchHelpRequest", "BatchExecRequest")

_EXEC_ENTRY = allow_any_args(request_schemas.ENTRIES["exec"])
_LOOP_PROPERTIES = {
    name: build_ref(component) | {"description": request_schemas.LOOP_PROPERTIES[name]["description"]}
    for name, component in {"for_each": "BatchList", "where": "BatchCondition", "stop_if": "BatchCondition"}.items()
}
COMPONENTS: dict[str, Any] = {
    "BatchRequest": {**request_schemas.BATCH, "properties": {**_BATCH_PROPERTIES, "ops": _ENTRIES}},
    "BatchHelpRequest": request_schemas.ENTRIES["help"],
    "BatchExecRequest": {**_EXEC_ENTRY, "properties": _EXEC_ENTRY["properties"] | _LOOP_PROPERTIES},
    "BatchList": request_schemas.LIST_REFERENCE,
    "BatchCondition": {
        **request_schemas.CONDITION,
        "properties": {**request_schemas.CONDITION["properties"], "op": build_ref("BatchComparison")},
    },
    "BatchComparison": build_enum(request_schemas.COMPARISONS),
    "BatchHelp": build_object(
        {**_INDEX, "type": {"const": "help"}, "path": TEXT, "ok": {"type": "boolean"}},
        {"result": build_ref("HelpAnswer"), "error": build_ref("ErrorBody")},
        description="A help entry: its result or its error.",
    ),
    "BatchExec": build_object(
        {
            **_INDEX,
            "type": {"const": "exec"},
            "op": {"type": ["string", "null"]},
            "ok": {"type": "boolean"},
            "meta": build_ref("Meta"),
        },
        {"result": OBJECT, "error": build_ref("ErrorBody"), "items": build_array(build_ref("BatchRow"))},
        description="An exec entry: its envelope. With for_each it has items, not a result, and fails if one does.",
    ),
    "BatchRow": build_object(
        {
            "op": {"type": ["string", "null"]},
            "ok": {"type": "boolean"},
            "meta": {
                **OBJECT,
                "description": "As in an envelope, but what is the same for all rows is in the "
                "entry's. If the call failed, row is the place of its row in the list, from 0.",
            },
        },
        {"result": OBJECT, "error": build_ref("ErrorBody")},
        description="The envelope of a call for one row.",
    ),
    "BatchWaiting": build_object(
        {**_INDEX, "type": build_enum(request_schemas.ENTRIES), "status": build_enum(["pending", "running"])},
        {"op": TEXT, "path": TEXT, "progress": build_ref("CallProgress")},
        description="An entry that is not done.",
    ),
    "CallProgress": build_object(
        {},
        {"done": {"type": "number"}, "total": {"type": "number"}, "message": TEXT},
        description="What the service of a running call reported last, in its own units and words.",
    ),
    "Batch": build_object(
        {
            **_BATCH_FIELDS,
            "results": _build_list_of_one_of("BatchHelp", "BatchExec"),
            "summary": build_ref("BatchSummary"),
        },
        description="A batch that is done or out of time: one result per entry, in the order of the request.",
    ),
    "BatchStatus": build_object(
        {
            **_BATCH_FIELDS,
            "results": _build_list_of_one_of("BatchHelp", "BatchExec", "BatchWaiting"),
            "summary": build_ref("BatchProgress"),
            "status": build_ref("BatchState"),
        },
        description="The status of a batch.",
    ),
    "BatchSummary": build_object(_COUNTS),
    "BatchProgress": build_object({**_COUNTS, "pending": {"type": "integer"}}),
    "BatchState": build_enum(["pending", "running", "done", "cancelled"]),
}


class BatchView(GatewayView):
    """batch: several calls in one request. Each entry also needs its own scope."""

    scope = Scope.BATCH
    has_routing = True

    @batch_by_post
    def post(self, request: HttpRequest) -> HttpResponse:
        in_background = requests.prefers_background(request.META)
        body = requests.read_json_object(request)
        payload = service.submit(body, self.require_caller(), self.trace, in_background=in_background)
        replay_headers = {"Idempotent-Replayed": "true"} if payload["meta"].get("replayed") else {}
        if not in_background:
            return render_envelope(payload, 200, replay_headers)
        return render_accepted(payload, replay_headers)


class BatchStatusView(GatewayView):
    """Progress of a batch, and cancelling its entries that have not started."""

    http_method_names = ["get", "head", "delete"]
    scope = Scope.BATCH

    @batch_status
    def get(self, request: HttpRequest, id: UUID) -> HttpResponse:
        wait = _parse_wait(request.META["QUERY_STRING"])
        return render_envelope(service.get_status(id, self.require_caller(), self.trace, wait=wait), 200)

    @batch_cancel
    def delete(self, request: HttpRequest, id: UUID) -> HttpResponse:
        return render_envelope(service.cancel(id, self.require_caller(), self.trace), 200)


def _parse_wait(text: str) -> int:
    """Return the seconds that ?wait= asks for. Raises InvalidRequestError."""
    parameters = requests.parse_query_string(text)
    values = parameters.get("wait", ["0"])
    is_number = set(parameters) <= {"wait"} and len(values) == 1 and _SECONDS.fullmatch(values[0])
    if is_number and int(values[0]) <= service.MAX_WAIT_SECONDS:
        return int(values[0])
    message = f"wait must be a whole number of seconds from 0 to {service.MAX_WAIT_SECONDS}, and the only parameter."
    raise InvalidRequestError(message, reason="malformed_call", field_errors=[FieldError("/wait", "format", message)])
