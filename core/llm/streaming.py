"""Ask a model for an answer that arrives in pieces (Server-Sent Events), with the tools that it calls.

https://platform.openai.com/docs/api-reference/chat-streaming
"""

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime

from core import http
from core.database.deadlines import Deadline, DeadlineExceeded
from core.http import Abort, ResponseStream
from core.llm import adaptation, spans
from core.llm import endpoint as usage
from core.llm.adaptation import Messages
from core.llm.calls import Tools
from core.llm.completions import MAX_BYTES, MAX_RETRIES, choose_wait
from core.llm.endpoint import Endpoint
from core.llm.errors import (
    LlmAborted,
    LlmBusy,
    LlmError,
    LlmMalformed,
    LlmSilent,
    LlmUnavailable,
    classify_problem,
    read_problem,
)
from core.llm.stream_parser import StreamedCompletion, StreamParser, ignore_piece

log = logging.getLogger(__name__)
# Without a byte, and without a piece of the answer but with comments that keep the connection open. Models that reason
# are silent for a minute or more.
SILENT_SECONDS = 120.0
KEPT_OPEN_SECONDS = 300.0
END_SECONDS = 3.0  # for the usage and the end of the stream, after the end of the answer
MAX_WAIT_SECONDS = 20.0  # that an endpoint can ask for before the request is sent again
MAX_PROBLEM_BYTES = 64_000
OK = 200
ADAPTABLE_STATUSES = frozenset({400, 413, 422, 500})  # 500: llama.cpp, if its template refuses a role


def stream_completion(
    messages: Messages,
    *,
    tools: Tools,
    endpoint: Endpoint,
    max_tokens: int,
    deadline: Deadline,
    abort: Abort,
    on_text: Callable[[str], None],
    on_reasoning: Callable[[str], None] = ignore_piece,
    pause: Callable[[], float] | None = None,
) -> StreamedCompletion:
    """Return the complete answer; pass each piece of its text and of its reasoning on while it arrives.

    `max_tokens` limits the answer; reasoning has LLM_REASONING_TOKENS in addition. `pause` returns the seconds to wait
    between two reads: a process with many streams saves most of its time if it reads several pieces together. The
    first piece does not wait.

    Raises an LlmError, and LlmAborted if `abort` was set. A request that the endpoint could not take is sent again,
    twice at most. After the first piece of an answer, or a long silence, it is not: the model has worked on it.
    """
    call = _StreamRequest(messages, tools, endpoint, max_tokens, deadline, abort, on_text, on_reasoning, pause)
    started = time.monotonic()
    try:
        with spans.trace_request(endpoint) as span:
            answer = call.request()
            spans.add_usage(span, answer.usage)
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


