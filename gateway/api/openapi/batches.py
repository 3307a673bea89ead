"""OpenAPI of batches."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse

from gateway.api.openapi.endpoint import ERROR, IDEMPOTENCY_KEY, KEY_REUSED, build_confirm_header, describe_endpoint
from gateway.api.openapi.envelopes import ERROR_BODY
from gateway.api.openapi.schema_parts import OBJECT, TEXT, build_object, build_ref
from gateway.batches import service
from gateway.contracts import request_schemas

_ENTRIES: list[dict[str, Any]] = list(request_schemas.ENTRIES.values())
_BATCH: dict[str, Any] = {
    **request_schemas.BATCH,
    "properties": {
        **request_schemas.BATCH["properties"],
        "ops": {**request_schemas.BATCH["properties"]["ops"], "items": {"oneOf": _ENTRIES}},
    },
}
_ENTRY_FIELDS = {"index": {"type": "integer"}, "type": {"enum": ["help", "exec"]}}
_SUMMARY = {name: {"type": "integer"} for name in ("succeeded", "failed", "skipped")}

_BATCH_FIELDS = {"batch_id": {**TEXT, "format": "uuid"}, "ok": {"type": "boolean"}, "meta": build_ref("Meta")}

_RESEND_NOTE = "Send the batch again with its idempotency key: entries that have run do not run again."

COMPONENTS: dict[str, Any] = {
    "BatchRequest": _BATCH,
    "BatchHelp": build_object(
        {**_ENTRY_FIELDS, "path": TEXT, "ok": {"type": "boolean"}},
        {"result": OBJECT, "error": ERROR_BODY},
        description="A help entry: its result or its error.",
    ),
    "BatchExec": build_object(
        {**_ENTRY_FIELDS, "op": {"type": ["string", "null"]}, "ok": {"type": "boolean"}, "meta": build_ref("Meta")},
        {"result": OBJECT, "error": ERROR_BODY},
        description="An exec entry: its envelope.",
    ),
    "BatchWaiting": build_object(
        {**_ENTRY_FIELDS, "status": {"enum": ["pending", "running"]}},
        {"op": TEXT, "path": TEXT},
        description="An entry that is not done.",
    ),
    "Batch": build_object(
        {
            **_BATCH_FIELDS,
            "results": {"type": "array", "items": {"oneOf": [build_ref("BatchHelp"), build_ref("BatchExec")]}},
            "summary": build_object(_SUMMARY),
        },
        description="A batch that is done or out of time: one result per entry, in the order of the request.",
    ),
    "BatchStatus": build_object(
        {
            **_BATCH_FIELDS,
            "results": {
                "type": "array",
                "items": {"oneOf": [build_ref("BatchHelp"), build_ref("BatchExec"), build_ref("BatchWaiting")]},
            },
            "summary": build_object({**_SUMMARY, "pending": {"type": "integer"}}),
            "status": {"enum": ["pending", "running", "done", "cancelled"]},
        },
        description="The status of a batch.",
    ),
}

batch_by_post = describe_endpoint(
    id="batch",
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
    id="batch_status",
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
    id="batch_cancel", summary="Cancel entries that have not started", body=None, answers=_STATUS
)
