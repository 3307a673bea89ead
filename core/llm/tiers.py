"""Which model answers: the main one, or the fast one for small decisions on the way."""

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from django.conf import settings


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
