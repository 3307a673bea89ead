"""The endpoint /mcp: streamable HTTP without sessions, refused to pages of other sites."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import orjson
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.request import validate_host
from django.utils import timezone
from drf_spectacular.utils import extend_schema

from core.text import json_text
from core.text.json_text import NotStrictJSON
from gateway.access import request_context
from gateway.access.key_verification import VerifiedKey
from gateway.access.request_context import Caller
from gateway.api.authentication import KeyAuthentication
from gateway.api.base import JSON_CONTENT_TYPE, GatewayView
from gateway.contracts.errors import InvalidRequestError, PermissionDeniedError
from gateway.mcp_server import json_rpc
from gateway.mcp_server.caller_source import SOURCE, McpCall
from gateway.mcp_server.transport.sync_bridge import SyncBridge
from gateway.oauth import validator

if TYPE_CHECKING:  # the SDK takes most of a second
    from gateway.mcp_server.transport.direct_exchange import DirectBridge

REASON = "origin_not_allowed"
T = TypeVar("T")
REALM = 'Bearer realm="Tool Gateway"'
WITH_INSTRUCTIONS = frozenset({"initialize", "server/discover"})


def check_origin(request: HttpRequest) -> None:
    """Raise PermissionDeniedError for a request of a page whose host is not one of ALLOWED_HOSTS.

    Programs send no Origin. Django has checked the header Host already.
    """
    origin = request.META.get("HTTP_ORIGIN")
    if origin is None:
        return
    host = _find_host(origin)
    if not host or not validate_host(host, settings.ALLOWED_HOSTS):
        raise PermissionDeniedError("Pages of this origin cannot call the gateway.", reason=REASON)


def _find_host(origin: str) -> str:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return ""
    return f"[{parts.hostname}]" if parts.hostname and ":" in parts.hostname else parts.hostname or ""


class McpAuthentication(KeyAuthentication):
    """Authenticate Bearer keys, and access tokens if users can connect applications (GATEWAY_OAUTH)."""

    def find_key(self, token: str) -> VerifiedKey | None:
        """Return the key that a bearer token stands for, None if it is not valid."""
        if settings.GATEWAY_OAUTH and token.startswith(validator.PREFIX):
            return validator.verify_access_token(token, at=timezone.now())
        return super().find_key(token)


class McpView(GatewayView):
    """MCP: the tools of the caller's surface, help as resources, agents as prompts.

    Only a missing or invalid key is answered with 401. Any other refusal is an error of the protocol, or for a tool
    call its envelope: clients take a 401 or 403 for a reason to sign in again.
    """

    http_method_names = ["post"]
    authentication_classes = [McpAuthentication]
    has_routing = True
    admits_later = True
    source = SOURCE

    @extend_schema(exclude=True)
    def post(self, request: HttpRequest) -> HttpResponse:
        # Imported here because the SDK takes most of a second, which every command of manage.py would wait.
        from gateway.mcp_server import server
        from gateway.mcp_server.transport import direct_exchange, http_exchange

        check_origin(request)
        message = _read_message(request)
        is_plain = direct_exchange.is_plain_request(message, request)
        bridge = direct_exchange.DirectBridge() if is_plain else SyncBridge()
        source = _RequestSource(self, request, bridge)
        instructions = ""
        if message.get("method") in WITH_INSTRUCTIONS:
            instructions = server.build_instructions(source.open_call())
        mcp_server = server.build_server(source, instructions=instructions)
        if isinstance(bridge, SyncBridge):
            response = http_exchange.answer_request(mcp_server, bridge, request)
        else:
            response = direct_exchange.answer_request(mcp_server, message, request)
        if self.rate_limit is None:  # no handler of ours was asked: a ping, a notification, an unknown method
            request_context.identify_caller(self.take_call(), request.META)
        return response

    def open_call(self, request: HttpRequest) -> McpCall:
        """Do what the API does before a call: check the rate and the headers, and find surface and release."""
        if self.caller is None:
            self.admit(request)
        has_toolset = "HTTP_GATEWAY_TOOLSET" in request.META
        return McpCall(self.require_caller(), self.trace, in_cohorts=not has_toolset)

    def open_unchecked(self, request: HttpRequest) -> McpCall:
        """Return the call of a request that was refused."""
        return McpCall(self.caller or Caller(self.require_key()), self.trace, in_cohorts=False)

    def handle_exception(self, exc: Exception) -> HttpResponse:  # type: ignore[override]  # rendered by us
        error = self.to_api_error(exc)
        headers = dict(error.headers)
        if error.status == 401:
            headers["WWW-Authenticate"] = build_challenge()
        status = 400 if error.status == 403 and error.reason != REASON else error.status
        body = orjson.dumps(json_rpc.build_error_body(error))
        return HttpResponse(body, status=status, content_type=JSON_CONTENT_TYPE, headers=headers)


def build_challenge() -> str:
    """Return the header WWW-Authenticate of a 401. It says where a client can sign in, if it can (RFC 9728)."""
    return f'{REALM}, resource_metadata="{validator.get_metadata_url()}"' if settings.GATEWAY_OAUTH else REALM


class _RequestSource:
    """The caller of one HTTP request, whose answer is not streamed."""

    can_report = False

    def __init__(self, view: McpView, request: HttpRequest, bridge: "SyncBridge | DirectBridge") -> None:
        self._view, self._request, self._bridge = view, request, bridge

    def open_call(self) -> McpCall:
        return self._view.open_call(self._request)

    def open_unchecked(self) -> McpCall:
        return self._view.open_unchecked(self._request)

    def check_arguments(self, _: dict[str, Any]) -> None:
        return None  # the whole body was checked

    def run(self, function: Callable[[], T]) -> Awaitable[T]:
        return self._bridge.call(function)


def _read_message(request: HttpRequest) -> dict[str, Any]:
    """Return the message of a request. Raises InvalidRequestError for what is not an object in strict JSON."""
    try:
        message = json_text.parse(request.body)
    except NotStrictJSON as error:
        raise InvalidRequestError(str(error), reason=error.code) from None
    if not isinstance(message, dict):
        raise InvalidRequestError("The body is not an object. Send one message of JSON-RPC.", reason="not_an_object")
    return message
