"""How well dynamic selection chooses tools: on labelled turns, against all tools of the context.

A turn is complete if it has every tool that it needs, or one of each set of equal ones. What a selection lacks comes
with an escalation: first the tools of the missing one's category, then all of the context.
"""

import json
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.figures import BenchmarkFigure
from gateway.access.request_context import UserContext
from gateway.toolset.selection import candidates, heuristics, selector
from gateway.toolset.selection.candidates import get_category
from gateway.toolset.shown_tools import ToolsetRequest
from gateway.toolset.surfaces import legacy
from registry.catalog.model import FULL_VISIBILITY, Catalog, CatalogOp
from registry.help.typed_tools import TypedTools

# {"message", "context": {"type", "entity_type"?}, "needs": [tool name, or [equal ones]], "intent"}
TURNS = Path(__file__).parents[1] / "tests" / "data" / "selection_turns.jsonl"
MAX_TOKENS = 6_000  # of the definitions: the default of GATEWAY_SELECTION_TOKENS
STEPS = 2  # escalations


@dataclass(frozen=True, slots=True)
class SelectedTurn:
    """One turn: the tools selected and those of the context, with their tokens, and how many escalations it needs."""

    message: str
    context: str
    tools: int
    tokens: int
    context_tools: int
    context_tokens: int
    missing: tuple[str, ...]  # tools that the first selection lacks
    escalations: int | None  # None: no step has all that it needs


def measure_selection(catalog: Catalog) -> list[BenchmarkFigure]:
    """Return the figures of the labelled turns."""
    turns = list(replay_turns(catalog))
    project = [turn for turn in turns if turn.context == "project"]
    against = f"{len(turns)} labelled turns"
    complete = [turn for turn in turns if turn.escalations == 0]
    failed = [turn for turn in turns if turn.escalations is None]
    fewer = 1 - sum(turn.tools for turn in project) / sum(turn.context_tools for turn in project)
    tokens = statistics.fmean(turn.tokens for turn in project)
    context_tokens = statistics.fmean(turn.context_tokens for turn in project)
    return [
        BenchmarkFigure("selection.complete", round(len(complete) / len(turns), 3), "share", against),
        BenchmarkFigure("selection.failed", len(failed), "turns", f"{against}, after {STEPS} escalations"),
        BenchmarkFigure("selection.fewer_tools", round(fewer, 3), "share", f"{len(project)} turns in a project"),
        BenchmarkFigure("selection.tokens", round(tokens), "tokens", f"{context_tokens:,.0f} for all of the project"),
    ]


def replay_turns(catalog: Catalog) -> Iterator[SelectedTurn]:
    """Yield each labelled turn as heuristics select its tools."""
    tools = TypedTools.of(catalog)
    for line in TURNS.read_text().splitlines():
        turn = json.loads(line)
        context = UserContext(turn["context"]["type"], entity_type=turn["context"].get("entity_type", ""))
        request = ToolsetRequest(FULL_VISIBILITY, context, message=turn["message"])
        pool = candidates.list_candidates(catalog, request)
        plan = heuristics.plan_selection(request, pool, catalog)
        chosen = selector.compose_selection(plan, pool, catalog, request, max_tokens=MAX_TOKENS).ops
        context_ops = legacy.list_static_ops(catalog, request)
        needs = [[need] if isinstance(need, str) else need for need in turn["needs"]]
        yield SelectedTurn(
            message=turn["message"],
            context=context.type,
            tools=len(chosen),
            tokens=sum(tools[op.op].tokens for op in chosen),
            context_tools=len(context_ops),
            context_tokens=sum(tools[op.op].tokens for op in context_ops),
            missing=tuple(need[0] for need in _find_missing(needs, chosen)),
            escalations=_count_escalations(needs, chosen, context_ops, catalog),
        )


def _find_missing(needs: Sequence[Sequence[str]], ops: Sequence[CatalogOp]) -> list[Sequence[str]]:
    names = {op.tool_name for op in ops}
    return [need for need in needs if names.isdisjoint(need)]


def _count_escalations(
    needs: Sequence[Sequence[str]], chosen: Sequence[CatalogOp], context_ops: Sequence[CatalogOp], catalog: Catalog
) -> int | None:
    """Return how many steps a turn takes until it has all tools: one for each call of a missing tool, at most two."""
    shown = list(chosen)
    for step in range(STEPS + 1):
        missing = _find_missing(needs, shown)
        if not missing:
            return step
        called = catalog.find_op(missing[0][0])
        if called is None:
            return None
        category = get_category(called)
        wider = context_ops if step else [op for op in context_ops if get_category(op) == category]
        shown = [*shown, called, *wider]
    return None
