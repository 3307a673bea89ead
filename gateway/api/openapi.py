"""The OpenAPI 3.1 document: the request body and all responses of each endpoint."""

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import orjson
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema

from gateway.api import events, pagination
from gateway.batches import service
from gateway.contracts import request_schemas
from gateway.contracts.errors import ErrorCode
from gateway.toolset import service as toolset
from gateway.toolset import telemetry

View = TypeVar("View", bound=Callable[..., Any])

TEXT: dict[str, Any] = {"type": "string"}
TEXTS: dict[str, Any] = {"type": "array", "items": TEXT}
OBJECT: dict[str, Any] = {"type": "object"}


def _build_ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _build_object(required: dict[str, Any], optional: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
        **more,
    }


def _build_array(required: dict[str, Any], optional: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": _build_object(required, optional)}


_EXAMPLES = {"type": "array", "items": _build_object({"args": OBJECT}, {"title": TEXT, "note": TEXT})}
_POLICY = _build_object({}, {"do": TEXTS, "dont": TEXTS, "edge_cases": TEXTS})
_ARGUMENT = {"name": TEXT, "type": TEXT, "required": {"type": "boolean"}}
_OP = {"path": TEXT, "type": {"const": "op"}, "kind": {"enum": ["read", "write"]}}

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

# Named components of the document, so that generated clients get named types.
COMPONENTS: dict[str, Any] = {
    "HelpRequest": request_schemas.HELP,
    "ExecRequest": request_schemas.EXEC,
    "BatchRequest": _BATCH,
    "HelpGroup": _build_object(
        {
            "path": TEXT,
            "type": {"const": "group"},
            "items": _build_array({"path": TEXT}, {"summary": TEXT, "kind": {"enum": ["read", "write"]}}),
        },
        {"summary": TEXT, "next_cursor": TEXT},
        description="A group: its direct children, 50 per page.",
    ),
    "HelpOp": _build_object(
        {**_OP, "args": {"type": "object", "additionalProperties": TEXT}},
        {"summary": TEXT, "examples": _EXAMPLES, "schema": OBJECT, "omitted": TEXTS},
        description="An op in the short format: its arguments as typed signatures.",
    ),
    "HelpOpFull": _build_object(
        {
            **_OP,
            "args": _build_array(_ARGUMENT, {"default": {}, "enum": {"type": "array"}, "description": TEXT}),
        },
        {
            "summary": TEXT,
            "description": TEXT,
            "usage": _build_object({"op": TEXT, "args": OBJECT}),
            "policy": _POLICY,
            "notes": TEXT,
            "examples": _EXAMPLES,
            "schema": OBJECT,
            "omitted": TEXTS,
        },
        description="An op in the full format, with its policy and examples.",
    ),
    "HelpArg": _build_object(
        {"path": TEXT, "type": {"const": "arg"}, "arg": {"type": "object", "properties": _ARGUMENT}},
        description="One argument of an op, in full.",
    ),
    "HelpSearch": _build_object(
        {
            "query": TEXT,
            "type": {"const": "search"},
            "items": _build_array({"path": TEXT}, {"summary": TEXT, "ops": {"type": "integer"}}),
        },
        description="The ops that match a query, best first; else the nearest groups with their number of ops.",
    ),
    "Meta": {
        **_build_object(
            {"trace_id": TEXT, "latency_ms": {"type": "number"}, "warnings": TEXTS},
            {
                "dry_run": {"type": "boolean"},
                "replayed": {"type": "boolean"},
                "original_trace_id": TEXT,
                "applied_defaults": OBJECT,
                "executed_op": TEXT,
                "operation": _build_object({"entity": TEXT, "action": TEXT}, {"entity_id": TEXT, "entity_name": TEXT}),
            },
        ),
        "additionalProperties": True,
    },
    "FieldError": _build_object(
        {"path": TEXT, "code": TEXT, "message": TEXT},
        {"expected": {}, "got": TEXT},
        description="What is wrong with one value: where (JSON Pointer), which rule, and what to send instead.",
    ),
    "Success": _build_object({"op": TEXT, "ok": {"const": True}, "result": OBJECT, "meta": _build_ref("Meta")}),
    "Error": _build_object(
        {
            "op": {"type": ["string", "null"]},
            "ok": {"const": False},
            "error": _build_object(
                {
                    "code": {"enum": list(ErrorCode.values)},
                    "message": TEXT,
                    "details": {
                        "type": "object",
                        "properties": {
                            "field_errors": {"type": "array", "items": _build_ref("FieldError")},
                            "reason": TEXT,
                            "retryable": {"type": "boolean"},
                            "retry_with": OBJECT,
                            "did_you_mean": TEXTS,
                            "schema": OBJECT,
                        },
                        "required": ["field_errors", "reason", "retryable"],
                    },
                    "help_path": TEXT,
                }
            ),
            "meta": _build_ref("Meta"),
        }
    ),
}

COMPONENTS["BatchHelp"] = _build_object(
    {**_ENTRY_FIELDS, "path": TEXT, "ok": {"type": "boolean"}},
    {"result": OBJECT, "error": COMPONENTS["Error"]["properties"]["error"]},
    description="A help entry: its result or its error.",
)
COMPONENTS["BatchExec"] = _build_object(
    {**_ENTRY_FIELDS, "op": {"type": ["string", "null"]}, "ok": {"type": "boolean"}, "meta": _build_ref("Meta")},
    {"result": OBJECT, "error": COMPONENTS["Error"]["properties"]["error"]},
    description="An exec entry: its envelope.",
)
COMPONENTS["BatchWaiting"] = _build_object(
    {**_ENTRY_FIELDS, "status": {"enum": ["pending", "running"]}},
    {"op": TEXT, "path": TEXT},
    description="An entry that is not done.",
)
_BATCH_FIELDS = {"batch_id": {**TEXT, "format": "uuid"}, "ok": {"type": "boolean"}, "meta": _build_ref("Meta")}
COMPONENTS["Batch"] = _build_object(
    {
        **_BATCH_FIELDS,
        "results": {"type": "array", "items": {"oneOf": [_build_ref("BatchHelp"), _build_ref("BatchExec")]}},
        "summary": _build_object(_SUMMARY),
    },
    description="A batch that is done or out of time: one result per entry, in the order of the request.",
)
COMPONENTS["BatchStatus"] = _build_object(
    {
        **_BATCH_FIELDS,
        "results": {
            "type": "array",
            "items": {"oneOf": [_build_ref("BatchHelp"), _build_ref("BatchExec"), _build_ref("BatchWaiting")]},
        },
        "summary": _build_object({**_SUMMARY, "pending": {"type": "integer"}}),
        "status": {"enum": ["pending", "running", "done", "cancelled"]},
    },
    description="The status of a batch.",
)

_RELEASE = {
    "version": TEXT,
    "at": {**TEXT, "format": "date-time"},
    "by": TEXT,
    "note": {**TEXT, "description": "The note of its publication."},
    "op_count": {"type": "integer"},
    "live": {"type": "boolean"},
    "withdrawn": {"type": "boolean", "description": "It can never be made live or serve calls again."},
}
_WITHDRAWN = {"withdrawn_reason": TEXT}
COMPONENTS["ReleasePage"] = _build_object(
    {"results": _build_array(_RELEASE, _WITHDRAWN), "next_cursor": {"type": ["string", "null"]}},
    description="Releases, newest first.",
)
COMPONENTS["Release"] = _build_object(
    {
        **_RELEASE,
        "ops": _build_array(
            {
                "op": TEXT,
                "kind": {"enum": ["read", "write"]},
                "summary": TEXT,
                "status": {"enum": ["active", "retired"]},
            },
            {"tokens": _build_object({"short": {"type": "integer"}, "full": {"type": "integer"}})},
        ),
    },
    _WITHDRAWN,
    description="One release, with the ops this key may see and the o200k_base tokens of their help.",
)

_VERSIONED = {"release": TEXT, "surface": TEXT, "cohort": {**TEXT, "description": "The cohorts that decided."}}
COMPONENTS["ToolsetRequest"] = toolset.TOOLSET_SCHEMA
COMPONENTS["Toolset"] = _build_object(
    {
        "id": {**TEXT, "description": "For Gateway-Toolset: keeps a turn on this surface and release, 15 minutes."},
        **_VERSIONED,
        "tools": {"type": "array", "items": OBJECT, "description": "Tool definitions in the requested format."},
        "prompt": {**TEXT, "description": "The part of the system prompt about them."},
        "tokens": {"type": "integer", "description": "Tokens of tools and prompt together (o200k_base)."},
    },
    {
        "selection": _build_object(
            {"kind": {"const": "static"}, "count": {"type": "integer"}},
            {"left_out": {**TEXTS, "description": "Tools that providers would refuse, or that were too many."}},
        )
    },
    description="What to show the model.",
)
COMPONENTS["TelemetryRequest"] = telemetry.TELEMETRY_SCHEMA
COMPONENTS["Told"] = _build_object({"ok": {"const": True}, "meta": _build_ref("Meta")})
_EVENT: dict[str, Any] = dict.fromkeys(events.EVENT_FIELDS, TEXT) | {
    "dry_run": {"type": "boolean"},
    "ok": {"type": "boolean"},
    "replayed": {"type": "boolean"},
    "status": {"type": "integer"},
    "latency_ms": {"type": "number"},
    "result_count": {"type": ["integer", "null"]},
    "mends": {"type": ["integer", "null"], "description": "The id of the failed call that this one repaired."},
    "field_errors": {"type": "array", "description": "[JSON Pointer, code] of each field error; never a value."},
    "content": {"type": ["object", "null"], "description": "{args, result}, if the gateway stores them."},
}
COMPONENTS["EventPage"] = _build_object(
    {
        "results": _build_array({"id": {"type": "integer"}, "time": {**TEXT, "format": "date-time"}, **_EVENT}, {}),
        "next_cursor": {"type": ["string", "null"]},
    },
    description="Operation events, newest first.",
)

_ERROR = _build_ref("Error")
_FAILURES = {
    400: "VALIDATION_ERROR: malformed, with all field errors.",
    401: "No valid API key.",
    403: "Not allowed for this key, client or subject.",
    404: "No such op, path or row.",
    405: "The endpoint does not support this method.",
    413: "The body is too large.",
    415: "Not application/json in UTF-8.",
    429: "Over the key's rate limit; see Retry-After.",
    500: "A failure on our side.",
    503: "Not ready, not connected, or temporarily unavailable.",
}
_EXEC_FAILURES = {
    409: "CONFLICT: details.reason names the case.",
    422: "The idempotency key was used for another call.",
    504: "The call timed out, or its outcome is unknown.",
}

_HEADERS = [
    OpenApiParameter("Gateway-Subject", OpenApiTypes.STR, OpenApiParameter.HEADER, description="The end user's id."),
    OpenApiParameter("Gateway-Session", OpenApiTypes.STR, OpenApiParameter.HEADER, description="Conversation id."),
    OpenApiParameter("Gateway-Turn", OpenApiTypes.STR, OpenApiParameter.HEADER, description="Turn id."),
    OpenApiParameter(
        "Gateway-Context",
        OpenApiTypes.STR,
        OpenApiParameter.HEADER,
        description='What the user is looking at (RFC 9651): type=project, project_id="<uuid>".',
    ),
    OpenApiParameter(
        "Gateway-Toolset", OpenApiTypes.STR, OpenApiParameter.HEADER, description="The toolset id of this turn."
    ),
    OpenApiParameter(
        "Gateway-Traits",
        OpenApiTypes.STR,
        OpenApiParameter.HEADER,
        description="Attributes for cohort rules (RFC 9651): plan=pro, seats=5, beta.",
    ),
    OpenApiParameter("Gateway-Model", OpenApiTypes.STR, OpenApiParameter.HEADER, description="The model's name."),
    OpenApiParameter("Gateway-Environment", OpenApiTypes.STR, OpenApiParameter.HEADER, description="dev, production."),
    OpenApiParameter("traceparent", OpenApiTypes.STR, OpenApiParameter.HEADER, description="W3C trace context."),
]
_KEY = OpenApiParameter(
    "Idempotency-Key", OpenApiTypes.STR, OpenApiParameter.HEADER, description="A repeated write takes effect once."
)
_CONFIRM = "The token of a confirmation_required error, after the end user has agreed."
_RESEND_NOTE = "Send the batch again with its idempotency key: entries that have run do not run again."


def _build_confirm_header(description: str) -> OpenApiParameter:
    return OpenApiParameter("Gateway-Confirm", OpenApiTypes.STR, OpenApiParameter.HEADER, description=description)


class ApiKeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # registers itself, untyped
    """Describes Bearer keys, so that the Authorize button of the docs page works."""

    target_class = "gateway.api.authentication.KeyAuthentication"
    name = "apiKey"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "An API key."}


