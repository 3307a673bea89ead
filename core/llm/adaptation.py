"""What an endpoint does not take of an ordinary request. It is found out from a refusal, which costs no tokens."""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from django.conf import settings

from core.llm.endpoint import Endpoint
from core.llm.errors import LlmError, LlmTooLong
from core.llm.stream_parser import REASONING

Messages = Sequence[Mapping[str, Any]]  # such as {"role": "system", "content": "…"}


class Quirk(StrEnum):
    """What an endpoint needs otherwise."""

    ONE_SYSTEM_MESSAGE = "one_system_message"  # at the beginning
    NO_REASONING_ROOM = "no_reasoning_room"  # its context, or its longest answer, is too small for that
    OLD_LIMIT = "old_limit"  # max_tokens, as before models reasoned
    NO_STREAM_OPTIONS = "no_stream_options"
    WANTS_REASONING = "wants_reasoning"  # the reasoning before a call comes back with the call


NO_QUIRKS: frozenset[Quirk] = frozenset()
_SYSTEM_ROLE = re.compile(
    r"system.{0,40}(beginning|first|start|only|once|multiple|more than one)|(only|multiple) .{0,20}system"
    r"|(unexpected|expected|last|invalid) .{0,80}system|roles? must alternate"
)
_TOKEN_LIMIT = re.compile(r"max_(completion_)?tokens|completion tokens|output tokens")
_UNKNOWN = re.compile(
    r"unsupported|unknown|unrecognized|unexpected|not (supported|permitted|allowed)|extra (inputs|fields)"
)
_quirks: dict[tuple[str, str], frozenset[Quirk]] = {}  # by base URL and model, in this process


def get_quirks(endpoint: Endpoint) -> frozenset[Quirk]:
    """Return what is known of an endpoint and its model."""
    return _quirks.get((endpoint.base_url, endpoint.model.name), NO_QUIRKS)


def remember_quirks(endpoint: Endpoint, quirks: frozenset[Quirk]) -> None:
    """Remember with what an endpoint has accepted a request."""
    _quirks[endpoint.base_url, endpoint.model.name] = quirks


def find_quirk(error: LlmError, problem: str, messages: Messages) -> Quirk | None:
    """Return what a refusal says about the endpoint; None if nothing helps. `problem` are the words of its body."""
    is_limit_too_large = _TOKEN_LIMIT.search(problem) and not _UNKNOWN.search(problem)
    if isinstance(error, LlmTooLong) or is_limit_too_large:
        return Quirk.NO_REASONING_ROOM if settings.LLM_REASONING_TOKENS else None
    if "max_completion_tokens" in problem:
        return Quirk.OLD_LIMIT
    if "stream_options" in problem or "include_usage" in problem:
        return Quirk.NO_STREAM_OPTIONS
    if REASONING in problem and any(each.get(REASONING) for each in messages):
        return Quirk.WANTS_REASONING
    if _SYSTEM_ROLE.search(problem) and any(each["role"] == "system" for each in messages[1:]):
        return Quirk.ONE_SYSTEM_MESSAGE
    return None


def build_body(
    endpoint: Endpoint,
    messages: Messages,
    *,
    tools: Sequence[Mapping[str, Any]],
    max_tokens: int,
    quirks: frozenset[Quirk],
) -> dict[str, Any]:
    """Return the body of a request for a stream. `max_tokens` is for the answer, without the room for reasoning."""
    room = 0 if Quirk.NO_REASONING_ROOM in quirks else settings.LLM_REASONING_TOKENS
    limit = "max_tokens" if Quirk.OLD_LIMIT in quirks else "max_completion_tokens"
    sent = [dict(each) for each in messages]
    if Quirk.WANTS_REASONING not in quirks:
        sent = [{name: value for name, value in each.items() if name != REASONING} for each in sent]
    if Quirk.ONE_SYSTEM_MESSAGE in quirks:
        sent = fold_system_messages(sent)
    body = {"model": endpoint.model.name, "messages": sent, limit: max_tokens + room, "stream": True}
    if Quirk.NO_STREAM_OPTIONS not in quirks:
        body["stream_options"] = {"include_usage": True}
    return body | ({"tools": list(tools)} if tools else {})


def fold_system_messages(messages: Messages) -> list[dict[str, Any]]:
    """Return the messages with one of the system, at the beginning, and none of the user after another.

    A later one becomes the end of the message of the user or the result before it, or the beginning of the next one.
    """
    folded: list[dict[str, Any]] = []
    for message in map(dict, messages):
        last = folded[-1] if folded else None
        if message["role"] == "system" and last is not None and last["role"] == "assistant":
            message["role"] = "user"
        is_note = message["role"] == "system" and last is not None
        if last is not None and (is_note or message["role"] == last["role"] == "user"):
            last["content"] = f"{last['content']}\n\n{message['content']}"
        else:
            folded.append(message)
    return folded


def drop_history(messages: Messages) -> list[Mapping[str, Any]]:
    """Return the messages without earlier turns: those of the system, and all from the user's last one on."""
    last = max((at for at, each in enumerate(messages) if each["role"] == "user"), default=0)
    return [each for at, each in enumerate(messages) if at >= last or each["role"] == "system"]
