"""OpenAPI of batches."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse

from gateway.api.openapi.endpoint import ERROR, IDEMPOTENCY_KEY, KEY_REUSED, build_confirm_header, describe_endpoint
from gateway.api.openapi.exec import allow_any_args
from gateway.api.openapi.schema_parts import OBJECT, TEXT, build_array, build_enum, build_object, build_ref
from gateway.batches import service
from gateway.contracts import request_schemas


def _build_list_of_one_of(*names: str) -> dict[str, Any]:
    return build_array({"oneOf": [build_ref(name) for name in names]})


_BATCH_PROPERTIES = request_schemas.BATCH["properties"]
_ENTRIES = _BATCH_PROPERTIES["ops"] | _build_list_of_one_of("BatchHelpRequest", "BatchExecRequest")
_INDEX = {"index": {"type": "integer"}}
_COUNTS = {name: {"type": "integer"} for name in ("succeeded", "failed", "skipped")}

_BATCH_FIELDS = {"batch_id": {**TEXT, "format": "uuid"}, "ok": {"type": "boolean"}, "meta": build_ref("Meta")}

_RESEND_NOTE = "Send the batch again with its idempotency key: entries that have run do not run again."

COMPONENTS: dict[str, Any] = {
    "BatchRequest": {**request_schemas.BATCH, "properties": {**_BATCH_PROPERTIES, "ops": _ENTRIES}},
    "BatchHelpRequest": request_schemas.ENTRIES["help"],
    "BatchExecRequest": allow_any_args(request_schemas.ENTRIES["exec"]),
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
        {"result": OBJECT, "error": build_ref("ErrorBody")},
        description="An exec entry: its envelope.",
    ),
    "BatchWaiting": build_object(
        {**_INDEX, "type": build_enum(request_schemas.ENTRIES), "status": build_enum(["pending", "running"])},
        {"op": TEXT, "path": TEXT},
        description="An entry that is not done.",
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
        OpenApiParameter(
            "Prefer",
            OpenApiTypes.STR,
            OpenApiParameter.HEADER,
            description="respond-async (RFC 7240): respond at once and run in the background.",
        ),
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
            f"{service.MAX_WAITING_REQUESTS} requests wait at a time and responds to others at once: "
            "if nothing has changed, wait a second before you ask again.",
        )
    ],
)

batch_cancel = describe_endpoint(
    id="cancel_batch", summary="Cancel entries that have not started", body=None, answers=_STATUS
)
