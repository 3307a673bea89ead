"""The guarded client for asynchronous libraries: the same checks of addresses, nothing stored, bounded answers.

A library keeps a client for many calls. What belongs to one call (its headers, its limits, its outcome) is in the
context variable `current_call`, which the library's tasks inherit.
"""

from collections.abc import AsyncIterator, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.to_thread
import httpcore2
import httpx2
from httpcore2 import AnyIOBackend

from core.http import message_repair, sse
from core.http.client import CONNECT_SECONDS, CONNECTIONS, get_ssl_context
from core.http.connection_pool import IDLE_SECONDS
from core.http.errors import OutgoingError, TimedOut, TooLarge, Unreachable, parse_parameters
from core.http.ssrf import Networks, resolve_allowed_addresses

TOOL_CALL = b'"tools/call"'  # in the body of a request: only what it answers reaches a model
MAX_HELD_BYTES = 20_000_000  # of one event, which the library limits as well
MAX_REPAIRED_INLINE = 100_000  # bytes; more takes so long that the event loop would wait


@dataclass(slots=True)
class AsyncCall:
    """One call of a library: what to send with its requests, the largest answer, and their outcome."""

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    max_bytes: int = 1_000_000
    is_sent: bool = False  # whether the headers of a request have begun to be sent
    status: int = 0  # of the last answer
    answer_headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    is_listening: bool = False  # while a stream of server-sent events that a GET opened is read
    error: OutgoingError | None = None  # why a request got no answer, or only a part of one
    remarks: tuple[str, ...] = ()  # what had to be changed in its answers, so that they are JSON


current_call: ContextVar[AsyncCall | None] = ContextVar("async_call", default=None)


def build_client(allow: Networks) -> httpx2.AsyncClient:
    """Return a client for one event loop. The library, not the client, limits how long it waits."""
    timeout = httpx2.Timeout(None, connect=CONNECT_SECONDS, pool=CONNECT_SECONDS)
    return httpx2.AsyncClient(transport=_GuardedTransport(allow), timeout=timeout, trust_env=False)


class _GuardedBackend(httpcore2.AsyncNetworkBackend):
    """Connects to checked addresses only: no Unix sockets, no proxies."""

    def __init__(self, allow: Networks) -> None:
        self._allow = allow
        self._backend = AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        addresses = await anyio.to_thread.run_sync(self._resolve, host, port, abandon_on_cancel=True)
        failure: Exception = httpcore2.ConnectError()
        for address in addresses:
            try:
                return await self._backend.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)

    def _resolve(self, host: str, port: int) -> list[str]:
        found = resolve_allowed_addresses(host, port, seconds=CONNECT_SECONDS, allow=self._allow)
        return [address.target[0] for address in found]


class _GuardedTransport(httpx2.AsyncHTTPTransport):
    """httpx2's transport with our sockets. It records the outcome of each request in `current_call`."""

    def __init__(self, allow: Networks) -> None:
        context = get_ssl_context()
        super().__init__(verify=context, trust_env=False)
        del self._pool  # if httpx2 ever renames its pool, this raises AttributeError and no call is made
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=context,
            max_connections=CONNECTIONS,
            keepalive_expiry=IDLE_SECONDS,
            network_backend=_GuardedBackend(allow),
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        call = current_call.get() or AsyncCall()
        request.headers.update(call.headers)
        request.headers["accept-encoding"] = "identity"  # so that the limit counts what is unpacked
        request.extensions = {**request.extensions, "trace": _build_trace(call)}
        try:
            response = await super().handle_async_request(request)
        except OutgoingError as error:
            call.error = error
            raise httpx2.ConnectError(str(error), request=request) from None
        except httpx2.TransportError as error:
            call.error = _convert_error(error)
            raise
        call.status, call.answer_headers = response.status_code, dict(response.headers)
        response.headers.pop("set-cookie", None)
        base, parameters = parse_parameters(response.headers, "content-type")
        is_stream = base.lower() == sse.EVENT_STREAM
        is_endless = request.method == "GET" and is_stream
        stream = (_EndlessStream if is_endless else _LimitedStream)(response.stream, call)
        if is_stream or base.lower().endswith("json"):
            response.headers.pop("content-length", None)
            is_call = not is_endless and request.method == "POST" and TOOL_CALL in request.content
            charset = parameters.get("charset", "")
            response.stream = _RepairedStream(stream, call, charset, is_stream=is_stream, is_call=is_call)
        else:
            response.stream = stream
        return response


class _EndlessStream(httpx2.AsyncByteStream):
    """A body without a limit. The call notes while it is read."""

    def __init__(self, stream: Any, call: AsyncCall) -> None:
        self._stream, self._call = stream, call

    async def __aiter__(self) -> AsyncIterator[bytes]:
        self._call.is_listening = True
        try:
            async for chunk in self._stream:
                yield chunk
        finally:
            self._call.is_listening = False

    async def aclose(self) -> None:
        self._call.is_listening = False
        await self._stream.aclose()


class _RepairedStream(httpx2.AsyncByteStream):
    """A body whose messages are made strict JSON: each event of a stream, or all of it."""

    def __init__(
        self, stream: httpx2.AsyncByteStream, call: AsyncCall, charset: str, *, is_stream: bool, is_call: bool
    ) -> None:
        self._stream, self._call, self._charset = stream, call, charset
        self._is_stream, self._is_call = is_stream, is_call

    async def __aiter__(self) -> AsyncIterator[bytes]:
        rest = bytearray()
        async for chunk in self._stream:
            rest += chunk
            if self._is_stream and (b"\n" in chunk or b"\r" in chunk or len(rest) > MAX_HELD_BYTES):
                whole, _ = sse.split_whole_events(bytes(rest)) if len(rest) <= MAX_HELD_BYTES else (bytes(rest), b"")
                del rest[: len(whole)]
                if whole:
                    yield await self._repair(whole)
        if rest:
            yield await self._repair(bytes(rest))

    async def _repair(self, content: bytes) -> bytes:
        if len(content) > MAX_REPAIRED_INLINE:
            return await anyio.to_thread.run_sync(self._repair_now, content)
        return self._repair_now(content)

    def _repair_now(self, content: bytes) -> bytes:
        if self._is_stream:
            repaired = message_repair.repair_events(content, finds_repeated_keys=self._is_call)
        else:
            repaired = message_repair.repair_message(content, charset=self._charset, finds_repeated_keys=self._is_call)
        self._call.remarks = (*self._call.remarks, *repaired.remarks)
        return repaired.content

    async def aclose(self) -> None:
        await self._stream.aclose()


class _LimitedStream(httpx2.AsyncByteStream):
    """A body that ends with an error at its limit."""

    def __init__(self, stream: Any, call: AsyncCall) -> None:
        self._stream, self._call = stream, call

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self._call.max_bytes
        try:
            async for chunk in self._stream:
                left -= len(chunk)
                if left < 0:
                    self._call.error = TooLarge()
                    raise httpx2.ReadError("The answer is too large.")
                yield chunk
        except httpx2.TransportError as error:
            self._call.error = self._call.error or _convert_error(error)
            raise

    async def aclose(self) -> None:
        await self._stream.aclose()


def _build_trace(call: AsyncCall) -> Any:
    async def trace(event: str, _: Any) -> None:
        if event.endswith("send_request_headers.started"):
            call.is_sent = True

    return trace


def _convert_error(error: httpx2.TransportError) -> OutgoingError:
    return TimedOut() if isinstance(error, httpx2.TimeoutException) else Unreachable()
