"""OpenAPI of exec."""

from typing import Any

from drf_spectacular.utils import OpenApiResponse

from gateway.api.openapi.endpoint import ERROR, IDEMPOTENCY_KEY, KEY_REUSED, build_confirm_header, describe_endpoint
from gateway.api.openapi.schema_parts import OBJECT, build_ref
from gateway.contracts import request_schemas


def allow_any_args(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an exec body whose args may have any members.

    The schema itself does not say so, because models read it, too, and it would cost them tokens.
    """
    properties = schema["properties"]
    return {**schema, "properties": {**properties, "args": properties["args"] | OBJECT}}


COMPONENTS: dict[str, Any] = {
    "ExecRequest": allow_any_args(request_schemas.EXEC),
}

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
