"""What the server does before and after Django, with a protocol that this test controls."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any
from unittest.mock import Mock

import pytest
from granian.rsgi import ProtocolClosed

from core.server import application as request_body
from core.server import uploads
from core.server.application import Application, Route
from core.server.environ import BODY_PROBLEM, BodyProblem
from core.server.thread_pool import ThreadPool, TooManyCalls
from core.server.uploads import UploadLimit
from tests.support.rsgi import build_scope

POST = {"method": "POST"}
CLOSE = ("connection", "close")


class Protocol:
    """A request whose body comes when the test says so, and its response."""

    def __init__(self, body: bytes | None = b"", *, closes: bool = False) -> None:
        self.body = body
        self.closes = closes
        self.response: tuple[int, list[tuple[str, str]], Any] | None = None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Give the body in two parts; without one, wait for it."""
        if self.body is None:
            await asyncio.Event().wait()
        assert self.body is not None
        yield self.body[:1]
        if self.closes:
            raise ProtocolClosed
        yield self.body[1:]

    async def __call__(self) -> bytes:
        if self.closes:
            raise ProtocolClosed
        if self.body is None:
            await asyncio.Event().wait()
        assert self.body is not None
        return self.body

    def response_bytes(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.response = (status, headers, body)

    response_str = response_bytes


def echo(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    start_response("200 OK", [("x-problem", environ.get(BODY_PROBLEM, ""))])
    return [environ["wsgi.input"].read(), b"!"]


def build_application(
    wsgi: Any = echo, *, most_per_address: int | None = None, uploads: UploadLimit | None = None
) -> Application:
    route = Route(ThreadPool("test", 1, most_per_address=most_per_address), most_body_bytes=10, uploads=uploads)
    return Application(wsgi, lambda _: route, lambda environ: str(environ["REMOTE_ADDR"]))


def send(application: Application, *protocols: Protocol, length: int | None = None, **scope: Any) -> None:
    headers = [("content-length", str(length))] if length is not None else []

    async def run() -> None:
        calls = (application.__rsgi__(build_scope(*headers, **scope), each) for each in protocols)
        await asyncio.gather(*calls)

    asyncio.run(run())


@pytest.fixture
def short_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_body, "PROMPT_SECONDS", 0.01)
    monkeypatch.setattr(request_body, "DEADLINE_SECONDS", 0.05)


@pytest.mark.parametrize(
    ("body", "closes", "length", "problem", "answer"),
    [
        (b"abc", False, 3, "", b"abc!"),
        (None, False, 11, BodyProblem.TOO_LARGE, b"!"),  # it is not read
        (None, False, 3, BodyProblem.TOO_SLOW, b"!"),
        (b"", True, 3, "", b"!"),  # its client has gone
    ],
)
def test_body_is_given_whole_or_with_its_problem_to_the_application(
    short_times: None, body: bytes | None, closes: bool, length: int, problem: str, answer: bytes
) -> None:
    send(build_application(), protocol := Protocol(body, closes=closes), length=length, **POST)

    assert protocol.response == (200, [("x-problem", problem), *([CLOSE] if problem else [])], answer)


@pytest.mark.parametrize(
    ("body", "closes", "length", "problem", "answer"),
    [
        (b"abc", False, 3, "", b"abc!"),
        (b"abc", True, 3, "", b"!"),  # its client has gone
        (b"abc", False, 4, "", b"!"),  # it ended too early
        (None, False, 11, BodyProblem.TOO_LARGE, b"!"),  # it is not read
        (None, False, 3, BodyProblem.TOO_SLOW, b"!"),
    ],
)
def test_an_upload_is_given_whole_or_with_its_problem_to_the_application(
    monkeypatch: pytest.MonkeyPatch, body: bytes | None, closes: bool, length: int, problem: str, answer: bytes
) -> None:
    if problem == BodyProblem.TOO_SLOW:
        monkeypatch.setattr(uploads, "SECONDS", 0.05)  # a busy machine takes longer to write the file of another one
    monkeypatch.setattr(uploads, "MEMORY_BYTES", 1)  # the rest goes to a file
    limit = UploadLimit(most=1, most_per_address=1)

    for _ in range(2):  # an upload that has ended counts no longer
        protocol = Protocol(body, closes=closes)
        send(build_application(uploads=limit), protocol, length=length, **POST)
        assert protocol.response == (200, [("x-problem", problem), *([CLOSE] if problem else [])], answer)


def test_uploads_over_the_limit_are_refused_before_they_are_read() -> None:
    limit = UploadLimit(most=2, most_per_address=1)
    limit.add("127.0.0.1")
    send(build_application(uploads=limit), protocol := Protocol(None), length=3, **POST)
    assert protocol.response is not None
    assert protocol.response[0] == 429
    assert CLOSE in protocol.response[1]
    limit.add("10.0.0.7")
    with pytest.raises(TooManyCalls):
        limit.add("10.0.0.8")


def test_slow_bodies_of_an_address_and_of_all_have_a_limit() -> None:
    slow_bodies = request_body.SlowBodies(most_bytes=20, most_bytes_per_address=10)

    assert slow_bodies.add("a", 6)
    assert not slow_bodies.add("a", 6)
    assert slow_bodies.add("b", 10)
    assert not slow_bodies.add("c", 10)
    slow_bodies.remove("a", 6)
    assert slow_bodies.add("a", 6)


def test_body_without_room_among_the_slow_ones_is_given_up_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_body, "PROMPT_SECONDS", 0.01)
    monkeypatch.setattr("core.server.application.MOST_BYTES_PER_ADDRESS", 2)

    send(build_application(), protocol := Protocol(None), length=3, **POST)  # would wait for 20 seconds

    assert protocol.response == (200, [("x-problem", BodyProblem.TOO_SLOW), CLOSE], b"!")


def test_address_with_too_many_requests_is_refused_and_others_are_not() -> None:
    both_came = threading.Barrier(2, timeout=10)

    def wait(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ["PATH_INFO"] == "/first":
            both_came.wait()
        return echo(environ, start_response)

    application = build_application(wait, most_per_address=1)
    first, second, other = Protocol(), Protocol(), Protocol()

    async def run() -> None:
        waiting = asyncio.create_task(application.__rsgi__(build_scope(path="/first"), first))
        await asyncio.sleep(0)
        await application.__rsgi__(build_scope(), second)
        elsewhere = application.__rsgi__(build_scope(client="10.0.0.7:1"), other)
        await asyncio.gather(asyncio.to_thread(both_came.wait), elsewhere, waiting)
        await application.__rsgi__(build_scope(), first)

    asyncio.run(run())

    assert second.response is not None
    assert second.response[0] == 429
    assert CLOSE in second.response[1]
    assert dict(second.response[1])["retry-after"] == "1"
    assert other.response is not None
    assert other.response[0] == 200
    assert first.response is not None
    assert first.response[0] == 200


def test_bug_in_the_application_is_a_500_and_the_thread_goes_on() -> None:
    application = build_application(Mock(side_effect=RuntimeError))
    for _ in range(2):
        send(application, protocol := Protocol())
        assert protocol.response == (500, [], b"")


def test_response_is_closed_after_its_last_byte() -> None:
    closed = []

    class Content(list[bytes]):
        def close(self) -> None:
            closed.append(True)

    def respond(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        start_response("204 No Content", [])
        return Content()

    send(build_application(respond), protocol := Protocol())

    assert protocol.response == (204, [], b"")
    assert closed == [True]
