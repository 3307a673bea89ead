"""Requests of the chat's API go straight to their views, which need neither sessions nor static files around them."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from io import BytesIO
from typing import IO, Any

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.core.handlers.asgi import ASGIHandler
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from chat.errors import ApiError
from config.csp import DENY_ALL, HEADER
from core import logs
from core.server.thread_pool import TooManyCalls
from core.server.uploads import BodyTooSlow, UploadLimit, receive_upload

log = logging.getLogger(__name__)

PREFIX = "/chat/api/"
HEADERS = {HEADER: DENY_ALL, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin"}
UPLOAD_PATH = f"{PREFIX}files"
BODY_SECONDS = 20.0  # in which a body must arrive

# The page sends one file at a time, and behind a proxy all have one address.
_uploads = UploadLimit(most=16, most_per_address=16)

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
        """Answer a request. The connection closes after a body that was not read."""
        is_read = False
        try:
            with await _receive(scope, receive) as body:
                is_read = True
                response = await self._answer(scope, body)
        except _ClientGone:
            return
        except ApiError as error:
            response = error.to_response()
        except Exception as error:
            log.error("chat.request_failed\n%s", logs.format_safely(error))
            response = ApiError(500, "internal", "Something went wrong here. Try again.").to_response()
        for name, value in HEADERS.items():
            response.headers[name] = value
        if not is_read:
            response.headers["Connection"] = "close"
        await self._send(response, receive, send)

    async def _answer(self, scope: dict[str, Any], body: IO[bytes]) -> HttpResponseBase:
        request, _ = self.create_request(scope, body)
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


def _build_too_slow_error() -> ApiError:
    return ApiError(408, "too_slow", "The body did not arrive in time. Send it again.")


async def _receive(scope: Mapping[str, Any], receive: Receive) -> IO[bytes]:
    """Return the body. Raises _ClientGone and ApiError."""
    if scope["path"] == UPLOAD_PATH and scope["method"] == "POST":
        return await _receive_upload(scope, receive)
    return await _receive_body(receive)


async def _receive_body(receive: Receive) -> IO[bytes]:
    """Return the body in memory. Raises _ClientGone and ApiError."""
    try:
        return BytesIO(await asyncio.wait_for(_read_body(receive), BODY_SECONDS))
    except TimeoutError:
        raise _build_too_slow_error() from None


async def _receive_upload(scope: Mapping[str, Any], receive: Receive) -> IO[bytes]:
    """Return the body of an upload in a file. Raises _ClientGone and ApiError."""
    length = dict(scope["headers"]).get(b"content-length", b"")
    if not length.isdigit():
        raise ApiError(411, "length_required", "Send the header Content-Length.")
    if int(length) > settings.GATEWAY_FILE_MAX_BYTES:
        limit = settings.GATEWAY_FILE_MAX_BYTES
        raise ApiError(413, "too_large", f"The file is larger than {limit:,} bytes. Choose a smaller one.")
    address = (scope.get("client") or ("",))[0]
    try:
        return await receive_upload(_iterate_body(receive), int(length), address=address, limit=_uploads)
    except BodyTooSlow:
        raise _build_too_slow_error() from None
    except TooManyCalls:
        raise ApiError(429, "rate_limited", "Too many uploads at a time. Try again soon.", retry_after=1) from None


async def _iterate_body(receive: Receive) -> AsyncIterator[bytes]:
    """Yield the body as it arrives. Raises _ClientGone."""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _ClientGone
        yield message.get("body", b"")
        if not message.get("more_body", False):
            return


async def _read_body(receive: Receive) -> bytes:
    """Return the body. Raises _ClientGone, and ApiError before it exceeds the limit of a request."""
    body = bytearray()
    async for chunk in _iterate_body(receive):
        body += chunk
        if len(body) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            raise ApiError(413, "too_large", "The body is too large. Send less text.")
    return bytes(body)


async def _cancel_when_gone(receive: Receive, task: "asyncio.Future[Any]") -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    task.cancel()
