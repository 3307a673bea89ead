"""What a call cost, in tokens and dollars."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from core import metrics
from core.llm.tiers import Model, Tier

MILLION = 1_000_000


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
    metrics.LLM_TOKENS.labels(tier, "input").inc(usage.input_tokens)
    metrics.LLM_TOKENS.labels(tier, "output").inc(usage.output_tokens)
    metrics.LLM_DOLLARS.labels(tier).inc(float(usage.dollars))


def _read_count(counts: Mapping[str, Any], name: str) -> int:
    value = counts.get(name)
    return value if isinstance(value, int) and value > 0 else 0