class _StreamRequest:
    """One answer, with the requests that it takes."""

    def __init__(
        self,
        messages: Messages,
        tools: Tools,
        endpoint: Endpoint,
        max_tokens: int,
        deadline: Deadline,
        abort: Abort,
        on_text: Callable[[str], None],
        on_reasoning: Callable[[str], None],
        pause: Callable[[], float] | None,
    ) -> None:
        self._messages, self._tools, self._endpoint, self._max_tokens = messages, tools, endpoint, max_tokens
        self._deadline, self._abort, self._pause = deadline, abort, pause
        self._on_text, self._on_reasoning = on_text, on_reasoning
        self._quirks = adaptation.get_quirks(endpoint)

    def request(self) -> StreamedCompletion:
        """Send the request until there is an answer. Raises LlmError."""
        retry = 0
        while True:
            parser = self._create_parser()
            try:
                return self._stream_once(parser)
            except _Adapted:
                continue  # it is another request now
            except _RetryLater as later:
                problem, asked_seconds = str(later), later.seconds
            except LlmSilent:
                raise
            except http.TooLarge:
                raise LlmMalformed("the response is too large") from None
            except (http.BadUrl, http.BadRequest, http.Untrusted) as error:
                raise LlmUnavailable(type(error).__name__) from None
            except (http.OutgoingError, DeadlineExceeded) as error:
                if isinstance(error, http.TimedOut) and error.was_sent:
                    raise LlmSilent("no answer in time") from None
                problem, asked_seconds = type(error).__name__, None
            except LlmUnavailable as error:  # an error, or the end, instead of a chunk
                problem, asked_seconds = str(error), None
            seconds = choose_wait(retry, asked_seconds)
            if retry == MAX_RETRIES or parser.has_started or not self._wait(seconds):
                raise LlmBusy(problem, seconds=asked_seconds) if asked_seconds else LlmUnavailable(problem)
            retry += 1

    def _wait(self, seconds: float) -> bool:
        """Wait. Return False immediately if that takes too long, and if the call is aborted."""
        is_too_long = seconds > MAX_WAIT_SECONDS or time.monotonic() + seconds >= self._deadline.at
        return not is_too_long and not self._abort.wait(seconds)

    def _create_parser(self) -> StreamParser:
        return StreamParser(
            self._endpoint.model, self._on_text, self._on_reasoning, messages=self._messages, tools=self._tools
        )

    def _stream_once(self, parser: StreamParser) -> StreamedCompletion:
        body = adaptation.build_body(
            self._endpoint, self._messages, tools=self._tools, max_tokens=self._max_tokens, quirks=self._quirks
        )
        with http.post_for_stream(
            http.build_endpoint_url(self._endpoint.base_url, "/chat/completions"),
            key=self._endpoint.key,
            body=body,
            deadline=self._deadline,
            max_bytes=MAX_BYTES,
            read_seconds=SILENT_SECONDS,
            abort=self._abort,
            pause=(lambda: self._choose_pause(parser)) if self._pause else None,
        ) as response:
            if response.status != OK:
                self._refuse(response)
            adaptation.remember_quirks(self._endpoint, self._quirks)
            self._read(response, parser)
        return parser.finish()

    def _choose_pause(self, parser: StreamParser) -> float:
        return self._pause() if self._pause and parser.has_content else 0.0

    def _read(self, response: ResponseStream, parser: StreamParser) -> None:
        """Read to the end. What goes wrong after the end of the answer takes nothing from it."""
        try:
            for chunk in response.chunks:
                if self._abort.is_set:
                    raise LlmAborted("aborted")
                parser.feed(chunk)
                if parser.is_done:
                    return
                if parser.finish_reason:
                    response.limit_silence(END_SECONDS)
                elif time.monotonic() - parser.last_piece_at > KEPT_OPEN_SECONDS:
                    raise LlmSilent("nothing but comments")
        except (http.OutgoingError, DeadlineExceeded):
            if not parser.finish_reason:
                raise

    def _refuse(self, response: ResponseStream) -> None:
        """Raise what a response without an answer means: _Adapted if the endpoint takes another request."""
        problem = read_problem(_read_problem_bytes(response))
        error = classify_problem(problem, status=response.status)
        quirk = adaptation.find_quirk(error, problem, self._messages) if response.status in ADAPTABLE_STATUSES else None
        if quirk is not None and quirk not in self._quirks:
            self._quirks = self._quirks | {quirk}
            raise _Adapted
        if isinstance(error, LlmUnavailable):
            after = http.parse_retry_after(response.headers.get("retry-after", ""), now=datetime.now(UTC))
            raise _RetryLater(str(error), after)
        raise error


class _Adapted(Exception):
    """The endpoint refuses the request, and takes another one."""


class _RetryLater(Exception):
    """The endpoint cannot answer now. `seconds` is the wait that it asks for."""

    def __init__(self, problem: str, seconds: float | None) -> None:
        super().__init__(problem)
        self.seconds = seconds


def _read_problem_bytes(response: ResponseStream) -> bytes:
    body = b""
    with suppress(http.OutgoingError, DeadlineExceeded):
        for chunk in response.chunks:
            body += chunk
            if len(body) >= MAX_PROBLEM_BYTES:
                break
    return body


def _since(started: float) -> float:
    return time.monotonic() - started
