"""Render the tools and the prompt of a surface in the format of a model provider."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from analytics.flags import Surface
from core.text import token_budget
from gateway.toolset import surfaces
from gateway.toolset.shown_tools import ShownTool, SurfaceTools, ToolsetRequest
from registry.catalog.model import Catalog, CatalogOp

ToolDefinition = dict[str, Any]
NATIVE_FORMATS = ("openai", "anthropic")  # of providers with tool search
MAX_CACHED_TOOLSETS = 100  # toolsets cached per catalog


def to_openai(tool: ShownTool) -> ToolDefinition:
    """Return a function of Chat Completions (openai: ChatCompletionToolParam)."""
    function: ToolDefinition = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    if tool.strict_parameters is not None:
        function |= {"parameters": tool.strict_parameters, "strict": True}
    return {"type": "function", "function": function}


def to_openai_responses(tool: ShownTool) -> ToolDefinition:
    """Return a tool of the Responses API, which has tool search (openai: ToolSearchToolParam, FunctionToolParam)."""
    if tool.is_search:
        return {
            "type": "tool_search",
            "execution": "client",
            "description": tool.description,
            "parameters": tool.parameters,
        }
    is_strict = tool.strict_parameters is not None
    definition: ToolDefinition = {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.strict_parameters if is_strict else tool.parameters,
        "strict": is_strict,
    }
    if tool.is_deferred:
        definition["defer_loading"] = True
    return definition


def to_anthropic(tool: ShownTool) -> ToolDefinition:
    """Return a tool of the Messages API (anthropic: ToolParam)."""
    definition: ToolDefinition = {
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.parameters,
    }
    if tool.strict_parameters is not None:
        definition |= {"input_schema": tool.strict_parameters, "strict": True}
    if tool.is_deferred:
        definition["defer_loading"] = True
    if tool.examples:
        definition["input_examples"] = list(tool.examples)
    return definition


def to_mcp(tool: ShownTool) -> ToolDefinition:
    """Return a tool of the Model Context Protocol (mcp: Tool), which has no strict mode."""
    return {"name": tool.name, "description": tool.description, "inputSchema": tool.parameters}


FORMATS: dict[str, Callable[[ShownTool], ToolDefinition]] = {
    "openai": to_openai,
    "anthropic": to_anthropic,
    "mcp": to_mcp,
}


def to_tools(tools: Sequence[ShownTool], format: str) -> list[ToolDefinition]:
    """Return tools in the format of a provider."""
    return [FORMATS[format](tool) for tool in tools]


def to_native_tools(tools: Sequence[ShownTool], format: str) -> list[ToolDefinition]:
    """Return the tools of a request to a provider with tool search.

    OpenAI gets the search alone, and the definitions of what it finds with its result. Anthropic gets all definitions,
    and shows the model those that the result refers to.
    """
    if format == "openai":
        return [to_openai_responses(tool) for tool in tools if tool.is_search]
    return [to_anthropic(tool) for tool in tools]


def to_native_results(tools: Sequence[ShownTool], format: str) -> list[ToolDefinition]:
    """Return the tools that a search found, as the provider takes them as its result.

    openai: the `tools` of a tool_search_output. anthropic: the `content` of a tool_result (ToolReferenceBlockParam).
    """
    if format == "openai":
        return [to_openai_responses(tool) for tool in tools]
    return [{"type": "tool_reference", "tool_name": tool.name} for tool in tools]


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
    render = to_native_tools if surface == Surface.NATIVE else to_tools
    tools_at_first = [tool for tool in surface_tools.tools if not tool.is_deferred]
    return BuiltToolset(
        tools=render(surface_tools.tools, format),
        ops={tool.name: _describe_op(tool.op) for tool in surface_tools.tools if tool.op},
        prompt=surfaces.build_prompt(surface, catalog, surface_tools),
        tool_tokens=token_budget.count_json(render(tools_at_first, format)),
        left_out=surface_tools.left_out,
    )


class _ToolsetCache(dict[Any, BuiltToolset]):
    """Toolsets of one catalog, by all they depend on."""


def _describe_op(op: CatalogOp) -> dict[str, str]:
    """Return what a chat shows of a call of the op: {op, kind, entity?, action?}."""
    described = {"op": op.op, "kind": op.kind, "entity": op.entity, "action": op.action}
    return {name: value for name, value in described.items() if value}
