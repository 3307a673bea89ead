"""Compose a selection: the candidates that a plan wants, within a budget of tokens."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from gateway.toolset import shown_ops
from gateway.toolset.selection.candidates import (
    CREATE_CONTEXT,
    CREATE_PROJECT,
    ONLY_WHEN_ASKED,
    ToolCategory,
    asks_for_product,
    asks_for_web,
    get_category,
)
from gateway.toolset.selection.heuristics import Intent, SelectionMode, SelectionPlan
from gateway.toolset.shown_ops import READ_ONLY_CONTEXTS, TypedTools
from gateway.toolset.shown_tools import ToolsetRequest
from registry.catalog.model import Catalog, CatalogOp

LOW_CONFIDENCE = 0.6  # of a language model; below it, every candidate that the intent allows may be shown
MAX_REMOVED = 20  # names that are reported; the rest is a count
MAX_DROPPED = 10  # names that are reported
MAX_NAME = 40  # characters of such a name: a model made it up


@dataclass(frozen=True)
class ToolSelectionResult:
    """The tools selected for one message, and the outcome for the plan's and the context's tools. All by tool name."""

    plan: SelectionPlan
    ops: tuple[CatalogOp, ...]
    required: tuple[str, ...]
    optional: tuple[str, ...]
    added: tuple[str, ...]  # from outside the context
    removed: tuple[str, ...]  # of the context; the first of them
    removed_count: int
    dropped: tuple[str, ...]  # named by the plan, but unknown, or not for this caller or intent; the first ten

    def describe(self) -> dict[str, Any]:
        """Return the selection as toolset answers it, without latency."""
        return {
            "kind": "dynamic",
            "mode": self.plan.mode,
            "count": len(self.ops),
            "intent": self.plan.intent,
            "tool_categories": sorted(self.plan.tool_categories),
            "required": list(self.required),
            "optional": list(self.optional),
            "added": list(self.added),
            "removed": list(self.removed),
            "removed_count": self.removed_count,
            "dropped": list(self.dropped),
            "confidence": round(self.plan.confidence, 2),
            "reason": self.plan.reason,
        }


def compose_selection(
    plan: SelectionPlan, candidates: Sequence[CatalogOp], catalog: Catalog, request: ToolsetRequest, *, max_tokens: int
) -> ToolSelectionResult:
    """Return the selection for a plan: its required tools, then the optional ones that fit `max_tokens` in brief."""
    view = catalog.view_for(request.visibility)
    pool = {op.op for op in candidates}
    required, dropped = _resolve_names(plan.required_tools, catalog, view.ops)
    creation = _find_project_creation(catalog, request, plan)
    dropped += [op.tool_name for op in required if not _is_allowed(op, plan, request.message)]
    required = [op for op in required if _is_allowed(op, plan, request.message)]
    required = _drop_repeated([*creation, *required])
    required_paths = {op.op for op in required}
    optional, unknown = _resolve_names(plan.optional_tools, catalog, view.ops)
    if plan.mode == SelectionMode.LLM and plan.confidence < LOW_CONFIDENCE:
        optional += candidates
    wanted = [
        op
        for op in _drop_repeated(optional)
        if op.op not in required_paths and _is_allowed(op, plan, request.message) and _suits_context(op, request)
    ]
    usable, _ = shown_ops.split_refused(catalog, wanted)
    chosen = _fit_budget(required, usable, catalog, max_tokens)
    shown = [*required, *chosen][: shown_ops.MAX_TOOLS]
    names = {op.tool_name for op in shown}
    removed = [op.tool_name for op in candidates if op.tool_name not in names]
    return ToolSelectionResult(
        plan=plan,
        ops=tuple(shown),
        required=tuple(op.tool_name for op in required),
        optional=tuple(op.tool_name for op in chosen),
        added=tuple(op.tool_name for op in shown if op.op not in pool),
        removed=tuple(removed[:MAX_REMOVED]),
        removed_count=len(removed),
        dropped=tuple(dict.fromkeys(name[:MAX_NAME] for name in (*dropped, *unknown)))[:MAX_DROPPED],
    )


def _resolve_names(
    names: Iterable[str], catalog: Catalog, visible: frozenset[str]
) -> tuple[list[CatalogOp], list[str]]:
    """Return the ops with these names that the caller may run, and the names of no such op."""
    ops, missing = [], []
    for name in names:
        op = catalog.find_op(name)
        if op is not None and op.op in visible:
            ops.append(op)
        else:
            missing.append(name)
    return ops, missing


def _drop_repeated(ops: Iterable[CatalogOp]) -> list[CatalogOp]:
    return list({op.op: op for op in ops}.values())


def _find_project_creation(catalog: Catalog, request: ToolsetRequest, plan: SelectionPlan) -> list[CatalogOp]:
    """Return the op that creates projects where the user is about to create one, unless the message only asks."""
    is_visible = CREATE_PROJECT in catalog.view_for(request.visibility).ops
    is_about_to = request.context.type == CREATE_CONTEXT and plan.intent != Intent.READ
    return [catalog.ops[CREATE_PROJECT]] if is_about_to and is_visible else []


def _is_allowed(op: CatalogOp, plan: SelectionPlan, message: str) -> bool:
    """Whether the intent allows the op: no writes to read, and web and product help only when asked for."""
    if op.is_write and plan.intent == Intent.READ:
        return False
    category = get_category(op)
    if category not in ONLY_WHEN_ASKED or category in plan.tool_categories:
        return True
    asks = asks_for_web if category == ToolCategory.WEB else asks_for_product
    return asks(message)


def _suits_context(op: CatalogOp, request: ToolsetRequest) -> bool:
    """Whether the op may be shown without being required: audits and forecasts change nothing."""
    return not (op.is_write and request.context.type in READ_ONLY_CONTEXTS)


def _fit_budget(
    required: Sequence[CatalogOp], optional: Sequence[CatalogOp], catalog: Catalog, max_tokens: int
) -> list[CatalogOp]:
    """Return the optional ops whose brief definitions fit beside the whole ones of the required ops."""
    tools = TypedTools.of(catalog)
    tokens_left = max_tokens - sum(tools[op.op].tokens for op in required)
    chosen = []
    for op in optional:
        cost = tools[op.op].brief_tokens
        if cost <= tokens_left:
            chosen.append(op)
            tokens_left -= cost
    return chosen
