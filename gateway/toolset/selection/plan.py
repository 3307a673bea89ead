"""The plan of a selection: what a message wants, as the analyzer says."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from gateway.toolset.selection.categories import ToolCategory


class Intent(StrEnum):
    """Whether a message asks to read, to write, or both."""

    READ = "read"
    WRITE = "write"
    MIXED = "mixed"


class SelectionMode(StrEnum):
    """What decided: a model, heuristics, or nothing, so that the tools of the context stay."""

    LLM = "llm"
    HEURISTIC = "heuristic"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class SelectionPlan:
    """What a message wants. Tools are named by tool name, the best first; `confidence` is from 0 to 1."""

    mode: SelectionMode
    intent: Intent
    tool_categories: frozenset[ToolCategory]
    required_tools: tuple[str, ...]
    optional_tools: tuple[str, ...]
    confidence: float
    reason: str = ""


PLAN_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "intent": {"type": "string", "enum": list(Intent)},
        "tool_categories": {"type": "array", "items": {"type": "string", "enum": list(ToolCategory)}},
        "required_tools": {"type": "array", "items": {"type": "string"}, "maxItems": 40},
        "optional_tools": {"type": "array", "items": {"type": "string"}, "maxItems": 60},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        "reason": {"type": "string"},
    },
    "required": ["intent", "tool_categories", "required_tools", "optional_tools", "confidence"],
}
