"""What the handler of the chat's API does before and after its views, with a client that this test plays."""

import asyncio
from typing import Any

import orjson
import pytest
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import path

from config.chat import api as chat_api
from config.chat.api import ChatApiHandler

pytestmark = pytest.mark.urls(__name__)

Sent = list[dict[str, Any]]

left: list[str] = []  # streams whose client has gone


async def echo(request: HttpRequest) -> HttpResponse:
    return HttpResponse(request.body)


async def read(request: HttpRequest) -> HttpResponse:
    return HttpResponse(request.read())


async def fail(_: HttpRequest) -> HttpResponse:
    raise ValueError("hunter2")


async def stream(_: HttpRequest) -> StreamingHttpResponse:
    async def write() -> Any:
        try:
            while True:
                yield b"x"
                await asyncio.sleep(0.001)
        finally:
            left.append("stream")

    return StreamingHttpResponse(write())


urlpatterns = [
    path("chat/api/files", read),
    path("chat/api/echo", echo),
    path("chat/api/fail", fail),
    path("chat/api/stream", stream),
]


def send(
    address: str, *chunks: bytes, host: str = "localhost", goes_after: int | None = None, length: str = ""
) -> Sent:
    """Send a body in chunks and return what the handler sent; the client goes after so many messages of it."""
    scope = {
        "type": "http",
        "method": "POST",
        "path": f"/chat/api/{address}",
        "query_string": b"",
        "headers": [(b"host", host.encode()), *([(b"content-length", length.encode())] if length else [])],
    }
    sent: Sent = []

    async def run() -> None:
        gone = asyncio.Event()
        waiting = [{"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks]

        async def receive() -> dict[str, Any]:
            if waiting:
                return waiting.pop(0)
            if chunks and waiting is not None and not ended:
                ended.append(True)
                return {"type": "http.request", "body": b"", "more_body": False}
            await gone.wait()
            return {"type": "http.disconnect"}

        async def collect(message: Any) -> None:
            sent.append(dict(message))
            if goes_after is not None and len(sent) >= goes_after:
                gone.set()

        ended: list[bool] = []
        await ChatApiHandler()(scope, receive, collect)

    asyncio.run(run())
    return sent


def get_error(sent: Sent) -> tuple[int, str]:
    return sent[0]["status"], orjson.loads(sent[1]["body"])["error"]["code"]


def test_connection_closes_after_a_body_that_is_not_read(settings: Any) -> None:
    settings.GATEWAY_FILE_MAX_BYTES = 10

    assert (b"Connection", b"close") in send("files", length="11")[0]["headers"]
    assert (b"Connection", b"close") not in send("files", b"x", length="1")[0]["headers"]


def test_body_is_read_whole_and_the_answer_is_locked_down() -> None:
    start, body, *_ = send("echo", b"ab", b"c")

    assert (start["status"], body["body"]) == (200, b"abc")
    assert {name.lower() for name, _ in start["headers"]} >= {b"content-security-policy", b"x-content-type-options"}


def test_large_body_is_refused_before_it_is_held(settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 10

    assert get_error(send("echo", b"x" * 6, b"x" * 6)) == (413, "too_large")


def test_an_upload_is_larger_than_other_bodies_and_has_its_own_limit(settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE, settings.GATEWAY_FILE_MAX_BYTES = 2, 10

    assert send("files", b"x" * 6, b"y" * 4, length="10")[1]["body"] == b"x" * 6 + b"y" * 4
    assert get_error(send("files", length="11")) == (413, "too_large")
    assert get_error(send("files", b"x")) == (411, "length_required")


def test_body_that_does_not_arrive_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_api, "BODY_SECONDS", 0.02)

    assert get_error(send("echo")) == (408, "too_slow")


def test_failure_is_json_and_says_nothing_of_its_reason() -> None:
    sent = send("fail", b"{}")

    assert get_error(sent) == (500, "internal")
    assert b"hunter2" not in sent[1]["body"]


def test_unknown_host_is_refused() -> None:
    assert get_error(send("echo", b"{}", host="evil.test")) == (400, "unknown_host")


def test_plain_http_is_refused_where_https_is_set(settings: Any) -> None:
    settings.SECURE_SSL_REDIRECT = True

    assert get_error(send("echo", b"{}")) == (400, "https_required")


def test_stream_ends_when_its_client_goes() -> None:
    left.clear()

    sent = send("stream", b"{}", goes_after=5)

    assert len(sent) >= 5
    assert left == ["stream"]
