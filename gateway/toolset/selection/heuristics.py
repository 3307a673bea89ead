"""Plan a selection without a model, by verbs and kinds of rows in a message and by search."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from core.text import english
from gateway.toolset.selection.candidates import (
    CREATE_PROJECT,
    PRODUCT_NAMES,
    ToolCategory,
    find_named_entities,
    get_category,
    get_focus,
)
from gateway.toolset.shown_ops import resolve_context
from gateway.toolset.shown_tools import ToolsetRequest
from registry import search
from registry.catalog.model import Catalog, CatalogOp
from registry.search import intent, tokenizer

MAX_FOUND = 12  # ops of a search that count
MAX_SURE_FOUND = 5  # of them that come before the tools that a context nearly always needs
MAX_REQUIRED = 2  # of them that are always shown
SURE, UNSURE = 0.7, 0.4  # confidence
WRITES = frozenset((intent.CREATE, intent.UPDATE, intent.DELETE))

# The kinds of rows that messages of a context are nearly always about, and what is done with them.
_MAIN_ENTITIES = {
    "project": ("task", "project"),
    "global": ("task", "project", "event"),
    "project_audit": ("task", "project"),
    "project_forecast": ("task", "milestone"),
}
_MAIN_ACTIONS = ("search", "list", "get", "update", "create")
_COMPANION_ACTIONS = ("get", "search", "list", "update", "create", "delete")

_WORD = re.compile(r"\w+")
_WEB_ADDRESS = re.compile(r"https?://|www\.", re.IGNORECASE)


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


def plan_selection(request: ToolsetRequest, candidates: Sequence[CatalogOp], catalog: Catalog) -> SelectionPlan:
    """Return the plan for a request's message. The same request and candidates give the same plan."""
    message = request.message
    wanted, is_sure = detect_intent(message)
    focus = get_focus(request.context)
    view = catalog.view_for(request.visibility)
    found_paths = search.find_ops(catalog, view, message, limit=MAX_FOUND, use_endpoint=False)
    found = [catalog.ops[path] for path in found_paths]
    found = [op for op in found if wanted != Intent.READ or not op.is_write]
    entities = find_named_entities(message, catalog) | {op.entity for op in found[:3]} | {focus}
    main = _list_ops_of(_MAIN_ENTITIES.get(resolve_context(request.context.type), ()), _MAIN_ACTIONS, candidates)
    search_of_all = [op for op in candidates if op.action == "search" and not op.entity]
    of_focus = _list_ops_of([focus], _COMPANION_ACTIONS, candidates)
    companions = _list_ops_of(sorted(entities - {"", focus}), _COMPANION_ACTIONS, candidates)
    asked = _list_asked_categories(message)
    of_asked = [op for op in candidates if get_category(op) in asked]
    ordered = [*found[:MAX_SURE_FOUND], *of_asked, *of_focus, *search_of_all, *main, *companions]
    ordered += found[MAX_SURE_FOUND:]
    pool = {op.op for op in candidates}
    required = [op for op in found if op.op in pool or get_category(op) in asked][:MAX_REQUIRED]
    if intent.CREATE in _list_actions(message) and "project" in entities and CREATE_PROJECT in view.ops:
        required.insert(0, catalog.ops[CREATE_PROJECT])
    return SelectionPlan(
        mode=SelectionMode.HEURISTIC,
        intent=wanted,
        tool_categories=frozenset({get_category(op) for op in required} | asked),
        required_tools=tuple(dict.fromkeys(op.tool_name for op in required)),
        optional_tools=tuple(dict.fromkeys(op.tool_name for op in ordered)),
        confidence=SURE if is_sure and found else UNSURE,
        reason=f"{wanted}: {', '.join(sorted(entities - {''})) or 'no kind of row is named'}",
    )


def detect_intent(message: str) -> tuple[Intent, bool]:
    """Return what a message asks for, and whether that is sure. A message without a known verb may want anything."""
    actions = _list_actions(message)
    reads = intent.READ in actions
    if any(action in WRITES for action in actions):
        return (Intent.MIXED if reads else Intent.WRITE), True
    if english.ASKS_CHANGE.search(message):
        return Intent.MIXED, False
    if actions and all(action == intent.READ for action in actions):
        return Intent.READ, True
    return Intent.MIXED, False


def asks_for_web(message: str) -> bool:
    """Whether a message may ask for something outside the workspace."""
    return bool(_WEB_ADDRESS.search(message) or english.ASKS_WEB.search(message))


def asks_for_product(message: str) -> bool:
    """Whether a message may ask what the product is or can do, or names it."""
    return english.ASKS_PRODUCT.search(message) is not None or not PRODUCT_NAMES.isdisjoint(
        _WORD.findall(message.lower())
    )


def _list_actions(message: str) -> list[str]:
    """Return the action of each clause of a message: create, read, update, delete, or "" if it has no known verb."""
    clauses = tokenizer.split_clauses(message) or [message]
    # In lower case, so that BuildOS is one word and not the verb of a request to build.
    return [intent.detect_request_action(tokenizer.split_words(clause.lower())) for clause in clauses]


def _list_ops_of(entities: Sequence[str], actions: Sequence[str], candidates: Sequence[CatalogOp]) -> list[CatalogOp]:
    """Return the candidates that do one of the actions with one of the entities, in the order of the actions."""
    ops = [op for op in candidates if op.entity and op.entity in entities and op.action in actions]
    return sorted(ops, key=lambda op: (actions.index(op.action), entities.index(op.entity)))


def _list_asked_categories(message: str) -> set[ToolCategory]:
    asked = {ToolCategory.WEB: asks_for_web(message), ToolCategory.PRODUCT_HELP: asks_for_product(message)}
    return {category for category, is_asked in asked.items() if is_asked}
