"""Render the tools and the prompt of a surface in the format of a provider."""

from dataclasses import dataclass
from typing import Any

from analytics.rollout.flags import Surface
from gateway.toolset import formats, surfaces
from gateway.toolset.shown_tools import SurfaceTools, ToolsetRequest
from registry.catalog.model import Catalog, CatalogOp
from registry.help import token_budget

MAX_CACHED_TOOLSETS = 100  # toolsets cached per catalog


@dataclass(frozen=True, slots=True)
class BuiltToolset:
    """A toolset without its token. `tool_tokens` counts the tokens of the tools that the model is shown at first."""

    tools: list[dict[str, Any]]
    ops: dict[str, dict[str, str]]  # what each tool is that stands for an op
    prompt: str
    tool_tokens: int
    left_out: tuple[str, ...]


def get_cached_toolset(surface: str, format: str, catalog: Catalog, request: ToolsetRequest) -> BuiltToolset:
    """Return the toolset of a surface, which depends on nothing but these. The request must have no message."""
    toolsets = catalog.get_or_derive(_ToolsetCache, _ToolsetCache)
    key = (surface, format, request)
    toolset = toolsets.get(key)  # one lookup: another thread may clear the cache at any time
    if toolset is None:
        if len(toolsets) >= MAX_CACHED_TOOLSETS:
            toolsets.clear()
        surface_tools = surfaces.select_tools(surface, catalog, request)
        toolset = toolsets[key] = render_toolset(surface, format, catalog, surface_tools)
    return toolset


def render_toolset(surface: str, format: str, catalog: Catalog, surface_tools: SurfaceTools) -> BuiltToolset:
    """Return the tools of a surface in a format, with its prompt and their tokens."""
    render = formats.to_native_tools if surface == Surface.NATIVE else formats.to_tools
    tools_at_first = [tool for tool in surface_tools.tools if not tool.is_deferred]
    return BuiltToolset(
        tools=render(surface_tools.tools, format),
        ops={tool.name: _describe_op(tool.op) for tool in surface_tools.tools if tool.op},
        prompt=surfaces.build_prompt(surface, catalog, surface_tools),
        tool_tokens=token_budget.count_tokens(render(tools_at_first, format)),
        left_out=surface_tools.left_out,
    )


class _ToolsetCache(dict[Any, BuiltToolset]):
    """Toolsets of one catalog, by all they depend on."""


def _describe_op(op: CatalogOp) -> dict[str, str]:
    """Return what a chat shows of a call of the op: {op, kind, entity?, action?}."""
    described = {"op": op.op, "kind": op.kind, "entity": op.entity, "action": op.action}
    return {name: value for name, value in described.items() if value}
