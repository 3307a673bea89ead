"""A language model behind a real HTTP server on loopback. It records the bodies and keys, and answers as told."""

from collections.abc import Callable, Sequence
from typing import Any

import orjson
import pytest

from tests.support.upstreams.fake_internet import FakeInternet
from tests.support.upstreams.http_servers import ResponseBytes, build_response

LLM_KEY = "sk-hunter2-hunter2"
USAGE = {"prompt_tokens": 1_000, "completion_tokens": 200, "total_tokens": 1_200}


class FakeLlm:
    """Answers each request with the next of `answers`, and with the last one again."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.answers: list[ResponseBytes | Callable[[], ResponseBytes]] = [build_chat_completion("Yes.")]

    def __call__(self, request: bytes) -> ResponseBytes:
        head, _, body = request.partition(b"\r\n\r\n")
        lines = [line.partition(": ") for line in head.decode().split("\r\n")]
        self.keys += [value for name, _, value in lines if name.lower() == "authorization"]
        self.bodies.append(orjson.loads(body))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return answer() if callable(answer) else answer


def build_chat_completion(content: str | None, *, finish_reason: str = "stop", **fields: Any) -> bytes:
    """Return the response of Chat Completions with one message. `fields` replace those of the body."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": finish_reason}
    body = {"id": "c-1", "object": "chat.completion", "created": 1, "model": "big", "choices": [choice], "usage": USAGE}
    return build_response(orjson.dumps(body | fields), Content_Type="application/json")


def build_chunks(
    *texts: str, calls: Sequence[tuple[str, str, str]] = (), finish: str = "", usage: Any = USAGE
) -> list[bytes]:
    """Return the events of a streamed answer: texts, and calls as (id, name, arguments), each in two pieces."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}, *({"content": text} for text in texts)]
    for index, (id, name, arguments) in enumerate(calls):
        half = len(arguments) // 2
        function = {"name": name, "arguments": arguments[:half]}
        deltas.append({"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]})
        deltas.append({"tool_calls": [{"index": index, "function": {"arguments": arguments[half:]}}]})
    chunks = [_build_chunk({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}) for delta in deltas]
    reason = finish or ("tool_calls" if calls else "stop")
    chunks.append(_build_chunk({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}))
    return [*chunks, _build_chunk({"choices": [], "usage": usage}), b"data: [DONE]\n\n"]


def build_stream(
    *texts: str, calls: Sequence[tuple[str, str, str]] = (), finish: str = "", dies: bool = False
) -> list[bytes]:
    """Return the pieces of a streamed response. One that dies ends after its texts, without a reason."""
    chunks = build_chunks(*texts, calls=calls, finish=finish)
    length = sum(map(len, chunks))
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: {length}\r\n"
    closing = "Connection: close\r\n" if dies else ""
    return [f"{head}{closing}\r\n".encode(), *(chunks[: len(texts) + 1] if dies else chunks)]


def _build_chunk(fields: dict[str, Any]) -> bytes:
    chunk = {"id": "c-1", "object": "chat.completion.chunk", "created": 1, "model": "big"} | fields
    return b"data: " + orjson.dumps(chunk) + b"\n\n"


@pytest.fixture
def llm(fake_internet: FakeInternet, settings: Any) -> FakeLlm:
    """Serve a model, and configure it."""
    fake = FakeLlm()
    fake_internet.put("llm.test/v1/chat/completions", fake)
    settings.LLM_BASE_URL, settings.LLM_API_KEY = "http://llm.test/v1", LLM_KEY
    settings.LLM_MODEL, settings.LLM_FAST_MODEL = "big", "quick"
    return fake
