"""The streamed form of Chat Completions: Server-Sent Events whose data are chunks of one answer.

https://platform.openai.com/docs/api-reference/chat-streaming
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from core.llm.errors import LlmMalformed, LlmRefused, LlmUnavailable
from core.llm.tiers import Model
from core.llm.usage import Usage, read_usage

MAX_CALLS = 128  # in one answer
MAX_LENGTH = (
    100_000  # characters of texts and calls; what an endpoint that ignores the limit of tokens sends is cut off
)
MAX_LINE = 1_000_000  # bytes


@dataclass(frozen=True, slots=True, repr=False)  # no repr: an answer must not end up in logs
class StreamedCall:
    """A tool that the model calls. `arguments` is JSON, or whatever the model wrote instead."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, repr=False)
class StreamedCompletion:
    """A whole answer. `is_cut_off` says that it reached a length limit: its last call may be incomplete."""

    text: str
    tool_calls: tuple[StreamedCall, ...]
    is_cut_off: bool
    usage: Usage


class StreamParser:
    """Puts an answer together from the bytes of its stream."""

    def __init__(self, model: Model, on_text: Callable[[str], None]) -> None:
        self.has_started = False
        self.is_done = False
        self._model = model
        self._on_text = on_text
        self._rest = b""
        self._texts: list[str] = []
        self._calls: dict[Any, list[str]] = {}  # id, name and arguments by index
        self._length = 0
        self._finish_reason = ""
        self._usage: Mapping[str, Any] = {}

    @property
    def has_content(self) -> bool:
        """Whether a piece of a text or of a call has arrived."""
        return bool(self._texts or self._calls)

    def feed(self, data: bytes) -> None:
        """Read the next bytes. Raises LlmMalformed, LlmRefused or LlmUnavailable."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > MAX_LINE:
            raise LlmMalformed("a line of the stream is too long")
        for line in lines:
            if not line.startswith(b"data:"):
                continue  # a blank line, a comment that keeps the connection open, or another field
            payload = line[5:].strip()
            if payload == b"[DONE]":
                self.is_done = True
                return
            self._read_chunk(payload)
            if self._length >= MAX_LENGTH:
                self._finish_reason, self.is_done = "length", True
                return

    def finish(self) -> StreamedCompletion:
        """Return the answer. Raises LlmUnavailable if it is incomplete: no reason to end has arrived."""
        if not self._finish_reason:
            raise LlmUnavailable("the stream ended early")
        if self._finish_reason == "content_filter":
            raise LlmRefused("the model refuses the content")
        return StreamedCompletion(
            text="".join(self._texts),
            tool_calls=tuple(StreamedCall(*parts) for parts in self._calls.values()),
            is_cut_off=self._finish_reason in ("length", "max_tokens", "model_length"),
            usage=read_usage({"usage": self._usage}, model=self._model),
        )

    def _read_chunk(self, payload: bytes) -> None:
        try:
            chunk = orjson.loads(payload)
            if chunk.get("error"):
                raise LlmUnavailable("the endpoint reports an error")
            self._usage = chunk.get("usage") or self._usage
            for choice in chunk.get("choices", ())[:1]:
                self._finish_reason = choice.get("finish_reason") or self._finish_reason
                self._read_delta(choice.get("delta") or {})
        except (orjson.JSONDecodeError, AttributeError, KeyError, TypeError):
            raise LlmMalformed("not a chunk of a chat completion") from None

    def _read_delta(self, delta: Mapping[str, Any]) -> None:
        self.has_started = True
        if text := _read_text(delta.get("content"))[: MAX_LENGTH - self._length]:
            self._length += len(text)
            self._texts.append(text)
            self._on_text(text)
        for call in delta.get("tool_calls") or ():
            self._read_call(call)

    def _read_call(self, call: Mapping[str, Any]) -> None:
        """Add a piece of a call. Some servers send whole calls without an index."""
        index = call.get("index")
        if index is None:
            index = f"call {len(self._calls)}"
        parts = self._calls.setdefault(index, ["", "", ""])
        if len(self._calls) > MAX_CALLS:
            raise LlmMalformed("the answer has too many calls")
        function = call.get("function") or {}
        parts[0] = parts[0] or _read_text(call.get("id"))
        name, arguments = _read_text(function.get("name")), _read_text(function.get("arguments"))
        self._length += len(name) + len(arguments)
        if self._length > MAX_LENGTH:
            return  # the answer is cut off, so its last call is not run
        parts[1] += name
        parts[2] += arguments


def _read_text(value: Any) -> str:
    """Return a text without NUL, which databases refuse; of a list of parts, such as thoughts and text, the texts.

    Raises TypeError or AttributeError for anything else.
    """
    if isinstance(value, list):
        return "".join(_read_text(part.get("text")) for part in value if part.get("type") == "text")
    if value is None:
        return ""
    if not isinstance(value, str):
        raise TypeError
    return value.replace("\0", "")
