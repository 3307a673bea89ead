"""Why a model gave no usable answer, and how to tell that from the response of an endpoint."""

import re
from enum import StrEnum
from typing import Any

import orjson

from core.llm.endpoint import Usage

MAX_PROBLEM = 4_000  # characters of an error that are searched
TEMPORARY_STATUSES = frozenset({408, 409, 425, 429})  # and all from 500; those that OpenAI's clients retry
DENIED_STATUSES = frozenset({401, 402, 403, 404})  # key, credit, permission, model
RATE_LIMITED, TOO_LARGE = 429, 413
_TOO_LONG = re.compile(
    r"context[_ ](length|window|size)|context_size|maximum context|too many (input )?tokens|reduce the length"
    r"|(prompt|input|request|messages?) (is|are)? ?too (long|large)|exceeds? the .{0,40}(context|tokens)"
)
_OUT_OF_MONEY = re.compile(r"insufficient_quota|exceeded your current quota|insufficient (balance|credits)")


class LlmError(Exception):
    """The model gave no usable answer."""


class LlmNotConfigured(LlmError):
    """LLM_BASE_URL is not set."""


class LlmUnavailable(LlmError):
    """The endpoint did not answer in time, or says that it cannot do so now. The same call may succeed later."""


class LlmBusy(LlmUnavailable):
    """The endpoint asks for a longer wait than a caller can take. `seconds` is that wait."""

    def __init__(self, problem: str, *, seconds: float) -> None:
        super().__init__(problem)
        self.seconds = seconds


class LlmSilent(LlmUnavailable):
    """The endpoint accepted the request and sent nothing for too long."""


class LlmRefused(LlmError):
    """The endpoint refuses the request (a wrong key, an unknown model), or the model the content."""


class LlmDenied(LlmRefused):
    """The endpoint does not take the key or does not have the model: an administrator has to change a setting."""


class LlmTooLong(LlmRefused):
    """The messages do not fit in the model's context."""


class LlmFiltered(LlmRefused):
    """A filter of the provider stopped the answer, which costs what was read and written until then."""

    def __init__(self, problem: str, *, usage: Usage | None = None) -> None:
        super().__init__(problem)
        self.usage = usage


class LlmMalformed(LlmError):
    """The answer is not what the protocol or the caller asked for."""


class EmptyReason(StrEnum):
    """Why an answer has nothing for the user."""

    SILENCE = "silence"  # neither text nor a call
    REASONING = "reasoning"  # it reached its limit before it began
    UNREAD_CALL = "unread_call"  # a call of a tool as text, which cannot be run


class LlmEmpty(LlmError):
    """The model was asked twice, and both answers had nothing for the user."""

    def __init__(self, reason: EmptyReason) -> None:
        super().__init__(reason)
        self.reason = reason


class LlmCutOff(LlmError):
    """The answer ended at a length limit."""


class LlmAborted(LlmError):
    """The caller ended the call."""


def read_problem(body: Any) -> str:
    """Return the words and codes of an error's body in lower case, empty if there are none.

    They can quote the messages, so they must not end up in logs.
    """
    if isinstance(body, bytes):
        try:
            body = orjson.loads(body)
        except orjson.JSONDecodeError:
            body = body.decode("utf-8", "replace")
    return " ".join(_list_words(body, depth=4)).lower()[:MAX_PROBLEM]


def _list_words(value: Any, *, depth: int) -> list[str]:
    if isinstance(value, str):
        return [value]
    if depth and isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return [word for each in inner for word in _list_words(each, depth=depth - 1)]
    return []


def classify_problem(problem: str, *, status: int) -> LlmError:
    """Return the error for a response that is no answer. `status` is 0 for an error within a stream.

    LlmUnavailable means that the same request can be sent again.
    """
    text = f"status {status}" if status else "the endpoint reports an error"
    if _OUT_OF_MONEY.search(problem):
        return LlmDenied(f"{text}: no credit")
    if status == TOO_LARGE or (status != RATE_LIMITED and _TOO_LONG.search(problem)):
        return LlmTooLong(text)
    if "content_filter" in problem or "content management policy" in problem:
        return LlmFiltered(text)
    if status in DENIED_STATUSES:
        return LlmDenied(text)
    if 0 < status < 500 and status not in TEMPORARY_STATUSES:
        return LlmRefused(text)
    return LlmUnavailable(text)
