"""What the legacy surface shows: all tools of the context, or those that the message needs."""

import logging
import time
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings

from analytics.flags import DYNAMIC, STATIC, Surface
from core import logs
from gateway.toolset import rendering
from gateway.toolset.rendering import BuiltToolset
from gateway.toolset.selection import candidates, selector
from gateway.toolset.selection.analyzer import StrategyAnalyzer
from gateway.toolset.selection.heuristics import SelectionMode
from gateway.toolset.shown_tools import ToolsetRequest
from gateway.toolset.surfaces import legacy
from registry.catalog.model import Catalog, CatalogOp

log = logging.getLogger(__name__)

# Parts of a selection that its token carries, for escalation and reports. The rest is derived from the release.
SUMMARY_FIELDS = ("kind", "mode", "intent", "tool_categories", "required", "optional", "added", "dropped", "confidence")

analyzer = StrategyAnalyzer()


@dataclass(frozen=True)
class SelectedToolset:
    """A toolset, and how its tools were selected."""

    toolset: BuiltToolset
    selection: dict[str, Any] = field(default_factory=dict)

    def get_summary(self) -> dict[str, Any]:
        """Return the parts of the selection that its token carries."""
        fields = (*SUMMARY_FIELDS, "latency_ms", "step")
        return {name: self.selection[name] for name in fields if name in self.selection}


def describe_static(toolset: BuiltToolset) -> SelectedToolset:
    """Return the toolset of a whole context with its selection."""
    return SelectedToolset(toolset, {"kind": STATIC, "count": len(toolset.tools), **_describe_left_out(toolset)})


def select_dynamically(request: ToolsetRequest, format: str, catalog: Catalog, *, turn: Hashable) -> SelectedToolset:
    """Return the tools that the request's message needs. Without a message, or if that fails, all of the context."""
    started = time.perf_counter()
    reason = "There is no message."
    if request.message.strip():
        try:
            return _select_for_message(request, format, catalog, turn=turn, started=started)
        except Exception as error:  # a turn with all tools is better than none
            log.error("selection.failed\n%s", logs.format_safely(error))
            reason = "The selection failed."
    toolset = show_ops(legacy.list_static_ops(catalog, request), format, catalog)
    selection = {"kind": DYNAMIC, "mode": SelectionMode.DEFAULT, "count": len(toolset.tools), "reason": reason}
    return SelectedToolset(toolset, selection | _describe_left_out(toolset))


def show_ops(ops: Sequence[CatalogOp], format: str, catalog: Catalog, *, brief: Collection[str] = ()) -> BuiltToolset:
    """Return some ops as a toolset of the legacy surface; those named in `brief` with their brief definitions."""
    return rendering.render_toolset(Surface.LEGACY, format, catalog, legacy.show_ops(catalog, ops, brief=brief))


def _select_for_message(
    request: ToolsetRequest, format: str, catalog: Catalog, *, turn: Hashable, started: float
) -> SelectedToolset:
    pool = candidates.list_candidates(catalog, request)
    plan = analyzer.analyze(request, pool, catalog, turn=turn)
    result = selector.compose_selection(plan, pool, catalog, request, max_tokens=settings.GATEWAY_SELECTION_TOKENS)
    toolset = show_ops(result.ops, format, catalog, brief=result.optional)
    latency = {"latency_ms": round((time.perf_counter() - started) * 1000, 1)}
    return SelectedToolset(toolset, result.describe() | latency | _describe_left_out(toolset))


def _describe_left_out(toolset: BuiltToolset) -> dict[str, Any]:
    return {"left_out": list(toolset.left_out)} if toolset.left_out else {}
