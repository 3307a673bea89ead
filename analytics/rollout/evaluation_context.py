"""Evaluation context: what is known about the subject of a flag evaluation."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

Trait = str | int | float | bool

_FAMILY_PATTERN = re.compile(r"[a-z]+")
_FAMILY_ALIASES = {"o": "gpt", "chatgpt": "gpt", "codex": "gpt", "ministral": "mistral", "codestral": "mistral"}
_FAMILY_ALIASES |= {"sonnet": "claude", "opus": "claude", "haiku": "claude", "gemma": "gemini", "qwq": "qwen"}


@dataclass(frozen=True, slots=True)
class EvaluationContext:
    """A subject, and where its call comes from. Empty means unknown."""

    subject: str = ""
    client: str = ""
    environment: str = ""
    context: str = ""  # what the user is looking at: `type` of Gateway-Context
    project: str = ""
    model: str = ""
    traits: Mapping[str, Trait] = field(default_factory=dict)

    @property
    def model_family(self) -> str:
        """The model's family, such as claude."""
        return get_model_family(self.model)


@lru_cache(maxsize=1_000)
def get_model_family(model: str) -> str:
    """Return a model's family: claude for "anthropic/claude-sonnet-4-5", gpt for "gpt-4o-mini"."""
    match = _FAMILY_PATTERN.search(model.rpartition("/")[2].lower())
    return _FAMILY_ALIASES.get(match[0], match[0]) if match else ""
