"""The server: Chat Completions whole and streamed, as OpenAI's own client reads it, and hostile requests."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from chat.scripted_model import protocol
from chat.scripted_model import server as planner
from chat.scripted_model.scripts import SUGGESTIONS
from chat.scripted_model.server import ScriptedModelServer
from tests.unit.chat.scripted_model.requests import (
    SYSTEM,
    build_exec,
    build_success,
    build_task,
    build_tools,
    build_user,
)

TASKS = [build_task(at, f"Task {at} — über “Größe”") for at in range(3)]
CALL: list[Any] = [SYSTEM, build_user(SUGGESTIONS[0].text)]
TEXT: list[Any] = [*CALL, *build_exec("onto.task.list", build_success("onto.task.list", tasks=TASKS, total=3))]


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedModelServer]:
    """Serve the scripted model without a pace."""
    running = ScriptedModelServer(pace_ms=0)
    running.start()
    yield running
    running.stop()


def build_body(messages: list[Any] = TEXT, **fields: Any) -> dict[str, Any]:
    return {"model": "scripted", "messages": messages, "tools": build_tools(), **fields}


def get_port(server: ScriptedModelServer) -> int:
    return int(server.url.removesuffix("/v1").rpartition(":")[2])


def send_raw(server: ScriptedModelServer, *parts: bytes) -> bytes:
    """Send bytes and return everything that the server answers until it closes the connection."""
    with socket.create_connection(("127.0.0.1", get_port(server)), timeout=10) as connection:
        for part in parts:
            connection.sendall(part)
        received = b""
        while data := connection.recv(65_536):
            received += data
    return received


def post(server: ScriptedModelServer, body: Any, *, path: str = "/v1/chat/completions") -> tuple[int, str]:
    """Send a POST, and return status and body as they were sent, without the framing of chunks."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(data)}\r\n\r\n"
    response_head, _, payload = send_raw(server, head.encode(), data).partition(b"\r\n\r\n")
    return int(response_head.split()[1]), payload.decode()


def assert_refused(response: tuple[int, str], status: int) -> dict[str, Any]:
    """Check status and form of an error, and return it."""
    error = json.loads(response[1])["error"]
    assert response[0] == status, error
    assert set(error) == {"message", "type", "param", "code"}
    assert error["type"] == "invalid_request_error"
    return error


def connect_openai(server: ScriptedModelServer) -> Any:
    import openai  # takes a second

    return openai.OpenAI(base_url=server.url, api_key="unused", max_retries=0)


@pytest.mark.parametrize("messages", [TEXT, CALL], ids=["text", "tool calls"])
def test_official_client_reads_an_answer(server: ScriptedModelServer, messages: list[Any]) -> None:
    with connect_openai(server) as client:
        completion = client.chat.completions.create(**build_body(messages))

    expected = planner.plan_answer(messages, build_tools())
    (choice,) = completion.choices
    assert (choice.finish_reason, choice.message.content or "") == (expected.finish_reason, expected.text)
    calls = [(call.type, call.function.name) for call in choice.message.tool_calls or ()]
    assert calls == [("function", call.name) for call in expected.tool_calls]
    assert [json.loads(call.function.arguments) for call in choice.message.tool_calls or ()] == [
        call.arguments for call in expected.tool_calls
    ]
    assert completion.model == "scripted"
    assert completion.usage.total_tokens == completion.usage.prompt_tokens + completion.usage.completion_tokens
    assert completion.usage.prompt_tokens > 100


@pytest.mark.parametrize("messages", [TEXT, CALL], ids=["text", "tool calls"])
def test_official_client_reads_a_stream(server: ScriptedModelServer, messages: list[Any]) -> None:
    options = {"stream": True, "stream_options": {"include_usage": True}}
    with connect_openai(server) as client:
        chunks = list(client.chat.completions.create(**build_body(messages, **options)))

    expected = planner.plan_answer(messages, build_tools())
    *with_choice, usage = chunks
    deltas = [chunk.choices[0].delta for chunk in with_choice]
    assert deltas[0].role == "assistant"
    assert "".join(delta.content or "" for delta in deltas) == expected.text
    pieces = [piece for delta in deltas for piece in delta.tool_calls or ()]
    assert bool(pieces) is bool(expected.tool_calls)
    for index, call in enumerate(expected.tool_calls):
        own = [piece for piece in pieces if piece.index == index]
        assert (own[0].function.name, own[0].type, bool(own[0].id)) == (call.name, "function", True)
        assert json.loads("".join(piece.function.arguments for piece in own)) == call.arguments
    assert [chunk.choices[0].finish_reason for chunk in with_choice if chunk.choices[0].finish_reason] == [
        expected.finish_reason
    ]
    assert usage.choices == []
    assert usage.usage.completion_tokens > 0
    assert {chunk.id for chunk in chunks} == {chunks[0].id}


def test_official_client_raises_its_own_errors(server: ScriptedModelServer) -> None:
    import openai  # takes a second

    with connect_openai(server) as client:
        with pytest.raises(openai.NotFoundError, match="one model"):
            client.chat.completions.create(**build_body() | {"model": "gpt-5"})
        with pytest.raises(openai.BadRequestError, match="at least one message"):
            client.chat.completions.create(**build_body([]))
        assert [model.id for model in client.models.list()] == ["scripted"]


def test_connection_serves_several_requests(server: ScriptedModelServer) -> None:
    data = json.dumps(build_body(stream=True)).encode()
    head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(data)
    last = b"GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

    received = send_raw(server, head + data, head, data, last)

    assert received.count(b"[DONE]") == 2
    assert received.count(b"HTTP/1.1 200 OK") == 3


