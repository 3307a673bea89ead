"""The RSGI application: reads a request's body on the event loop, then runs WSGI in a thread."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from io import BytesIO
from typing import IO, Any
from wsgiref.types import WSGIApplication

from granian.rsgi import (  # type: ignore[attr-defined]  # not marked as exported
    HTTPProtocol,
    ProtocolClosed,
    Scope,
)

from core.server.environ import BODY_PROBLEM, BodyProblem, Environ, build_environ
from core.server.thread_pool import ThreadPool, TooManyCalls
from core.server.uploads import BodyTooSlow, UploadLimit, receive_upload

PROMPT_SECONDS = 0.5  # a body that takes longer is slow
DEADLINE_SECONDS = 20.0
log = logging.getLogger(__name__)

# Of the bodies that arrive slowly in a worker.
MOST_BYTES = 64_000_000
MOST_BYTES_PER_ADDRESS = 32_000_000
Headers = list[tuple[str, str]]
CLOSE = ("connection", "close")
TOO_MANY_REQUESTS = (  # whether the body was read or not
    429,
    [("content-type", "text/plain; charset=utf-8"), ("retry-after", "1"), CLOSE],
    "Too many requests at a time from this address. Try again in a second.",
)


class SlowBodies:
    """The bytes of bodies that arrive slowly now. They are held in memory. Used on the event loop only."""

    def __init__(self, *, most_bytes: int, most_bytes_per_address: int) -> None:
        self._most_bytes = most_bytes
        self._most_bytes_per_address = most_bytes_per_address
        self._bytes_by_address: Counter[str] = Counter()

    def add(self, address: str, length: int) -> bool:
        """Add a body of an address and return True, or return False if there is no room for it."""
        if (
            self._bytes_by_address[address] + length > self._most_bytes_per_address
            or self._bytes_by_address.total() + length > self._most_bytes
        ):
            return False
        self._bytes_by_address[address] += length
        return True

    def remove(self, address: str, length: int) -> None:
        """Remove a body of an address."""
        self._bytes_by_address[address] -= length
        if not self._bytes_by_address[address]:
            del self._bytes_by_address[address]


async def read_body(protocol: HTTPProtocol, length: int, *, address: str, slow_bodies: SlowBodies) -> bytes:
    """Return the body of a request whose declared length is `length` bytes. Raises BodyTooSlow.

    The body is empty if the client closes the connection before its end.
    """
    wait = _Wait(address, length, slow_bodies)
    try:
        return await protocol()
    except asyncio.CancelledError:
        if wait.is_over:
            raise BodyTooSlow from None
        raise
    except ProtocolClosed:
        return b""
    finally:
        wait.stop()


class _Wait:
    """The wait of the current task for a body, which a timer ends. One timer costs less than asyncio's timeouts."""

    def __init__(self, address: str, length: int, slow_bodies: SlowBodies) -> None:
        self.is_over = False
        self._is_slow = False
        self._address = address
        self._length = length
        self._slow_bodies = slow_bodies
        self._task = asyncio.current_task()
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(PROMPT_SECONDS, self._become_slow)

    def stop(self) -> None:
        """Stop the timer and give back the place among the slow bodies."""
        self._timer.cancel()
        if self._is_slow:
            self._slow_bodies.remove(self._address, self._length)

    def _become_slow(self) -> None:
        self._is_slow = self._slow_bodies.add(self._address, self._length)
        if self._is_slow:
            self._timer = self._loop.call_later(DEADLINE_SECONDS - PROMPT_SECONDS, self._end)
        else:
            self._end()

    def _end(self) -> None:
        self.is_over = True
        if self._task is not None:
            self._task.cancel()


@dataclass(frozen=True, slots=True)
class Route:
    """The threads that run requests of one kind, and the length from which their bodies are no longer read.

    `uploads` is set for bodies that are too large to be held in memory.
    """

    pool: ThreadPool
    most_body_bytes: int
    uploads: UploadLimit | None = None


