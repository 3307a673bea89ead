"""Many streams of the chat at once, and a model that writes to all of them at a steady pace. All on one event loop."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import orjson

from benchmarks.load import Address, build_request

WORD = "word "
MODEL_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
COMPLETION_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json"
TIMEOUT_SECONDS = 60.0


@dataclass(slots=True)
class StreamTimes:
    """Milliseconds from a request to its first event and to its first text, and how many events came in all."""

    first_event: float = 0.0
    first_text: float = 0.0
    events: int = 0


def build_message(key: str, subject: str, message: str) -> bytes:
    """Return the request of a new conversation."""
    headers = {"Authorization": f"Bearer {key}", "Gateway-Subject": subject, "Connection": "close"}
    return build_request("POST", "/chat/api/stream", headers, orjson.dumps({"message": message}))


def build_list_request(key: str, subject: str) -> bytes:
    """Return the request of a subject's conversations."""
    headers = {"Authorization": f"Bearer {key}", "Gateway-Subject": subject, "Connection": "close"}
    return build_request("GET", "/chat/api/sessions", headers)


async def read_stream(address: Address, request: bytes) -> StreamTimes:
    """Send a message and read its stream to the end. Raises OSError if the stream is not one."""
    times, head, started = StreamTimes(), b"", time.perf_counter()
    reader, writer = await asyncio.open_connection(*address)
    writer.write(request)
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while data := await reader.read(65_536):
                head = head or data[:500]
                elapsed = (time.perf_counter() - started) * 1000
                times.events += data.count(b"\nevent: ")
                if not times.first_event and b"event: session" in data:
                    times.first_event = elapsed
                if not times.first_text and b"event: text" in data:
                    times.first_text = elapsed
                if b"event: done" in data or b"event: error" in data:
                    break
    finally:
        writer.close()
    if not times.first_event:
        raise OSError(f"The chat did not begin a stream: {head!r}")
    return times


async def read_streams(address: Address, requests: list[bytes], *, per_second: float = 0) -> list[StreamTimes]:
    """Read streams at the same time, all at once or so many new ones a second."""
    tasks = []
    for request in requests:
        tasks.append(asyncio.create_task(read_stream(address, request)))
        if per_second:
            await asyncio.sleep(1 / per_second)
    return list(await asyncio.gather(*tasks))


async def collect_stream(address: Address, request: bytes) -> bytes:
    """Send a message and return the bytes of its whole stream."""
    reader, writer = await asyncio.open_connection(*address)
    writer.write(request)
    async with asyncio.timeout(TIMEOUT_SECONDS):
        content = await reader.read()
    writer.close()
    return content


@asynccontextmanager
async def serve_recorded(upstream: Address) -> AsyncIterator[str]:
    """Serve the first answer of a server for each path, again and again, and yield its base URL.

    What is measured against it is not the server's share.
    """
    answers: dict[tuple[bytes, bool], bytes] = {}

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head, body = await _read_request(reader)
                kind = head.split(b" ", 2)[1], body == b"{}"  # an empty report only checks the key
                if kind not in answers:
                    answers[kind] = await asyncio.to_thread(_forward, upstream, head, body)
                writer.write(answers[kind])
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()
        except asyncio.CancelledError:
            writer.transport.abort()  # the benchmark is over

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def _forward(upstream: Address, head: bytes, body: bytes) -> bytes:
    """Return the response of the upstream, with the headers that a client needs."""
    with socket.create_connection(upstream, timeout=TIMEOUT_SECONDS) as connection:
        connection.sendall(head + body)
        received = bytearray()
        while (end := received.find(b"\r\n\r\n")) < 0 or len(received) < end + 4 + _get_length(received[:end]):
            received += connection.recv(65_536)
    content = bytes(received[end + 4 :])
    status = bytes(received[:end]).partition(b"\r\n")[0]
    return b"%s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (status, len(content), content)


async def _read_request(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    return head, await reader.readexactly(_get_length(head))


def _get_length(head: bytes | bytearray) -> int:
    lengths = [line for line in bytes(head).lower().split(b"\r\n") if line.startswith(b"content-length:")]
    return int(lengths[0].partition(b":")[2]) if lengths else 0


@asynccontextmanager
async def serve_model(*, per_second: float, words: int) -> AsyncIterator[str]:
    """Serve a model that answers each request with so many words at a pace, and yield its base URL."""
    event, whole = _build_chunk({"content": WORD}, None), _build_completion()
    end = _build_chunk({}, "stop") + b"data: [DONE]\n\n"

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, body = await _read_request(reader)
        if not orjson.loads(body).get("stream"):  # for a title
            writer.write(whole)
            writer.close()
            return
        writer.write(MODEL_HEAD)
        next_at = time.monotonic()
        for _ in range(words):
            writer.write(event)
            next_at += 1 / per_second
            await asyncio.sleep(max(0.0, next_at - time.monotonic()))
        writer.write(end)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}/v1"


def _build_completion() -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", "content": WORD}, "finish_reason": "stop"}
    body = orjson.dumps({"object": "chat.completion", "choices": [choice]})
    return b"%s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (COMPLETION_HEAD, len(body), body)


def _build_chunk(delta: dict[str, str], reason: str | None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return b"data: " + orjson.dumps({"object": "chat.completion.chunk", "choices": [choice]}) + b"\n\n"