@pytest.mark.parametrize(
    ("body", "status", "param"),
    [
        (b"", 400, None),
        (b"{", 400, None),
        (b"[" * 100_000, 400, None),
        (b"[]", 400, None),
        ({}, 404, "model"),
        ({"model": "scripted"}, 400, "messages"),
        (build_body([]), 400, "messages"),
        (build_body(["hello"]), 400, "messages"),
        (build_body([{"role": "king", "content": "x"}]), 400, "messages.[0].role"),
        (build_body([{"content": "x"}]), 400, "messages.[0].role"),
        (build_body(tools={}), 400, "tools"),
        (build_body(stream="yes"), 400, "stream"),
        (build_body(stream_options=[]), 400, "stream_options"),
    ],
)
def test_malformed_body_is_refused(server: ScriptedModelServer, body: Any, status: int, param: str | None) -> None:
    assert assert_refused(post(server, body), status)["param"] == param


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "user"}],
        [{"role": "user", "content": 5}],
        [{"role": "user", "content": [{"type": "text", "text": "my tasks"}, {"type": "image_url"}, None, "x"]}],
        [{"role": "assistant", "content": "Hello?"}],
        [{"role": "tool", "content": "{}"}],
        [{"role": "user", "content": "x"}, {"role": "assistant", "tool_calls": "none"}],
        [{"role": "user", "content": "x"}, {"role": "assistant", "tool_calls": [None, {}, {"function": 1}]}],
        [{"role": "user", "content": "x"}, {"role": "assistant", "tool_calls": [{"id": {}, "function": {"name": []}}]}],
        [{"role": "user", "content": "“" * 20_000}],
        [{"role": "user", "content": "in " * 50_000}],
        [{"role": "user", "content": "create a task " + "with tasks, and " * 20_000}],
        [{"role": "system", "content": "today 20" * 50_000}, {"role": "user", "content": "\u0000\ud83d\ude42 tasks"}],
    ],
)
def test_strange_messages_are_answered_quickly(server: ScriptedModelServer, messages: list[Any]) -> None:
    started = time.monotonic()

    status, payload = post(server, build_body(messages, tools=[*build_tools(), {}, {"function": []}]))

    assert status == 200, payload
    assert json.loads(payload)["choices"][0]["finish_reason"] in ("stop", "tool_calls")
    assert time.monotonic() - started < 20  # a busy machine is not a failure


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"hello\r\n\r\n", 400),
        (b"GET / SPDY/3\r\n\r\n", 400),
        (b"GET /v1/unknown HTTP/1.0\r\n\r\n", 404),
        (b"DELETE /v1/models HTTP/1.0\r\n\r\n", 404),
        (b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: -5\r\n\r\n", 400),
        (b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n", 413),
        (b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", 413),
        (b"POST /v1/chat/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 411),
        (b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n", 431),
    ],
)
def test_malformed_request_is_refused(server: ScriptedModelServer, request_bytes: bytes, status: int) -> None:
    try:
        received = send_raw(server, request_bytes)
    except ConnectionResetError:  # the server does not read all of it
        assert status == 431
        return

    head, _, payload = received.partition(b"\r\n\r\n")
    assert_refused((int(head.split()[1]), payload.decode()), status)


def test_client_that_stops_reading_disturbs_nobody(server: ScriptedModelServer) -> None:
    data = json.dumps(build_body(stream=True)).encode()
    with socket.create_connection(("127.0.0.1", get_port(server))) as connection:
        connection.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(data) + data)
        connection.recv(10)
    with socket.create_connection(("127.0.0.1", get_port(server))) as connection:
        connection.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 500\r\n\r\n{")

    assert post(server, build_body())[0] == 200


def test_bug_in_the_planner_is_a_server_error(server: ScriptedModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner, "plan_answer", lambda *_: 1 / 0)

    status, payload = post(server, build_body(stream=True))

    assert (status, json.loads(payload)["error"]["type"]) == (500, "server_error")


def test_many_streams_run_at_once(server: ScriptedModelServer) -> None:
    with ThreadPoolExecutor(50) as pool:
        responses = list(pool.map(lambda _: post(server, build_body(stream=True)), range(100)))

    assert {status for status, _ in responses} == {200}
    assert all("[DONE]" in payload for _, payload in responses)


def test_pace_is_between_two_chunks() -> None:
    server = ScriptedModelServer(pace_ms=20)
    server.start()
    try:
        started = time.monotonic()
        _, payload = post(server, build_body(CALL, stream=True))
        assert time.monotonic() - started >= 0.02 * payload.count("data: ")
    finally:
        server.stop()


def test_idle_connection_is_closed(server: ScriptedModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "IDLE_SECONDS", 0.05)

    assert send_raw(server) == b""


def test_server_starts_and_stops_again() -> None:
    server = ScriptedModelServer(pace_ms=1_000)
    with pytest.raises(RuntimeError, match="not running"):
        _ = server.url
    url = server.start()
    assert url.startswith("http://127.0.0.1:")
    with pytest.raises(RuntimeError, match="already running"):
        server.start()
    with pytest.raises(OSError, match="in use"):
        ScriptedModelServer().start(port=get_port(server))
    streaming = threading.Thread(target=post, args=(server, build_body(stream=True)))
    streaming.start()
    time.sleep(0.1)

    server.stop()
    server.stop()

    streaming.join(20)
    assert not streaming.is_alive(), "a stream that is open is cut off"
    with pytest.raises(ConnectionError):
        socket.create_connection(("127.0.0.1", int(url.split(":")[2].split("/")[0])))
    server.start()
    assert post(server, build_body(CALL))[0] == 200
    server.stop()