@dataclass(slots=True)
class _Response:
    """A complete response, or the part that the WSGI application has produced so far."""

    status: int = 500
    headers: Headers = field(default_factory=list)
    body: bytes = b""

    def start(self, status: str, headers: Headers, exc_info: Any = None) -> Callable[[bytes], object]:
        """WSGI's start_response."""
        self.status, self.headers = int(status[:3]), headers
        return self._write

    def _write(self, data: bytes) -> None:
        raise NotImplementedError("WSGI's write() is not supported; Django does not call it.")


class Application:
    """An RSGI application around a WSGI application. `read_address` returns the address that limits count.

    Answers are sent when they are complete, so that a client that reads slowly holds no thread either. After a body
    that was not read, the answer says that the connection closes: what comes next would be the body, not a request.
    """

    def __init__(
        self,
        application: WSGIApplication,
        choose_route: Callable[[Environ], Route],
        read_address: Callable[[Environ], str],
    ) -> None:
        self._application = application
        self._choose_route = choose_route
        self._read_address = read_address
        self._slow_bodies = SlowBodies(most_bytes=MOST_BYTES, most_bytes_per_address=MOST_BYTES_PER_ADDRESS)

    async def __rsgi__(self, scope: Scope, protocol: HTTPProtocol) -> None:
        environ = build_environ(scope)
        route, address = self._choose_route(environ), self._read_address(environ)
        try:
            body = await self._read_body(environ, route, protocol, address)
        except TooManyCalls:
            protocol.response_str(*TOO_MANY_REQUESTS)
            return
        with body:
            environ["wsgi.input"] = body
            await self._run_in_pool(environ, route, protocol, address)

    async def _run_in_pool(self, environ: Environ, route: Route, protocol: HTTPProtocol, address: str) -> None:
        loop = asyncio.get_running_loop()
        answered = loop.create_future()

        def run() -> None:
            try:
                response = self._run(environ)
                protocol.response_bytes(response.status, response.headers, response.body)
            finally:
                loop.call_soon_threadsafe(_finish, answered)

        try:
            route.pool.submit(address, run)
        except TooManyCalls:
            protocol.response_str(*TOO_MANY_REQUESTS)
            return
        try:
            await answered
        finally:
            route.pool.release(address)

    async def _read_body(self, environ: Environ, route: Route, protocol: HTTPProtocol, address: str) -> IO[bytes]:
        """Return the body. If it is not read, it is empty, and the environment has a BODY_PROBLEM.

        A body without a length (chunked) is never read: WSGI has no way to say where it ends. Raises TooManyCalls if
        the address has too many uploads.
        """
        length = int(environ.get("CONTENT_LENGTH", "0"))
        if length == 0:
            return BytesIO()
        if length > route.most_body_bytes:
            environ[BODY_PROBLEM] = BodyProblem.TOO_LARGE
            return BytesIO()
        try:
            if route.uploads is not None:
                return await receive_upload(protocol, length, address=address, limit=route.uploads)
            return BytesIO(await read_body(protocol, length, address=address, slow_bodies=self._slow_bodies))
        except BodyTooSlow:
            environ[BODY_PROBLEM] = BodyProblem.TOO_SLOW
            return BytesIO()

    def _run(self, environ: Environ) -> _Response:
        response = _Response()
        try:
            content = self._application(environ, response.start)
            try:
                response.body = b"".join(content)
            finally:
                if hasattr(content, "close"):
                    content.close()
        except Exception:
            log.exception("server.application_failed")
            response = _Response()
        if BODY_PROBLEM in environ or "HTTP_TRANSFER_ENCODING" in environ:
            response.headers.append(CLOSE)
        return response


def _finish(answered: "asyncio.Future[None]") -> None:
    if not answered.done():  # the server cancelled the request
        answered.set_result(None)
