"""Streams as real servers send them, against the protocol of Chat Completions, and a line that reads them."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import orjson
import pytest

from core import llm as llms
from core.database.deadlines import Deadline
from core.http import Abort
from core.llm import ModelLine, Tier, adaptation, completions
from tests.support.chat.fake_llm import USAGE
from tests.support.upstreams.http_servers import build_response

HEADS = {"Content_Type": "text/event-stream"}
MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Which tasks are late?"}]
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}}},
        },
    }
    for name in ("tool_help", "tool_exec")
]
HELP = ("tool_help", '{"path": "onto"}')
EXEC = ("tool_exec", '{"op": "x"}')


def stream_chunks(*chunks: Any, done: bool = True) -> bytes:
    """Return a response with these chunks: bytes as they are, and anything else as JSON."""
    lines = [each if isinstance(each, bytes) else b"data: " + orjson.dumps(each) for each in chunks]
    return build_response(b"\n\n".join([*lines, *([b"data: [DONE]"] if done else [])]) + b"\n\n", **HEADS)


def delta(finish: str | None = None, **fields: Any) -> dict[str, Any]:
    """Return a chunk with a delta of these fields."""
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def tool_delta(
    arguments: Any = None, *, name: str | None = None, id: str | None = None, index: int | None = 0
) -> dict[str, Any]:
    """Return a chunk with a piece of a call. What is None is left out."""
    function = {"name": name, "arguments": arguments}
    piece: dict[str, Any] = {"index": index, "id": id, "type": "function"}
    piece = {key: value for key, value in piece.items() if value is not None}
    piece["function"] = {key: value for key, value in function.items() if value is not None}
    return delta(tool_calls=[piece])


def stream_deltas(*deltas: Any, finish: str = "stop", done: bool = True) -> bytes:
    """Return a response with these deltas, the reason why it ends, and the usage."""
    return stream_chunks(*deltas, delta(finish), {"choices": [], "usage": USAGE}, done=done)


def stream_texts(*texts: str, finish: str = "stop") -> bytes:
    """Return a response with these pieces of text."""
    return stream_deltas(*(delta(content=text) for text in texts), finish=finish)


def refuse(message: str, status: str = "400 Bad Request", **fields: Any) -> bytes:
    """Return a response with an error in OpenAI's form."""
    return build_response(orjson.dumps({"error": {"message": message} | fields}), status)


def hang(*pieces: bytes, comments: bytes = b"") -> Callable[[], Iterator[bytes]]:
    """Return an answer that sends pieces, and then nothing or only comments."""

    def answer() -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 100000\r\n\r\n"
        yield from pieces
        until = time.monotonic() + 4
        while time.monotonic() < until:
            time.sleep(0.05)
            yield comments

    return answer


@pytest.fixture
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait shortly before a request is sent again, and forget what is known of endpoints."""
    monkeypatch.setattr(completions, "FIRST_WAIT_SECONDS", 0.01)
    monkeypatch.setattr(adaptation, "_quirks", {})


class Asked:
    """What a line passed on, and what it cost."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.thoughts: list[str] = []
        self.usages: list[llms.Usage] = []
        self.line = ModelLine(
            endpoint=llms.get_endpoint(Tier.MAIN),
            deadline=Deadline.after(milliseconds=20_000),
            abort=Abort(),
            on_usage=self.usages.append,
            on_text=self.texts.append,
            on_reasoning=self.thoughts.append,
        )

    def ask(self, messages: Any = MESSAGES, tools: Any = TOOLS) -> llms.StreamedCompletion:
        return self.line.ask(messages, tools=tools, max_tokens=2_000)


def ask(messages: Any = MESSAGES, tools: Any = TOOLS) -> llms.StreamedCompletion:
    asked = Asked()
    answer = asked.ask(messages, tools)
    assert "".join(asked.texts).endswith(answer.text)
    assert "".join(asked.thoughts).endswith(answer.reasoning)
    return answer
