"""Error statuses of upstreams as errors of the API.

What the upstream said is in details.upstream and in field errors, cleaned, as data. Our own message never repeats it:
a model would read it as ours.
"""

from typing import Any

from core import http
from gateway.contracts.errors import (
    ConflictError,
    FieldError,
    GatewayError,
    InternalError,
    InvalidRequestError,
    NotFoundError,
    build_outcome_unknown_error,
)
from gateway.executors.http.argument_errors import build_pointer
from gateway.executors.http.error_body import ErrorBody, FieldProblem, parse_error_body
from gateway.executors.http.sending import get_retry_after
from gateway.executors.remote.denied_errors import SAID, USERS_OWN_CREDENTIALS, build_denied_error
from gateway.executors.remote.not_applied_errors import build_refused_for_now_error, read_retry_seconds
from gateway.executors.remote.secret_redaction import NO_SECRETS, Redactor
from registry.catalog.connections import ConnectionConfig
from registry.request_mapping import RequestMapping

# After these answers a write may have taken effect: the server, or a proxy before it, failed while it ran. 302 and 303
# often mean that it did, and point to a page that says so.
UNKNOWN_OUTCOME_STATUSES = frozenset({302, 303, 500, 502, 504})
TEMPORARY_READ_STATUSES = frozenset({408, 425, 500, 502, 504})


def may_be_applied(response: http.Response) -> bool:
    """Return whether a write may have taken effect although the answer is an error."""
    # With Retry-After, 503 says that the service takes no calls now. Without, it may be a proxy that lost its server.
    is_lost = response.status == 503 and get_retry_after(response) is None
    return is_lost or response.status in UNKNOWN_OUTCOME_STATUSES


def build_status_error(
    response: http.Response,
    config: ConnectionConfig,
    mapping: RequestMapping,
    *,
    is_write: bool,
    has_key: bool,
    redactor: Redactor = NO_SECRETS,
) -> GatewayError:
    """Return the error for an answer that is no success. `has_key`: the upstream got our idempotency key."""
    status = response.status
    body = parse_error_body(response, redactor)
    details = _describe_upstream(response, config, body)
    if is_write and not has_key and may_be_applied(response):
        error = build_outcome_unknown_error()
        error.details |= details
        return error
    if status in (400, 422):
        return InvalidRequestError(
            f"The service refused the args. Correct them; {SAID}",
            reason="upstream_invalid",
            field_errors=_build_field_errors(body, mapping),
            details=details,
        )
    if status in (429, 503):
        return build_refused_for_now_error(
            is_rate_limit=status == 429, retry_after=read_retry_seconds(response.headers), details=details
        )
    return _build_other_error(status, config, details, is_write=is_write)


def _build_other_error(
    status: int, config: ConnectionConfig, details: dict[str, Any], *, is_write: bool
) -> GatewayError:
    if status in (401, 403):
        return build_denied_error(status, config, details)
    if status in (404, 410):
        return NotFoundError(f"The service has nothing there. {SAID}", reason="upstream_not_found", details=details)
    if status in (409, 412, 423):
        return ConflictError(
            f"The call conflicts with the service's current state. {SAID}", reason="upstream_conflict", details=details
        )
    if status < 400:
        return InternalError(
            "The service redirects to another address, which is not followed. Tell the administrator.",
            status=502,
            reason="upstream_redirects",
            details=details,
        )
    # A write that failed is stored under its key: sending it again would only get this answer again.
    is_temporary = not is_write and status in TEMPORARY_READ_STATUSES
    return InternalError(
        f"The service answered with status {status}. {SAID}",
        status=502,
        reason="upstream_status",
        retryable=is_temporary,
        details=details,
    )


def _describe_upstream(response: http.Response, config: ConnectionConfig, body: ErrorBody) -> dict[str, Any]:
    upstream: dict[str, Any] = {"status": response.status}
    # Services repeat credentials that they refuse.
    repeats_credentials = response.status == 401 and config.auth not in USERS_OWN_CREDENTIALS
    if not repeats_credentials and body.message:
        upstream["message"] = body.message
    return {"upstream": upstream}


def _build_field_errors(body: ErrorBody, mapping: RequestMapping) -> list[FieldError]:
    arguments = _list_argument_names(mapping)
    return [
        FieldError(
            _build_field_pointer(problem, arguments, mapping), "upstream", f"The service says: {problem.message}"
        )
        for problem in body.problems
    ]


def _build_field_pointer(problem: FieldProblem, arguments: dict[str, str], mapping: RequestMapping) -> str:
    """Return the place of a problem in the body of the call; all args if the upstream names no part of the request."""
    for index, step in enumerate(problem.path):
        if step in arguments:
            return build_pointer(arguments[step], *problem.path[index + 1 :])
    if mapping.body and mapping.body.argument and problem.path:
        return build_pointer(mapping.body.argument, *problem.path)
    return build_pointer()


def _list_argument_names(mapping: RequestMapping) -> dict[str, str]:
    """Return the arguments by the upstream's names."""
    names = {parameter.name: parameter.argument for parameter in mapping.parameters}
    return names | {each.name: each.argument for each in (mapping.body.properties if mapping.body else ())}
