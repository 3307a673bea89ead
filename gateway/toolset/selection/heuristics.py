"""Plan a selection without a model: by the verbs and kinds of rows in a message, and by the search of ops."""

import re
from collections.abc import Iterable

from gateway.toolset.selection.candidates import CREATE_PROJECT, find_named_entities
from gateway.toolset.selection.categories import ToolCategory, get_category
from gateway.toolset.selection.plan import Intent, SelectionMode, SelectionPlan
from registry import search
from registry.catalog.model import Catalog, CatalogOp, CatalogView
from registry.search import intent, tokenizer

MAX_FOUND = 12  # ops of a search that count
MAX_REQUIRED = 2  # of them that are always shown
SURE, UNSURE = 0.7, 0.4  # confidence
WRITES = frozenset((intent.CREATE, intent.UPDATE, intent.DELETE))
LOOKUP_ACTIONS = ("search", "list", "get")  # how a row that a message names is found

_ASKS_WEB = re.compile(
    r"https?://|www\.|\b(?:web|internet|online|google|website of|look up|research|news|recherchier\w*|im netz)\b",
    re.IGNORECASE,
)
_ASKS_PRODUCT = re.compile(
    r"\b(?:what can you|how do(?:es)? (?:this|you|it)|how can you|what are you|your (?:features|abilities)|"
    r"what is this|this (?:app|tool|product|workspace)|help me use|get started|user guide|tutorial|was kannst du)\b",
    re.IGNORECASE,
)


def plan_selection(message: str, candidates: Iterable[CatalogOp], catalog: Catalog, view: CatalogView) -> SelectionPlan:
    """Return the plan for a message. The same message and candidates give the same plan."""
    pool = {op.op: op for op in candidates}
    wanted_intent, is_sure = detect_intent(message)
    found = search.find_ops(catalog, view, message, limit=MAX_FOUND, use_endpoint=False)
    found_ops = [catalog.ops[path] for path in found]
    ranked = [op for op in found_ops if wanted_intent != Intent.READ or not op.is_write]
    entities = find_named_entities(message) | {op.entity for op in ranked[:3] if op.entity}
    companions = [op for op in pool.values() if _is_companion(op, entities, wanted_intent, message)]
    ordered = {op.op: op.tool_name for op in (*ranked, *sorted(companions, key=_companion_order))}
    required = [op for op in ranked if op.op in pool][:MAX_REQUIRED]
    if intent.CREATE in _list_actions(message) and "project" in entities and CREATE_PROJECT in catalog.ops:
        required.insert(0, catalog.ops[CREATE_PROJECT])
    required_paths = {op.op for op in required}
    confidence = SURE if is_sure and found else UNSURE
    categories = {get_category(op) for op in (*required, *companions)} | _list_asked_categories(message)
    return SelectionPlan(
        mode=SelectionMode.HEURISTIC,
        intent=wanted_intent,
        tool_categories=frozenset(categories),
        required_tools=tuple(dict.fromkeys(op.tool_name for op in required)),
        optional_tools=tuple(name for path, name in ordered.items() if path not in required_paths),
        confidence=confidence,
        reason=f"{wanted_intent} of {', '.join(sorted(entities)) or 'no kind that is named'}",
    )


def detect_intent(message: str) -> tuple[Intent, bool]:
    """Return what a message asks for, and whether that is sure. A message without a known verb may want anything."""
    actions = _list_actions(message)
    writes = [action for action in actions if action in WRITES]
    if writes:
        return (Intent.MIXED if intent.READ in actions else Intent.WRITE), True
    if actions and all(action == intent.READ for action in actions):
        return Intent.READ, True
    return Intent.MIXED, False


def asks_for_web(message: str) -> bool:
    """Whether a message asks for something outside the workspace."""
    return _ASKS_WEB.search(message) is not None


def asks_for_product(message: str) -> bool:
    """Whether a message asks what the product is or can do."""
    return _ASKS_PRODUCT.search(message) is not None


def _list_actions(message: str) -> list[str]:
    """Return the action of each clause of a message: create, read, update, delete, or "" if it has no known verb."""
    clauses = tokenizer.split_clauses(message) or [message]
    return [intent.detect_request_action(tokenizer.split_words(clause)) for clause in clauses]


def _is_companion(op: CatalogOp, entities: set[str], wanted: Intent, message: str) -> bool:
    """Whether an op belongs to the kinds of rows that a message is about: its lookups, and its writes if it writes."""
    if op.entity not in entities:
        return False
    if not op.is_write:
        return op.action in LOOKUP_ACTIONS
    return wanted != Intent.READ and (not WRITES & set(_list_actions(message)) or op.action in ("create", "update"))


def _companion_order(op: CatalogOp) -> tuple[int, str]:
    order = ("search", "update", "get", "list", "create", "delete")
    return (order.index(op.action) if op.action in order else len(order), op.op)


def _list_asked_categories(message: str) -> set[ToolCategory]:
    asked = {ToolCategory.WEB: asks_for_web(message), ToolCategory.PRODUCT_HELP: asks_for_product(message)}
    return {category for category, is_asked in asked.items() if is_asked}
