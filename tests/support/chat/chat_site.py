"""The chat's process beside a gateway, a model that a test holds and releases, and a line that a test cuts."""

import socket
import struct
import sys
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import orjson
from django.conf import settings

from tests.support.chat.fake_llm import USAGE, build_chat_completion
from tests.support.servers.link import join
from tests.support.servers.processes import STARTS_WITHIN, Process, answers, eventually, free_port
from tests.support.upstreams import http_servers
from tests.support.upstreams.http_servers import ResponseBytes, build_response

HELD_SECONDS = 120.0


@contextmanager
def run_chats(*environments: Mapping[str, str]) -> Iterator[list[str]]:
    """Run one chat process for each environment, and yield their URLs."""
    ports = [free_port() for _ in environments]
    with ExitStack() as stack:
        for port, environment in zip(ports, environments, strict=True):
            command = [sys.executable, "-m", "config.chat.serve", "--host", "127.0.0.1", "--port", str(port)]
            process = Process(command, environment=environment, folder=settings.BASE_DIR)
            stack.enter_context(process.stopped_afterwards())
        urls = [f"http://127.0.0.1:{port}" for port in ports]
        for url in urls:
            eventually(lambda url=url: answers(f"{url}/healthz"), within=STARTS_WITHIN, what="the chat's start")
        yield urls


@dataclass(frozen=True)
class ToolCallStep:
    """The model calls an op with `tool_exec`."""

    op: str
    args: dict[str, Any]


@dataclass(frozen=True)
class Thought:
    """The model thinks before it goes on."""

    text: str


class Hold:
    """The model waits here until the test releases it."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def release(self) -> None:
        self._event.set()

    def wait(self) -> None:
        assert self._event.wait(HELD_SECONDS), "the test did not release the model"


class Refusal:
    """The endpoint refuses the request."""


Step = str | ToolCallStep | Thought | Hold | Refusal


class HeldModel:
    """A model behind Chat Completions. Each request gets the next of `answers`, which are steps."""

    def __init__(self) -> None:
        self.answers: deque[list[Step]] = deque()
        self._server = http_servers.Server(self._answer)

    @property
    def url(self) -> str:
        return self._server.url("/v1")

    def stop(self) -> None:
        self._server.stop()

    def _answer(self, request: bytes) -> ResponseBytes:
        body = orjson.loads(request.partition(b"\r\n\r\n")[2])
        if not body.get("stream"):
            return build_chat_completion("A title by the model")
        steps = self.answers.popleft()
        if any(isinstance(step, Refusal) for step in steps):
            return build_response(b"{}", "400 Bad Request", Content_Type="application/json")
        return self._stream(steps)

    def _stream(self, steps: list[Step]) -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        for number, step in enumerate(steps):
            if isinstance(step, Hold):
                step.wait()
            elif isinstance(step, str):
                yield _build_chunk({"content": step})
            elif isinstance(step, Thought):
                yield _build_chunk({"reasoning_content": step.text})
            elif isinstance(step, ToolCallStep):
                arguments = orjson.dumps({"op": step.op, "args": step.args}).decode()
                function = {"name": "tool_exec", "arguments": arguments}
                call = {"index": number, "id": f"call_{number}", "type": "function", "function": function}
                yield _build_chunk({"tool_calls": [call]})
        has_calls = any(isinstance(step, ToolCallStep) for step in steps)
        yield _build_chunk({}, finish_reason="tool_calls" if has_calls else "stop")
        yield _frame(b"data: " + orjson.dumps({"choices": [], "usage": USAGE}) + b"\n\n")
        yield _frame(b"data: [DONE]\n\n") + b"0\r\n\r\n"


def _build_chunk(delta: dict[str, Any], finish_reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    body = {"id": "c-1", "object": "chat.completion.chunk", "created": 1, "model": "big", "choices": [choice]}
    return _frame(b"data: " + orjson.dumps(body) + b"\n\n")


def _frame(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


class CuttableLine:
    """A TCP line to a port. A cut resets what is open; while it is cut, new connections are reset, too."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._is_cut = False
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=50)
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def cut(self) -> None:
        self._is_cut = True
        for each in self._open:
            _reset(each)
        self._open.clear()

    def mend(self) -> None:
        self._is_cut = False

    def close(self) -> None:
        self.cut()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                if self._is_cut:
                    _reset(near)
                    continue
                far = socket.create_connection(("127.0.0.1", self._target))
                self._open += [near, far]
                join(near, far)


def _reset(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
