"""Requests of the chat's API go straight to their views, which need neither sessions nor static files around them."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from io import BytesIO
from typing import Any

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.core.handlers.asgi import ASGIHandler
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from chat.errors import ApiError
from config.csp import DENY_ALL, HEADER
from core import logs

log = logging.getLogger(__name__)

PREFIX = "/chat/api/"
HEADERS = {HEADER: DENY_ALL, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin"}
BODY_SECONDS = 20.0  # in which a body must arrive

Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]


class _ClientGone(Exception):
    """The client has closed its connection."""


class ChatApiHandler(ASGIHandler):
    """Django's handler without what only pages need: middleware, signals, and files for large bodies.

    Each of these changes between threads. `chat.access` reads sessions and checks CSRF itself. All errors are
    JSON.
    """

    def load_middleware(self, is_async: bool = False) -> None:
        """Put nothing around the views."""
        self._view_middleware: list[object] = []
        self._template_response_middleware: list[object] = []
        self._exception_middleware: list[object] = []

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Answer a request."""
        try:
            response = await self._answer(scope, receive)
        except _ClientGone:
            return
        except ApiError as error:
            response = error.to_response()
        except Exception as error:
            log.error("chat.request_failed\n%s", logs.format_safely(error))
            response = ApiError(500, "internal", "Something went wrong here. Try again.").to_response()
        for name, value in HEADERS.items():
            response.headers[name] = value
        await self._send(response, receive, send)

    async def _answer(self, scope: dict[str, Any], receive: Receive) -> HttpResponseBase:
        try:
            body = await asyncio.wait_for(_read_body(receive), BODY_SECONDS)
        except TimeoutError:
            raise ApiError(408, "too_slow", "The body did not arrive in time. Send it again.") from None
        request, _ = self.create_request(scope, BytesIO(body))
        if request is None:
            raise ApiError(400, "invalid_request", "The address of the request is not UTF-8.")
        _check_origin(request)
        response: HttpResponseBase = await self._get_response_async(request)  # type: ignore[attr-defined]
        return response

    async def _send(self, response: HttpResponseBase, receive: Receive, send: Send) -> None:
        """Send a response. A stream ends when its client goes; its turn does not."""
        try:
            await self._send_while_read(response, receive, send)
        finally:
            response.close()

    async def _send_while_read(self, response: HttpResponseBase, receive: Receive, send: Send) -> None:
        if not response.streaming:
            await self.send_response(response, send)
            return
        sending = asyncio.ensure_future(self.send_response(response, send))
        watching = asyncio.create_task(_cancel_when_gone(receive, sending))
        try:
            await sending
        except asyncio.CancelledError:
            pass
        finally:
            watching.cancel()


def _check_origin(request: HttpRequest) -> None:
    try:
        request.get_host()
    except DisallowedHost:
        raise ApiError(400, "unknown_host", "The host name is not one of ALLOWED_HOSTS.") from None
    if settings.SECURE_SSL_REDIRECT and not request.is_secure():
        raise ApiError(400, "https_required", "Use https://. Change this API key: it was sent unencrypted.")


async def _read_body(receive: Receive) -> bytes:
    """Return the body. Raises _ClientGone, and ApiError before it exceeds the limit of a request."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _ClientGone
        body += message.get("body", b"")
        if len(body) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            raise ApiError(413, "too_large", "The body is too large. Send less text.")
        if not message.get("more_body", False):
            return bytes(body)


async def _cancel_when_gone(receive: Receive, task: "asyncio.Future[Any]") -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    task.cancel()
