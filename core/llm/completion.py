"""The answer of a model: read from the endpoint's response, or refused."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core import strict_json
from core.llm.errors import LlmCutOff, LlmMalformed, LlmRefused
from core.llm.usage import Usage

# `finish_reason`: OpenAI has stop and length, text-generation-inference eos_token, and Mistral model_length.
COMPLETE = frozenset({"stop", "eos_token"})
CUT_OFF = frozenset({"length", "model_length", "max_tokens"})


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
    """Return the whole text of an answer. Raises LlmCutOff, LlmRefused, LlmMalformed."""
    try:
        choice = answer["choices"][0]
        message, reason = choice["message"], choice["finish_reason"]
        text, refusal = message.get("content"), message.get("refusal")
    except (AttributeError, IndexError, KeyError, TypeError):
        raise LlmMalformed("not a chat completion") from None
    if reason in CUT_OFF:
        raise LlmCutOff("the answer is longer than the endpoint allows")
    if refusal or reason == "content_filter":
        raise LlmRefused("the model refuses the content")
    if reason not in COMPLETE or not isinstance(text, str) or not text.strip():
        raise LlmMalformed("the answer has no complete text")
    return text


def parse_text(text: str) -> dict[str, Any]:
    """Return the JSON object that is a text. Raises LlmMalformed."""
    return _parse_object(text.encode("utf-8", "surrogatepass"), problem="the answer is not a JSON object")


def _parse_object(raw: bytes, *, problem: str) -> dict[str, Any]:
    try:
        value = strict_json.loads(raw)
    except strict_json.NotStrictJSON:
        raise LlmMalformed(problem) from None
    if not isinstance(value, dict):
        raise LlmMalformed(problem)
    return value
