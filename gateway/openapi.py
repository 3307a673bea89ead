"""The OpenAPI 3.1 document: the request body and all responses of each endpoint."""

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import orjson
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema

from gateway import bodies, pages, telemetry, told_events
from gateway.batches import service
from gateway.errors import Code
from gateway.toolset import service as toolset

View = TypeVar("View", bound=Callable[..., Any])

TEXT: dict[str, Any] = {"type": "string"}
TEXTS: dict[str, Any] = {"type": "array", "items": TEXT}
OBJECT: dict[str, Any] = {"type": "object"}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _object(required: dict[str, Any], optional: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
        **more,
    }


def _items(required: dict[str, Any], optional: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": _object(required, optional)}


_EXAMPLES = {"type": "array", "items": _object({"args": OBJECT}, {"title": TEXT, "note": TEXT})}
_POLICY = _object({}, {"do": TEXTS, "dont": TEXTS, "edge_cases": TEXTS})
_ARGUMENT = {"name": TEXT, "type": TEXT, "required": {"type": "boolean"}}
_OP = {"path": TEXT, "type": {"const": "op"}, "kind": {"enum": ["read", "write"]}}

_ENTRIES: list[dict[str, Any]] = list(bodies.ENTRIES.values())
_BATCH: dict[str, Any] = {
    **bodies.BATCH,
    "properties": {
        **bodies.BATCH["properties"],
        "ops": {**bodies.BATCH["properties"]["ops"], "items": {"oneOf": _ENTRIES}},
    },
}
_PLACE = {"index": {"type": "integer"}, "type": {"enum": ["help", "exec"]}}
_SUMMARY = {name: {"type": "integer"} for name in ("succeeded", "failed", "skipped")}

# Named components of the document, so that generated clients get named types.
COMPONENTS: dict[str, Any] = {
    "HelpRequest": bodies.HELP,
    "ExecRequest": bodies.EXEC,
    "BatchRequest": _BATCH,
    "HelpGroup": _object(
        {
            "path": TEXT,
            "type": {"const": "group"},
            "items": _items({"path": TEXT}, {"summary": TEXT, "kind": {"enum": ["read", "write"]}}),
        },
        {"summary": TEXT, "next_cursor": TEXT},
        description="A group: its direct children, 50 per page.",
    ),
    "HelpOp": _object(
        {**_OP, "args": {"type": "object", "additionalProperties": TEXT}},
        {"summary": TEXT, "examples": _EXAMPLES, "schema": OBJECT, "omitted": TEXTS},
        description="An op in the short format: its arguments as typed signatures.",
    ),
    "HelpOpFull": _object(
        {
            **_OP,
            "args": _items(_ARGUMENT, {"default": {}, "enum": {"type": "array"}, "description": TEXT}),
        },
        {
            "summary": TEXT,
            "description": TEXT,
            "usage": _object({"op": TEXT, "args": OBJECT}),
            "policy": _POLICY,
            "notes": TEXT,
            "examples": _EXAMPLES,
            "schema": OBJECT,
            "omitted": TEXTS,
        },
        description="An op in the full format, with its policy and examples.",
    ),
    "HelpArg": _object(
        {"path": TEXT, "type": {"const": "arg"}, "arg": {"type": "object", "properties": _ARGUMENT}},
        description="One argument of an op, in full.",
    ),
    "HelpSearch": _object(
        {
            "query": TEXT,
            "type": {"const": "search"},
            "items": _items({"path": TEXT}, {"summary": TEXT, "ops": {"type": "integer"}}),
        },
        description="The ops that match a query, best first; else the nearest groups with their number of ops.",
    ),
    "Meta": {
        **_object(
            {"trace_id": TEXT, "latency_ms": {"type": "number"}, "warnings": TEXTS},
            {
                "dry_run": {"type": "boolean"},
                "replayed": {"type": "boolean"},
                "original_trace_id": TEXT,
                "applied_defaults": OBJECT,
                "executed_op": TEXT,
                "operation": _object({"entity": TEXT, "action": TEXT}, {"entity_id": TEXT, "entity_name": TEXT}),
            },
        ),
        "additionalProperties": True,
    },
    "FieldError": _object(
        {"path": TEXT, "code": TEXT, "message": TEXT},
        {"expected": {}, "got": TEXT},
        description="What is wrong with one value: where (JSON Pointer), which rule, and what to send instead.",
    ),
    "Success": _object({"op": TEXT, "ok": {"const": True}, "result": OBJECT, "meta": _ref("Meta")}),
    "Error": _object(
        {
            "op": {"type": ["string", "null"]},
            "ok": {"const": False},
            "error": _object(
                {
                    "code": {"enum": list(Code.values)},
                    "message": TEXT,
                    "details": {
                        "type": "object",
                        "properties": {
                            "field_errors": {"type": "array", "items": _ref("FieldError")},
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
            "meta": _ref("Meta"),
        }
    ),
}

COMPONENTS["BatchHelp"] = _object(
    {**_PLACE, "path": TEXT, "ok": {"type": "boolean"}},
    {"result": OBJECT, "error": COMPONENTS["Error"]["properties"]["error"]},
    description="A help entry: its result or its error.",
)
COMPONENTS["BatchExec"] = _object(
    {**_PLACE, "op": {"type": ["string", "null"]}, "ok": {"type": "boolean"}, "meta": _ref("Meta")},
    {"result": OBJECT, "error": COMPONENTS["Error"]["properties"]["error"]},
    description="An exec entry: its envelope.",
)
COMPONENTS["BatchWaiting"] = _object(
    {**_PLACE, "status": {"enum": ["pending", "running"]}},
    {"op": TEXT, "path": TEXT},
    description="An entry that is not done.",
)
_DONE = {"batch_id": {**TEXT, "format": "uuid"}, "ok": {"type": "boolean"}, "meta": _ref("Meta")}
COMPONENTS["Batch"] = _object(
    {
        **_DONE,
        "results": {"type": "array", "items": {"oneOf": [_ref("BatchHelp"), _ref("BatchExec")]}},
        "summary": _object(_SUMMARY),
    },
    description="A batch that is done or out of time: one result per entry, in the order of the request.",
)
COMPONENTS["BatchStatus"] = _object(
    {
        **_DONE,
        "results": {
            "type": "array",
            "items": {"oneOf": [_ref("BatchHelp"), _ref("BatchExec"), _ref("BatchWaiting")]},
        },
        "summary": _object({**_SUMMARY, "pending": {"type": "integer"}}),
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
COMPONENTS["ReleasePage"] = _object(
    {"results": _items(_RELEASE, _WITHDRAWN), "next_cursor": {"type": ["string", "null"]}},
    description="Releases, newest first.",
)
COMPONENTS["Release"] = _object(
    {
        **_RELEASE,
        "ops": _items(
            {
                "op": TEXT,
                "kind": {"enum": ["read", "write"]},
                "summary": TEXT,
                "status": {"enum": ["active", "retired"]},
            },
            {"tokens": _object({"short": {"type": "integer"}, "full": {"type": "integer"}})},
        ),
    },
    _WITHDRAWN,
    description="One release, with the ops this key may see and the o200k_base tokens of their help.",
)

_VERSIONED = {"release": TEXT, "surface": TEXT, "cohort": {**TEXT, "description": "The cohorts that decided."}}
COMPONENTS["ToolsetRequest"] = toolset.BODY
COMPONENTS["Toolset"] = _object(
    {
        "id": {**TEXT, "description": "For Gateway-Toolset: keeps a turn on this surface and release, 15 minutes."},
        **_VERSIONED,
        "tools": {"type": "array", "items": OBJECT, "description": "Tool definitions in the requested format."},
        "prompt": {**TEXT, "description": "The part of the system prompt about them."},
        "tokens": {"type": "integer", "description": "Tokens of tools and prompt together (o200k_base)."},
    },
    {
        "selection": _object(
            {"kind": {"const": "static"}, "count": {"type": "integer"}},
            {"left_out": {**TEXTS, "description": "Tools that providers would refuse, or that were too many."}},
        )
    },
    description="What to show the model.",
)
COMPONENTS["TelemetryRequest"] = telemetry.BODY
COMPONENTS["Told"] = _object({"ok": {"const": True}, "meta": _ref("Meta")})
_EVENT: dict[str, Any] = dict.fromkeys(told_events.FIELDS, TEXT) | {
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
COMPONENTS["EventPage"] = _object(
    {
        "results": _items({"id": {"type": "integer"}, "time": {**TEXT, "format": "date-time"}, **_EVENT}, {}),
        "next_cursor": {"type": ["string", "null"]},
    },
    description="Operation events, newest first.",
)

_ERROR = _ref("Error")
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
_AGAIN = "Send the batch again with its idempotency key: entries that have run do not run again."


def _confirm(description: str) -> OpenApiParameter:
    return OpenApiParameter("Gateway-Confirm", OpenApiTypes.STR, OpenApiParameter.HEADER, description=description)


class KeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # registers itself, untyped
    """Describes Bearer keys, so that the Authorize button of the docs page works."""

    target_class = "gateway.authentication.KeyAuthentication"
    name = "apiKey"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "An API key."}


def add_components(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Add our named components and mark request bodies as required (a drf-spectacular post-processing hook)."""
    result["components"].setdefault("schemas", {}).update(COMPONENTS)
    for doors in result["paths"].values():
        for door in doors.values():
            if "requestBody" in door:
                door["requestBody"]["required"] = True
    return result


@cache
def document() -> bytes:
    """Return the OpenAPI document of all endpoints as JSON; built once per process."""
    return orjson.dumps(SchemaGenerator().get_schema(request=None, public=True))  # type: ignore[no-untyped-call]


def documents(
    *,
    id: str,
    summary: str,
    takes: str | None,
    answers: dict[int, Any],
    parameters: list[OpenApiParameter] | None = None,
) -> Callable[[View], View]:
    """Describe one endpoint: its body (a component name), responses by status, and its own parameters."""
    responses = {status: OpenApiResponse(_ERROR, description=said) for status, said in _FAILURES.items()} | answers
    return extend_schema(
        operation_id=id,
        summary=summary,
        tags=["gateway"],
        request={"application/json": _ref(takes)} if takes else None,
        responses=dict(sorted(responses.items())),
        parameters=[*_HEADERS, *(parameters or [])],
    )


_HELP = OpenApiResponse(
    {"oneOf": [_ref(name) for name in ("HelpGroup", "HelpOp", "HelpOpFull", "HelpArg", "HelpSearch")]},
    description="Exactly what the model should read.",
)

help_by_post = documents(id="help", summary="List, read or search", takes="HelpRequest", answers={200: _HELP})
help_by_get = documents(
    id="help_get",
    summary="List, read or search, with an ETag",
    takes=None,
    answers={200: _HELP, 304: OpenApiResponse(description="Unchanged since the ETag in If-None-Match.")},
    parameters=[
        OpenApiParameter(name, schema, OpenApiParameter.QUERY) for name, schema in bodies.HELP["properties"].items()
    ],
)
exec_by_post = documents(
    id="exec",
    summary="Run one op",
    takes="ExecRequest",
    answers={200: OpenApiResponse(_ref("Success"), description="The op succeeded.")}
    | {status: OpenApiResponse(_ERROR, description=text) for status, text in _EXEC_FAILURES.items()},
    parameters=[_KEY, _confirm(_CONFIRM)],
)
batch_by_post = documents(
    id="batch",
    summary="Make several calls at once",
    takes="BatchRequest",
    answers={
        200: OpenApiResponse(_ref("Batch"), description="All entries are done, or the time is over."),
        202: OpenApiResponse(_ref("BatchStatus"), description="Accepted; Location is the URL of its status."),
        422: OpenApiResponse(_ERROR, description=_EXEC_FAILURES[422]),
    },
    parameters=[
        _KEY,
        _confirm(f"{_CONFIRM} {_AGAIN}"),
        OpenApiParameter(
            "Prefer",
            OpenApiTypes.STR,
            OpenApiParameter.HEADER,
            description="respond-async (RFC 7240): respond at once and run in the background.",
        ),
    ],
)
_STATUS = {200: OpenApiResponse(_ref("BatchStatus"), description="The current status.")}
batch_status = documents(
    id="batch_status",
    summary="Get the status of a batch",
    takes=None,
    answers=_STATUS,
    parameters=[
        OpenApiParameter(
            "wait",
            {"type": "integer", "minimum": 0, "maximum": service.LONGEST_WAIT},
            OpenApiParameter.QUERY,
            description="Seconds to wait for a change before responding. A process lets "
            f"{service.HELD_ANSWERS} requests wait at a time and responds to others at once: if nothing has changed, "
            "wait a second before you ask again.",
        )
    ],
)
batch_cancel = documents(id="batch_cancel", summary="Cancel entries that have not started", takes=None, answers=_STATUS)
releases_list = documents(
    id="releases",
    summary="List the releases, newest first",
    takes=None,
    answers={200: OpenApiResponse(_ref("ReleasePage"), description="A page of releases.")},
    parameters=[
        OpenApiParameter(name, schema, OpenApiParameter.QUERY) for name, schema in pages.QUERY["properties"].items()
    ],
)
release_get = documents(
    id="release",
    summary="Get one release: its ops and their tokens",
    takes=None,
    answers={200: OpenApiResponse(_ref("Release"), description="The release.")},
)
toolset_by_post = documents(
    id="toolset",
    summary="Get what to show the model in this turn",
    takes="ToolsetRequest",
    answers={200: OpenApiResponse(_ref("Toolset"), description="Tools, prompt, and the toolset id for the turn.")},
)
telemetry_by_post = documents(
    id="telemetry",
    summary="Report how a turn went",
    takes="TelemetryRequest",
    answers={200: OpenApiResponse(_ref("Told"), description="Recorded; a repeated report replaces the earlier one.")},
)
events_list = documents(
    id="events",
    summary="List your client's operation events, newest first",
    takes=None,
    answers={200: OpenApiResponse(_ref("EventPage"), description="A page of events.")},
    parameters=[
        OpenApiParameter(name, schema, OpenApiParameter.QUERY)
        for name, schema in told_events.QUERY["properties"].items()
    ],
)
