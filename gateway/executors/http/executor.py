"""Run ops of HTTP services, and turn their error statuses into errors of the API.

What the upstream said is in details.upstream and in field errors, cleaned, as data. Our own message never repeats it: a
model would take it for ours.
"""

from dataclasses import replace
from typing import Any

from core import http
from core.database.connections import return_connection
from core.http import sse
from core.records import record
from core.server.thread_pool import lend_thread
from gateway.contracts.errors import (
    ConflictError,
    FieldError,
    GatewayError,
    InternalError,
    InvalidRequestError,
    NotFoundError,
    build_outcome_unknown_error,
)
from gateway.credentials import end_user_settings
from gateway.executors.base import UpstreamCall, UpstreamResponse
from gateway.executors.http import answer, request_builder, sending
from gateway.executors.http.error_body import ErrorBody, FieldProblem, parse_error_body
from gateway.executors.http.event_rows import ProgressFollower
from gateway.executors.http.parameter_styles import build_pointer
from gateway.executors.http.sending import SendingRules, get_retry_after
from gateway.executors.remote import credentials, errors, result_values, secret_redaction
from gateway.executors.remote.credentials import BuiltRequest
from gateway.executors.remote.errors import (
    SAID,
    USERS_OWN_CREDENTIALS,
    build_denied_error,
    build_refused_for_now_error,
    read_retry_seconds,
)
from gateway.executors.remote.result_values import build_unread_response
from gateway.executors.remote.secret_redaction import NO_SECRETS, Redactor
from registry.catalog import connections
from registry.catalog.connections import ConnectionConfig, UpstreamTarget
from registry.models import Connection
from registry.request_mapping import RequestMapping

# After these answers a write may have taken effect: the server, or a proxy before it, failed while it ran. 302 and 303
# often mean that it did, and point to a page that says so.
UNKNOWN_OUTCOME_STATUSES = frozenset({302, 303, 500, 502, 504})
TEMPORARY_READ_STATUSES = frozenset({408, 425, 500, 502, 504})
RENEWABLE = (Connection.Auth.CLIENT_CREDENTIALS, Connection.Auth.USER_OAUTH)  # a 401 may mean that a token expired


def may_be_applied(response: http.Response) -> bool:
    """Return whether a write may have taken effect although the answer is an error."""
    # With Retry-After, 503 says that the service accepts no calls now. Without it, a proxy may have lost its server.
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
    """Return the error for an answer that is not a success. `has_key`: the upstream got our idempotency key."""
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


@record(repr=False)
class PreparedCall:
    """A call whose args fit into a request. `signed` is the request with credentials, once `authorize` has added them.

    `has_key`: the service gets the same idempotency key when the caller sends the call again.
    """

    config: ConnectionConfig
    mapping: RequestMapping
    request: BuiltRequest
    rules: SendingRules
    follower: ProgressFollower
    has_key: bool
    signed: BuiltRequest

    def build_redactor(self) -> Redactor:
        """Return what removes the credentials of this call from its answer."""
        return secret_redaction.build_redactor(self.request, self.signed)


class HttpExecutor:
    """Sends the request of an op to the HTTP service of its connection."""

    transactional = False
    is_remote = True

    def explain_missing(self, config: ConnectionConfig, target: UpstreamTarget) -> str:
        return "" if target.has_request else "it has no request"

    def prepare(self, work: UpstreamCall) -> PreparedCall:
        config, mapping = connections.get_connections().by_name[work.op.connection], work.op.request_mapping
        assert mapping is not None  # noqa: S101 - see explain_missing
        built = request_builder.build_request(
            mapping, work.args, config, load_file=lambda file_id: result_values.load_file(work, file_id)
        )
        request = built.with_headers(credentials.build_headers(work, config))
        takes_keys = bool(config.idempotency_header)
        can_repeat = not work.op.is_write or takes_keys
        follower = ProgressFollower(work.watcher)
        rules = SendingRules(work.deadline, work.op.is_write, can_repeat, work.client_subject, follower.feed)
        has_key = takes_keys and bool(work.idempotency_scope)
        return PreparedCall(config, mapping, request, rules, follower, has_key, signed=request)

    def authorize(self, work: UpstreamCall, prepared: PreparedCall) -> PreparedCall:
        # Fetching a token reads and writes rows, so the thread keeps its place.
        signed = credentials.apply_credentials(prepared.request, work, prepared.config)
        return prepared if signed is prepared.signed else replace(prepared, signed=signed)

    def apply(self, work: UpstreamCall, prepared: PreparedCall) -> UpstreamResponse:
        response, prepared = self._send(work, prepared)
        if not 200 <= response.status < 300:
            raise build_status_error(
                response,
                prepared.config,
                prepared.mapping,
                is_write=prepared.rules.is_write,
                has_key=prepared.has_key,
                redactor=prepared.build_redactor(),
            )
        return _read_response(response, work, prepared)

    def _send(self, work: UpstreamCall, prepared: PreparedCall) -> tuple[http.Response, PreparedCall]:
        """Return the answer and the call as it was sent. After a 401, a token that was stored is replaced, once."""
        response = _send_signed(prepared)
        if response.status != 401:
            return response, prepared
        credentials.forget(prepared.config, work)
        if prepared.config.auth not in RENEWABLE and not end_user_settings.uses_own_keys(prepared.config):
            return response, prepared
        renewed = self.authorize(work, prepared)  # raises an error for the user if it was their own key
        return _send_signed(renewed), renewed


def _send_signed(prepared: PreparedCall) -> http.Response:
    try:
        with lend_thread(), return_connection():
            return sending.send(prepared.signed, prepared.config, prepared.rules)
    except http.OutgoingError as error:
        raise errors.convert_transport_error(error, is_write=prepared.rules.is_write) from None


def _read_response(response: http.Response, work: UpstreamCall, prepared: PreparedCall) -> UpstreamResponse:
    """Return the answer of a call that succeeded. A write is done even if its answer did not come."""
    if response.unread is not None and not response.body.strip() and not sse.is_stream(response.headers):
        return build_unread_response(errors.convert_outgoing_error(response.unread))
    read = answer.read_result(response, work, accept=prepared.mapping.accept, redactor=prepared.build_redactor())
    warnings = read.remarks
    if response.unread is not None:
        warnings = (*warnings, _describe_end(response.unread, is_stream=sse.is_stream(response.headers)))
    return UpstreamResponse(
        read.result,
        warnings=warnings,
        is_table=read.is_table,
        can_continue=response.unread is None,
        progress=prepared.follower.progress,
    )


def _describe_end(error: http.OutgoingError, *, is_stream: bool) -> str:
    """Return why an answer was not read to its end."""
    if is_stream and isinstance(error, http.TimedOut):
        return "The stream goes on; this is what came within the time limit of the op."
    return f"The answer is incomplete. {error}"
