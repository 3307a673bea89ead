"""Ask a model for an answer that arrives piece by piece, with the tools that it calls."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from core import http
from core.deadlines import Deadline, DeadlineExceeded
from core.http import Abort
from core.llm import stream_parser, usage
from core.llm.completions import Messages
from core.llm.errors import LlmAborted, LlmError, LlmMalformed, LlmRefused, LlmUnavailable
from core.llm.retries import MAX_BYTES, MAX_RETRIES, TEMPORARY_STATUSES, choose_wait
from core.llm.stream_parser import StreamedCompletion
from core.llm.tiers import Endpoint

log = logging.getLogger(__name__)

READ_SECONDS = 60.0  # between two chunks: a model that is silent for longer has died

Tools = Sequence[Mapping[str, Any]]  # function tools of Chat Completions


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
    reads several pieces at once. The first piece does not wait.

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
        *(answer.usage.input_tokens, answer.usage.output_tokens, answer.usage.dollars, len(answer.tool_calls)),
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
        parser = stream_parser.StreamParser(endpoint.model, on_text)
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
    parser: stream_parser.StreamParser,
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