def add_components(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Add our named components and mark request bodies as required (a drf-spectacular post-processing hook)."""
    result["components"].setdefault("schemas", {}).update(COMPONENTS)
    for endpoints in result["paths"].values():
        for endpoint in endpoints.values():
            if "requestBody" in endpoint:
                endpoint["requestBody"]["required"] = True
    return result


@cache
def render_document() -> bytes:
    """Return the OpenAPI document of all endpoints as JSON; built once per process."""
    return orjson.dumps(SchemaGenerator().get_schema(request=None, public=True))  # type: ignore[no-untyped-call]


def describe_endpoint(
    *,
    id: str,
    summary: str,
    body: str | None,
    answers: dict[int, Any],
    parameters: list[OpenApiParameter] | None = None,
) -> Callable[[View], View]:
    """Describe one endpoint: its body (a component name), responses by status, and its own parameters."""
    responses = {status: OpenApiResponse(_ERROR, description=text) for status, text in _FAILURES.items()} | answers
    return extend_schema(
        operation_id=id,
        summary=summary,
        tags=["gateway"],
        request={"application/json": _build_ref(body)} if body else None,
        responses=dict(sorted(responses.items())),
        parameters=[*_HEADERS, *(parameters or [])],
    )


_HELP = OpenApiResponse(
    {"oneOf": [_build_ref(name) for name in ("HelpGroup", "HelpOp", "HelpOpFull", "HelpArg", "HelpSearch")]},
    description="Exactly what the model should read.",
)

help_by_post = describe_endpoint(id="help", summary="List, read or search", body="HelpRequest", answers={200: _HELP})
help_by_get = describe_endpoint(
    id="help_get",
    summary="List, read or search, with an ETag",
    body=None,
    answers={200: _HELP, 304: OpenApiResponse(description="Unchanged since the ETag in If-None-Match.")},
    parameters=[
        OpenApiParameter(name, schema, OpenApiParameter.QUERY)
        for name, schema in request_schemas.HELP["properties"].items()
    ],
)
exec_by_post = describe_endpoint(
    id="exec",
    summary="Run one op",
    body="ExecRequest",
    answers={200: OpenApiResponse(_build_ref("Success"), description="The op succeeded.")}
    | {status: OpenApiResponse(_ERROR, description=text) for status, text in _EXEC_FAILURES.items()},
    parameters=[_KEY, _build_confirm_header(_CONFIRM)],
)
batch_by_post = describe_endpoint(
    id="batch",
    summary="Make several calls at once",
    body="BatchRequest",
    answers={
        200: OpenApiResponse(_build_ref("Batch"), description="All entries are done, or the time is over."),
        202: OpenApiResponse(_build_ref("BatchStatus"), description="Accepted; Location is the URL of its status."),
        422: OpenApiResponse(_ERROR, description=_EXEC_FAILURES[422]),
    },
    parameters=[
        _KEY,
        _build_confirm_header(f"{_CONFIRM} {_RESEND_NOTE}"),
        OpenApiParameter(
            "Prefer",
            OpenApiTypes.STR,
            OpenApiParameter.HEADER,
            description="respond-async (RFC 7240): respond at once and run in the background.",
        ),
    ],
)
_STATUS = {200: OpenApiResponse(_build_ref("BatchStatus"), description="The current status.")}
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
releases_list = describe_endpoint(
    id="releases",
    summary="List the releases, newest first",
    body=None,
    answers={200: OpenApiResponse(_build_ref("ReleasePage"), description="A page of releases.")},
    parameters=[
        OpenApiParameter(name, schema, OpenApiParameter.QUERY)
        for name, schema in pagination.QUERY["properties"].items()
    ],
)
release_get = describe_endpoint(
    id="release",
    summary="Get one release: its ops and their tokens",
    body=None,
    answers={200: OpenApiResponse(_build_ref("Release"), description="The release.")},
)
toolset_by_post = describe_endpoint(
    id="toolset",
    summary="Get what to show the model in this turn",
    body="ToolsetRequest",
    answers={
        200: OpenApiResponse(_build_ref("Toolset"), description="Tools, prompt, and the toolset id for the turn.")
    },
)
telemetry_by_post = describe_endpoint(
    id="telemetry",
    summary="Report how a turn went",
    body="TelemetryRequest",
    answers={
        200: OpenApiResponse(_build_ref("Told"), description="Recorded; a repeated report replaces the earlier one.")
    },
)
events_list = describe_endpoint(
    id="events",
    summary="List your client's operation events, newest first",
    body=None,
    answers={200: OpenApiResponse(_build_ref("EventPage"), description="A page of events.")},
    parameters=[
        OpenApiParameter(name, schema, OpenApiParameter.QUERY) for name, schema in events.QUERY["properties"].items()
    ],
)
