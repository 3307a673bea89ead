"""The RSGI application: reads a request's body on the event loop, then runs the WSGI application in a thread."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any
from wsgiref.types import WSGIApplication

from granian.rsgi import HTTPProtocol, Scope  # type: ignore[attr-defined]  # not marked as exported

from core.server.environ import BODY_PROBLEM, BodyProblem, Environ, build_environ
from core.server.request_body import BodyTooSlow, SlowBodies, read_body
from core.server.thread_pool import ThreadPool, TooManyCalls

log = logging.getLogger(__name__)

# Of the bodies that arrive slowly in a worker.
MOST_BYTES = 64_000_000
MOST_BYTES_PER_ADDRESS = 32_000_000

Headers = list[tuple[str, str]]

TOO_MANY_REQUESTS = (
    429,
    [("content-type", "text/plain; charset=utf-8"), ("retry-after", "1")],
    "Too many requests at a time from this address. Try again in a second.",
)


@dataclass(frozen=True, slots=True)
class Route:
    """The threads that run requests of one kind, and the length at which their bodies are not read any more."""

    pool: ThreadPool
    most_body_bytes: int


@dataclass(slots=True)
class _Response:
    """A complete response, or what the WSGI application has told of it so far."""

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

    Answers are sent when they are complete, so that a client that reads slowly holds no thread either.
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
        environ["wsgi.input"] = BytesIO(await self._read_body(environ, route, protocol, address))
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

    async def _read_body(self, environ: Environ, route: Route, protocol: HTTPProtocol, address: str) -> bytes:
        """Return the body. If it is not read, it is empty, and the environment has a BODY_PROBLEM.

        A body without a length (chunked) is never read: WSGI has no way to say where it ends.
        """
        length = int(environ.get("CONTENT_LENGTH", "0"))
        if length == 0:
            return b""
        if length > route.most_body_bytes:
            environ[BODY_PROBLEM] = BodyProblem.TOO_LARGE
            return b""
        try:
            return await read_body(protocol, length, address=address, slow_bodies=self._slow_bodies)
        except BodyTooSlow:
            environ[BODY_PROBLEM] = BodyProblem.TOO_SLOW
            return b""

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
            return _Response()
        return response


def _finish(answered: "asyncio.Future[None]") -> None:
    if not answered.done():  # the server cancelled the request
        answered.set_result(None)
