"""Ask a model for an answer that arrives in pieces (Server-Sent Events), with the tools that it calls.

https://platform.openai.com/docs/api-reference/chat-streaming
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

from core import http
from core.database.deadlines import Deadline, DeadlineExceeded
from core.http import Abort
from core.llm import endpoint as usage
from core.llm.completions import MAX_BYTES, MAX_RETRIES, TEMPORARY_STATUSES, Messages, choose_wait
from core.llm.endpoint import (
    Endpoint,
    LlmAborted,
    LlmError,
    LlmMalformed,
    LlmRefused,
    LlmUnavailable,
    Model,
    Usage,
    read_usage,
)

MAX_CALLS = 128  # in one answer
MAX_LENGTH = (
    100_000  # characters of texts and calls; what an endpoint that ignores the limit of tokens sends is cut off
)
MAX_LINE = 1_000_000  # bytes
log = logging.getLogger(__name__)
READ_SECONDS = 60.0  # between two chunks: a model that is silent for longer has died
Tools = Sequence[Mapping[str, Any]]  # function tools of Chat Completions


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
    """Return a text without NUL, which databases refuse. Of a list of parts, return the texts.

    Raises TypeError or AttributeError for anything else.
    """
    if isinstance(value, list):
        return "".join(_read_text(part.get("text")) for part in value if part.get("type") == "text")
    if value is None:
        return ""
    if not isinstance(value, str):
        raise TypeError
    return value.replace("\0", "")


def stream_completion(
    messages: Messages,
    *,
    tools: Tools,
    endpoint: Endpoint,
    max_tokens: int,
    deadline: Deadline,
    abort: Abort,
    on_text: Callable[[str], None],
    pause: Callable[[], float] | None = None,
) -> StreamedCompletion:
    """Return the complete answer; pass each piece of its text to `on_text` while it arrives.

    `pause` returns the seconds to wait between two reads: a process with many streams saves most of its time if it
    reads several pieces together. The first piece does not wait.

    Raises an LlmError: LlmUnavailable, LlmRefused, LlmMalformed, and LlmAborted if `abort` was set. A request is sent
    again, twice at most, until the first chunk of an answer has arrived. After that, the text that was passed on is
    all there is.
    """
    options: dict[str, Any] = {"tools": list(tools)} if tools else {}
    body = {
        "model": endpoint.model.name,
        "messages": list(messages),
        "max_completion_tokens": max_tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
        **options,
    }
    started = time.monotonic()
    try:
        answer = _stream_with_retries(endpoint, body, deadline=deadline, abort=abort, on_text=on_text, pause=pause)
    except LlmError as error:
        if abort.is_set:
            raise LlmAborted("aborted") from None
        log.warning("llm.stream_failed reason=%r seconds=%.1f", f"{type(error).__name__}: {error}", _since(started))
        raise
    if endpoint.tier is not None:
        usage.count_usage(answer.usage, tier=endpoint.tier)
    log.info(
        "llm.streamed input=%d output=%d dollars=%.6f calls=%d seconds=%.1f",
        answer.usage.input_tokens,
        answer.usage.output_tokens,
        answer.usage.dollars,
        len(answer.tool_calls),
        _since(started),
    )
    return answer


def _stream_with_retries(
    endpoint: Endpoint,
    body: dict[str, Any],
    *,
    deadline: Deadline,
    abort: Abort,
    on_text: Callable[[str], None],
    pause: Callable[[], float] | None,
) -> StreamedCompletion:
    for retry in range(MAX_RETRIES + 1):
        parser = StreamParser(endpoint.model, on_text)
        retry_after = None
        try:
            return _stream_once(endpoint, body, parser, deadline=deadline, abort=abort, pause=pause)
        except _RetryLater as later:
            problem, retry_after = str(later), later.seconds
        except http.TooLarge:
            raise LlmMalformed("the response is too large") from None
        except (http.BadUrl, http.BadRequest, http.Untrusted) as error:
            raise LlmUnavailable(type(error).__name__) from None
        except (http.OutgoingError, DeadlineExceeded) as error:
            problem = type(error).__name__
        except LlmUnavailable as error:  # an error, or the end, instead of a chunk
            problem = str(error)
        seconds = choose_wait(retry, retry_after)
        is_last = retry == MAX_RETRIES or parser.has_started or time.monotonic() + seconds >= deadline.at
        if is_last or abort.wait(seconds):
            raise LlmUnavailable(problem)
    raise AssertionError("unreachable: the last round returns or raises")


def _stream_once(
    endpoint: Endpoint,
    body: dict[str, Any],
    parser: StreamParser,
    *,
    deadline: Deadline,
    abort: Abort,
    pause: Callable[[], float] | None,
) -> StreamedCompletion:
    with http.post_for_stream(
        http.build_endpoint_url(endpoint.base_url, "/chat/completions"),
        key=endpoint.key,
        body=body,
        deadline=deadline,
        max_bytes=MAX_BYTES,
        read_seconds=READ_SECONDS,
        abort=abort,
        pause=(lambda: pause() if parser.has_content else 0.0) if pause else None,
    ) as response:
        if response.status != 200:
            problem = f"status {response.status}"
            if response.status < 500 and response.status not in TEMPORARY_STATUSES:
                raise LlmRefused(problem)
            retry_after = http.parse_retry_after(response.headers.get("retry-after", ""), now=datetime.now(UTC))
            raise _RetryLater(problem, retry_after)
        for chunk in response.chunks:
            if abort.is_set:
                raise LlmAborted("aborted")
            parser.feed(chunk)
            if parser.is_done:
                break
    return parser.finish()


class _RetryLater(Exception):
    """The endpoint cannot answer now. `seconds` is the wait that it asks for."""

    def __init__(self, problem: str, seconds: float | None) -> None:
        super().__init__(problem)
        self.seconds = seconds


def _since(started: float) -> float:
    return time.monotonic() - started
