"""Describe endpoints for OpenAPI: bodies, responses, headers, shared components and examples."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema

from gateway.contracts.errors import ErrorCode
from registry.jsonschema.dialect import Schema

TEXT: dict[str, Any] = {"type": "string"}
NUMBER: dict[str, Any] = {"type": "number"}
TEXTS: dict[str, Any] = {"type": "array", "items": TEXT}

# Without additionalProperties, some client generators make a type without members of it.
OBJECT: dict[str, Any] = {"type": "object", "additionalProperties": True}
View = TypeVar("View", bound=Callable[..., Any])
KEY_REUSED = "The idempotency key was used for another call."
IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key", OpenApiTypes.STR, OpenApiParameter.HEADER, description="A repeated write takes effect once."
)
_FAILURES = {
    400: "VALIDATION_ERROR: malformed, with all field errors.",
    401: "No valid API key.",
    403: "Not allowed for this key, client or subject.",
    404: "No such op, path or row.",
    405: "The endpoint does not support this method.",
    413: "The body is too large.",
    415: "Not application/json in UTF-8.",
    429: "Over the key's rate limit; see Retry-After.",
    500: "An error in the gateway.",
    503: "Not ready, not connected, or temporarily unavailable.",
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
    OpenApiParameter(
        "Gateway-Purpose",
        OpenApiTypes.STR,
        OpenApiParameter.HEADER,
        description="context: the client loads this for itself, so no report counts the call. Leave it out for a "
        "model's call.",
    ),
    OpenApiParameter(
        "Gateway-Agent",
        OpenApiTypes.STR,
        OpenApiParameter.HEADER,
        description="Run as this agent, held to its ops. Endpoints that run and show no ops refuse it.",
    ),
    OpenApiParameter("traceparent", OpenApiTypes.STR, OpenApiParameter.HEADER, description="W3C trace context."),
]
FILE = Path(__file__).with_suffix(".yaml")
JSON = "application/json"
META = {"trace_id": "tr_3594c32cde43d8a08385770d42606a2f", "latency_ms": 1.0, "warnings": []}


def build_ref(name: str) -> dict[str, Any]:
    """Return a reference to a named component."""
    return {"$ref": f"#/components/schemas/{name}"}


def build_object(required: dict[str, Any], optional: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """Return the schema of an object with exactly these members; `more` has other keywords.

    Client generators name an object that is not a separate component after its place.
    """
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
        **more,
    }


def build_array(items: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a list. Without `items`, some client generators leave out everything that contains it."""
    return {"type": "array", "items": items}


def build_enum(values: Iterable[str]) -> dict[str, Any]:
    """Return the schema of a string that is one of these."""
    return {**TEXT, "enum": list(values)}


ERROR = build_ref("Error")


def describe_endpoint(
    *,
    id: str,
    summary: str,
    body: str | None,
    answers: Mapping[int, Any] | Mapping[tuple[int, str], Any],
    parameters: list[OpenApiParameter] | None = None,
) -> Callable[[View], View]:
    """Describe one endpoint: its body (a component name), responses by status, and its own parameters.

    The responses are JSON, unless `answers` names the content type besides the status.
    """
    responses: dict[Any, Any] = {status: OpenApiResponse(ERROR, description=text) for status, text in _FAILURES.items()}
    responses |= answers
    return extend_schema(
        operation_id=id,
        summary=summary,
        tags=["gateway"],
        request={"application/json": build_ref(body)} if body else None,
        responses=dict(sorted(responses.items(), key=lambda item: _get_status(item[0]))),
        parameters=[*_HEADERS, *(parameters or [])],
    )


def _get_status(key: int | tuple[int, str]) -> int:
    return key if isinstance(key, int) else key[0]


def build_confirm_header(note: str = "") -> OpenApiParameter:
    """Return the header with which a call is confirmed. `note` is added to its description."""
    text = "The token of a confirmation_required error, after the end user has agreed"
    description = f"{text}; `ask` to be asked for one in any case. {note}".rstrip()
    return OpenApiParameter("Gateway-Confirm", OpenApiTypes.STR, OpenApiParameter.HEADER, description=description)


PREFER = OpenApiParameter(
    "Prefer",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    description="respond-async (RFC 7240): respond without waiting and run in the background.",
)


