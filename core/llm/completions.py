"""Ask a model for one answer that arrives whole, and send the request again if that may help."""

import logging
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.conf import settings

from core import http, overload
from core.database.deadlines import Deadline, DeadlineExceeded
from core.llm import endpoint, spans
from core.llm.adaptation import Messages
from core.llm.endpoint import Tier, Usage, get_model, is_configured
from core.llm.errors import (
    TEMPORARY_STATUSES,
    LlmCutOff,
    LlmError,
    LlmMalformed,
    LlmNotConfigured,
    LlmRefused,
    LlmUnavailable,
)
from core.llm.markup import split_reasoning
from core.llm.stream_parser import CUT_OFF, FILTERED
from core.overload import THREE_IN_A_ROW, Overloaded
from core.text import json_text

COMPLETE = frozenset({"stop", "eos_token"})
MAX_RETRIES = 2
FIRST_WAIT_SECONDS = 0.5  # doubles with each retry
MAX_BYTES = 8_000_000  # of an answer
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, repr=False)  # no repr: an answer must not end up in logs
class Completion:
    """A complete text, and what it cost."""

    text: str
    usage: Usage


@dataclass(frozen=True, slots=True, repr=False)
class JsonCompletion:
    """A JSON object, and what it cost."""

    value: dict[str, Any]
    usage: Usage


def parse_answer(body: bytes) -> dict[str, Any]:
    """Return the JSON object of a response. Raises LlmMalformed."""
    return _parse_object(body, problem="the response is not a JSON object")


def read_text(answer: Mapping[str, Any]) -> str:
    """Return the whole text of an answer, without its reasoning. Raises LlmCutOff, LlmRefused, LlmMalformed."""
    try:
        choice = answer["choices"][0]
        message, reason = choice["message"], choice["finish_reason"]
        text, refusal = message.get("content"), message.get("refusal")
    except (AttributeError, IndexError, KeyError, TypeError):
        raise LlmMalformed("not a chat completion") from None
    if reason in CUT_OFF:
        raise LlmCutOff("the answer is longer than the endpoint allows")
    if refusal or reason in FILTERED:
        raise LlmRefused("the model refuses the content")
    text = split_reasoning(text)[0] if isinstance(text, str) else ""
    if reason not in COMPLETE or not text.strip():
        raise LlmMalformed("the answer has no complete text")
    return text


def parse_text(text: str) -> dict[str, Any]:
    """Return the JSON object in a text. Raises LlmMalformed."""
    return _parse_object(text.encode("utf-8", "surrogatepass"), problem="the answer is not a JSON object")


def _parse_object(raw: bytes, *, problem: str) -> dict[str, Any]:
    try:
        value = json_text.parse(raw)
    except json_text.NotStrictJSON:
        raise LlmMalformed(problem) from None
    if not isinstance(value, dict):
        raise LlmMalformed(problem)
    return value


def post_with_retries(url: str, *, key: str, body: Any, deadline: Deadline) -> bytes:
    """Return the body of the answer with status 200. Raises LlmUnavailable, LlmRefused, LlmMalformed."""
    for retry in range(MAX_RETRIES + 1):
        retry_after = None
        try:
            response = http.post_json(url, key=key, body=body, deadline=deadline, max_bytes=MAX_BYTES)
        except http.TooLarge:
            raise LlmMalformed("the response is too large") from None
        except (http.BadUrl, http.BadRequest, http.Untrusted) as error:
            raise LlmUnavailable(type(error).__name__) from None
        except (http.OutgoingError, DeadlineExceeded) as error:
            problem = type(error).__name__
        else:
            if response.status == 200:
                return response.body
            problem = f"status {response.status}"
            if response.status < 500 and response.status not in TEMPORARY_STATUSES:
                raise LlmRefused(problem)
            retry_after = http.parse_retry_after(response.headers.get("retry-after", ""), now=datetime.now(UTC))
        if retry == MAX_RETRIES or not _wait(choose_wait(retry, retry_after), deadline):
            raise LlmUnavailable(problem)
    raise AssertionError("unreachable: the last round returns or raises")


def choose_wait(retry: int, retry_after: float | None) -> float:
    """Return the seconds to wait: those that the endpoint asks for, or a random time that doubles with each retry."""
    if retry_after is not None:
        return retry_after
    return FIRST_WAIT_SECONDS * (1 << retry) * random.uniform(0.5, 1)


def _wait(seconds: float, deadline: Deadline) -> bool:
    """Wait, or return False immediately if the deadline comes first."""
    if time.monotonic() + seconds >= deadline.at:
        return False
    time.sleep(seconds)
    return True


def complete(messages: Messages, *, tier: Tier, purpose: str, deadline: Deadline) -> Completion:
    """Return the model's text, complete and not blank. `purpose` is a word for the log, such as merge.

    Raises an LlmError: LlmNotConfigured, LlmUnavailable after two retries, LlmRefused, LlmMalformed, LlmCutOff.
    """
    return _ask(messages, tier=tier, purpose=purpose, deadline=deadline, options={})


def complete_json(messages: Messages, *, tier: Tier, purpose: str, deadline: Deadline) -> JsonCompletion:
    """Return the JSON object that the messages ask for. They must contain the word JSON, or OpenAI refuses them.

    Raises an LlmError as `complete` does; LlmMalformed if the answer is anything other than one strict JSON object.
    """
    options = {"response_format": {"type": "json_object"}}
    answer = _ask(messages, tier=tier, purpose=purpose, deadline=deadline, options=options)
    return JsonCompletion(parse_text(answer.text), answer.usage)


def _ask(messages: Messages, *, tier: Tier, purpose: str, deadline: Deadline, options: Mapping[str, Any]) -> Completion:
    started = time.monotonic()
    try:
        with spans.trace_request(endpoint.get_endpoint(tier)) as span:
            answer = _request_completion(messages, tier=tier, deadline=deadline, options=options)
            spans.add_usage(span, answer.usage)
    except LlmNotConfigured:
        raise  # nothing was tried
    except LlmError as error:
        reason = f"{type(error).__name__}: {error}"
        log.warning("llm.failed purpose=%s tier=%s reason=%r seconds=%.1f", purpose, tier, reason, _since(started))
        raise
    spent = answer.usage
    log.info(
        "llm.completed purpose=%s tier=%s input=%d output=%d dollars=%.6f seconds=%.1f",
        purpose,
        tier,
        spent.input_tokens,
        spent.output_tokens,
        spent.dollars,
        _since(started),
    )
    return answer


def _request_completion(
    messages: Messages, *, tier: Tier, deadline: Deadline, options: Mapping[str, Any]
) -> Completion:
    if not is_configured():
        raise LlmNotConfigured("LLM_BASE_URL is not set")
    model = get_model(tier)
    guard = overload.get_guard(f"llm.{tier}", THREE_IN_A_ROW)  # quick calls must not stop those with a long deadline
    try:
        with guard.let_through(failures=(LlmUnavailable,)):
            raw = post_with_retries(
                http.build_endpoint_url(settings.LLM_BASE_URL, "/chat/completions"),
                key=settings.LLM_API_KEY,
                body={"model": model.name, "messages": list(messages), **options},
                deadline=deadline,
            )
    except Overloaded as error:
        raise LlmUnavailable(str(error)) from None
    answer = parse_answer(raw)
    spent = endpoint.read_usage(answer, model=model)
    endpoint.count_usage(spent, tier=tier)  # useless answers cost money as well
    return Completion(read_text(answer), spent)


def _since(started: float) -> float:
    return time.monotonic() - started
