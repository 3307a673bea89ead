"""Endpoints of language models: the main and the fast model, and what a call costs."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any

from django.conf import settings
from prometheus_client import Counter

MILLION = 1_000_000
LLM_TOKENS = Counter(
    "gateway_llm_tokens", "Tokens of language models, by tier (main, fast) and direction.", ["tier", "direction"]
)
LLM_DOLLARS = Counter("gateway_llm_dollars", "Price of those tokens in US dollars.", ["tier"])


class Tier(StrEnum):
    """What a call needs: the best answer, or a quick one."""

    MAIN = "main"
    FAST = "fast"


@dataclass(frozen=True, slots=True)
class Model:
    """A model by the endpoint's name, and its prices in US dollars per million tokens."""

    name: str
    input_price: Decimal
    output_price: Decimal


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An endpoint that speaks OpenAI's Chat Completions, its key, and the model to ask."""

    base_url: str
    key: str
    model: Model
    tier: Tier | None = None  # under which its usage is counted


def get_endpoint(tier: Tier) -> Endpoint:
    """Return the configured endpoint with the model of a tier."""
    return Endpoint(settings.LLM_BASE_URL, settings.LLM_API_KEY, get_model(tier), tier)


def is_configured() -> bool:
    """Return whether there is an endpoint."""
    return bool(settings.LLM_BASE_URL)


def get_model(tier: Tier) -> Model:
    """Return the model of a tier. Without LLM_FAST_MODEL, the main model serves both."""
    if tier == Tier.FAST and settings.LLM_FAST_MODEL:
        return Model(
            settings.LLM_FAST_MODEL,
            settings.LLM_FAST_DOLLARS_PER_MILLION_INPUT_TOKENS,
            settings.LLM_FAST_DOLLARS_PER_MILLION_OUTPUT_TOKENS,
        )
    return Model(
        settings.LLM_MODEL,
        settings.LLM_DOLLARS_PER_MILLION_INPUT_TOKENS,
        settings.LLM_DOLLARS_PER_MILLION_OUTPUT_TOKENS,
    )


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the endpoint counted them, and their price in US dollars. Both are 0 where it did not count."""

    input_tokens: int
    output_tokens: int
    dollars: Decimal


def read_usage(answer: Mapping[str, Any], *, model: Model) -> Usage:
    """Return the usage of an answer. Some local servers send none."""
    usage = answer.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    input_tokens, output_tokens = _read_count(counts, "prompt_tokens"), _read_count(counts, "completion_tokens")
    dollars = (input_tokens * model.input_price + output_tokens * model.output_price) / MILLION
    return Usage(input_tokens, output_tokens, dollars)


def count_usage(usage: Usage, *, tier: Tier) -> None:
    """Add the usage to the metrics."""
    LLM_TOKENS.labels(tier, "input").inc(usage.input_tokens)
    LLM_TOKENS.labels(tier, "output").inc(usage.output_tokens)
    LLM_DOLLARS.labels(tier).inc(float(usage.dollars))


def _read_count(counts: Mapping[str, Any], name: str) -> int:
    value = counts.get(name)
    return value if isinstance(value, int) and value > 0 else 0