def build_query_parameters(schema: Schema) -> list[OpenApiParameter]:
    """Return the members of a schema as parameters of the query string."""
    return [OpenApiParameter(name, member, OpenApiParameter.QUERY) for name, member in schema["properties"].items()]


COMPONENTS: dict[str, Any] = {
    "Meta": build_object(
        {"trace_id": TEXT, "latency_ms": {"type": "number"}, "warnings": TEXTS},
        {
            "dry_run": {"type": "boolean"},
            "replayed": {"type": "boolean"},
            "original_trace_id": TEXT,
            "applied_defaults": OBJECT,
            "executed_op": TEXT,
            "operation": build_ref("Operation"),
            "next_cursor": TEXT,
            "undo": OBJECT,
        },
        additionalProperties=True,
    ),
    "Operation": build_object(
        {"entity": TEXT, "action": TEXT},
        {"entity_id": TEXT, "entity_name": TEXT},
        description="What a call reads or writes.",
    ),
    "FieldError": build_object(
        {"path": TEXT, "code": TEXT, "message": TEXT},
        {"expected": {}, "got": TEXT},
        description="What is wrong with one value: where (JSON Pointer), which rule, and what to send instead.",
    ),
    "Success": build_object({"op": TEXT, "ok": {"const": True}, "result": OBJECT, "meta": build_ref("Meta")}),
    "Error": build_object(
        {
            "op": {"type": ["string", "null"]},
            "ok": {"const": False},
            "error": build_ref("ErrorBody"),
            "meta": build_ref("Meta"),
        }
    ),
    "ErrorBody": build_object(
        {"code": build_ref("ErrorCode"), "message": TEXT, "details": build_ref("ErrorDetails"), "help_path": TEXT}
    ),
    "ErrorCode": build_enum(ErrorCode.values),
    "ErrorDetails": build_object(
        {"field_errors": build_array(build_ref("FieldError")), "reason": TEXT, "retryable": {"type": "boolean"}},
        {
            "retry_with": OBJECT,
            "did_you_mean": TEXTS,
            "token": {**TEXT, "description": "Of input_required: for answers, with what the end user answers"},
            "expires_in": {"type": "integer", "description": "Seconds that the token is valid"},
            "message": {**TEXT, "description": "What a service asks the end user, in its own words"},
            "schema": {**OBJECT, "description": "Of the form with which it asks"},
            "url": {**TEXT, "description": "Of the page that the end user opens in their browser instead"},
        },
        additionalProperties=True,
        description="All field errors, the case within the code, and what helps to correct the call.",
    ),
}


def add_examples(document: dict[str, Any]) -> None:
    """Add the examples to the operations of the document. Errors are components, because all operations have them."""
    examples = yaml.safe_load(FILE.read_text())
    document["components"]["examples"] = {
        f"Error{status}": {"summary": error["name"], "value": _build_error(error)}
        for status, error in examples["errors"].items()
    }
    for path in document["paths"].values():
        for operation in path.values():
            _add_to_operation(operation, examples)


def _add_to_operation(operation: dict[str, Any], examples: dict[str, Any]) -> None:
    name = operation["operationId"]
    if requests := examples["requests"].get(name):
        operation["requestBody"]["content"][JSON]["examples"] = _name_examples(requests)
    for status, response in operation["responses"].items():
        content = response.get("content", {}).get(JSON)
        if content is None:
            continue
        if content["schema"] == {"$ref": "#/components/schemas/Error"}:
            error = examples["errors"][status]
            content["examples"] = {error["name"]: {"$ref": f"#/components/examples/Error{status}"}}
        else:
            content["examples"] = _name_examples(examples["responses"][name][status])


def _name_examples(values: dict[str, Any]) -> dict[str, Any]:
    return {name: {"value": value} for name, value in values.items()}


def _build_error(error: dict[str, Any]) -> dict[str, Any]:
    details = {"field_errors": [], "retryable": False, **error["details"]}
    body = {"code": error["code"], "message": error["message"], "details": details}
    return {
        "op": error.get("op"),
        "ok": False,
        "error": {**body, "help_path": error.get("help_path", "root")},
        "meta": META,
    }
