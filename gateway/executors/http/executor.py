"""Runs ops of HTTP services."""

from dataclasses import dataclass, replace

from core import http
from core.database.connections import return_connection
from core.server.thread_pool import lend_thread
from gateway.contracts.errors import GatewayError
from gateway.executors import upstream_errors
from gateway.executors.base import UpstreamCall, UpstreamResponse
from gateway.executors.http import answer, error_mapping, request_builder, sending
from gateway.executors.http.sending import SendingRules
from gateway.executors.remote import credentials, secret_redaction, stored_files, transport_errors, upstream_headers
from gateway.executors.remote.built_request import BuiltRequest
from gateway.executors.remote.result_values import build_unread_response
from gateway.executors.remote.secret_redaction import Redactor
from registry.catalog import connections
from registry.catalog.connections import ConnectionConfig, UpstreamTarget
from registry.models import Connection
from registry.request_mapping import RequestMapping

RENEWABLE = (Connection.Auth.CLIENT_CREDENTIALS, Connection.Auth.USER_OAUTH)  # a 401 may mean that a token expired


@dataclass(frozen=True, slots=True, repr=False)
class PreparedCall:
    """A call whose args fit into a request. `signed` is the request with credentials, once `authorize` has added them.

    `has_key`: the service gets the same idempotency key when the caller sends the call again.
    """

    config: ConnectionConfig
    mapping: RequestMapping
    request: BuiltRequest
    rules: SendingRules
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
            mapping, work.args, config, load_file=lambda file_id: stored_files.load_file(work, file_id)
        )
        request = built.with_headers(upstream_headers.build_headers(work, config))
        takes_keys = bool(config.idempotency_header)
        can_repeat = not work.op.is_write or takes_keys
        rules = SendingRules(work.deadline, work.op.is_write, can_repeat, work.client_subject)
        has_key = takes_keys and bool(work.idempotency_scope)
        return PreparedCall(config, mapping, request, rules, has_key, signed=request)

    def authorize(self, work: UpstreamCall, prepared: PreparedCall) -> PreparedCall:
        # Fetching a token reads and writes rows, so the thread keeps its place.
        return replace(prepared, signed=credentials.apply_credentials(prepared.request, work, prepared.config))

    def apply(self, work: UpstreamCall, prepared: PreparedCall) -> UpstreamResponse:
        response, prepared = self._send(work, prepared)
        if not 200 <= response.status < 300:
            raise error_mapping.build_status_error(
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
        credentials.forget(prepared.config, work.subject)
        if prepared.config.auth not in RENEWABLE:
            return response, prepared
        renewed = self.authorize(work, prepared)
        return _send_signed(renewed), renewed


def _send_signed(prepared: PreparedCall) -> http.Response:
    try:
        with lend_thread(), return_connection():
            return sending.send(prepared.signed, prepared.config, prepared.rules)
    except http.OutgoingError as error:
        raise transport_errors.to_api_error(error, is_write=prepared.rules.is_write) from None


def _read_response(response: http.Response, work: UpstreamCall, prepared: PreparedCall) -> UpstreamResponse:
    """Return the answer of a call that succeeded. A write is done, whether its answer can be read or not."""
    if response.unread is not None:
        return build_unread_response(upstream_errors.to_api_error(response.unread))
    try:
        result = answer.read_result(response, work, accept=prepared.mapping.accept, redactor=prepared.build_redactor())
    except GatewayError as error:
        if work.op.is_write:
            return build_unread_response(error)
        raise
    return UpstreamResponse(result)
