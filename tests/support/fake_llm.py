"""A language model behind a real HTTP server on loopback. It records the bodies and keys, and answers as told."""

from collections.abc import Callable, Iterator
from typing import Any

import orjson
import pytest

from core.llm import completions
from tests.support.fake_internet import FakeInternet
from tests.support.http_servers import ResponseBytes, build_response

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


@pytest.fixture
def llm(fake_internet: FakeInternet, settings: Any) -> Iterator[FakeLlm]:
    """Serve a model, and configure it."""
    fake = FakeLlm()
    fake_internet.put("llm.test/v1/chat/completions", fake)
    settings.LLM_BASE_URL, settings.LLM_API_KEY = "http://llm.test/v1", LLM_KEY
    settings.LLM_MODEL, settings.LLM_FAST_MODEL = "big", "quick"
    completions.clear_state()
    yield fake
    completions.clear_state()
