"""Describe an endpoint for OpenAPI: its body, its responses, and the headers that all endpoints have."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema

from gateway.api.openapi.schema_parts import build_ref

View = TypeVar("View", bound=Callable[..., Any])

ERROR = build_ref("Error")
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
        "Gateway-Agent",
        OpenApiTypes.STR,
        OpenApiParameter.HEADER,
        description="Run as this agent, held to its ops. Endpoints that run and show no ops refuse it.",
    ),
    OpenApiParameter("traceparent", OpenApiTypes.STR, OpenApiParameter.HEADER, description="W3C trace context."),
]


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


def build_query_parameters(schema: dict[str, Any]) -> list[OpenApiParameter]:
    """Return the members of a schema as parameters of the query string."""
    return [OpenApiParameter(name, member, OpenApiParameter.QUERY) for name, member in schema["properties"].items()]
