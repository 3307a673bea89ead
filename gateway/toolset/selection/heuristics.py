"""Plan a selection without a model: by what the messages ask for, the kinds of rows that they name, and search."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from gateway.toolset.selection import finders, main_ops
from gateway.toolset.selection.candidates import CREATE_CONTEXT, ToolCategory, get_category
from gateway.toolset.selection.evidence import Evidence
from gateway.toolset.selection.message_intent import Intent
from gateway.toolset.shown_tools import ToolsetRequest
from registry.catalog.model import Catalog, CatalogOp

SURE, UNSURE = 0.7, 0.4  # confidence
MAX_BEST = 2  # best reads and writes that are always shown, with what they need first
CLOSE_SHARE = 0.7  # of the best write's score, for the second to be shown, too
MAX_FOR_CHAT = 4  # ops for a message that asks for nothing
LEAST_SHARE = 0.35  # of the best score


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


def plan_selection(request: ToolsetRequest, candidates: Sequence[CatalogOp], catalog: Catalog) -> SelectionPlan:
    """Return the plan for a conversation. The same request and candidates give the same plan."""
    evidence = Evidence(request, candidates, catalog)
    asked, ranked = evidence.asked, evidence.ranked
    if asked.is_chat and request.context.type == CREATE_CONTEXT:
        asked = replace(asked, intent=Intent.MIXED)
    elif asked.is_chat:
        ranked = ranked[:MAX_FOR_CHAT]
    writes = [op for op in ranked if op.is_write][:MAX_BEST]
    writes = [op for op in writes if evidence.scores[op.op] >= CLOSE_SHARE * evidence.scores[writes[0].op]]
    reads = [op for op in ranked if not op.is_write][:MAX_BEST]
    required = [
        *evidence.list_certain(),
        *writes,
        *main_ops.list_topical(evidence),
        *main_ops.list_main_writes(evidence),
        *(() if asked.intent == Intent.WRITE else reads),
        *(() if asked.intent == Intent.WRITE or asked.is_chat else main_ops.list_main_reads(evidence)),
    ]
    least = LEAST_SHARE * evidence.scores[ranked[0].op] if ranked else 0
    known = evidence.known_entities
    required += () if asked.is_chat else evidence.list_searches()
    required += [finder for op in required for finder in finders.list_finders(op, catalog, known=known)]
    visible = catalog.view_for(request.visibility).ops
    required = [op for op in required if op.op in visible]
    return SelectionPlan(
        mode=SelectionMode.HEURISTIC,
        intent=asked.intent,
        tool_categories=frozenset({get_category(op) for op in required} | evidence.asked_categories),
        required_tools=tuple(dict.fromkeys(op.tool_name for op in required)),
        optional_tools=tuple(op.tool_name for op in ranked if evidence.scores[op.op] >= least),
        confidence=SURE if asked.is_known_language and (asked.is_sure or evidence.is_follow_up) else UNSURE,
        reason=f"{asked.intent}: {', '.join(sorted(evidence.named)) or 'no kind of row is named'}",
    )
