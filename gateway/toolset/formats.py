"""Convert the tools of a surface to the format of a model provider."""

from collections.abc import Callable, Sequence
from typing import Any

from gateway.toolset.shown_tools import ShownTool

ToolDefinition = dict[str, Any]


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


NATIVE_FORMATS = ("openai", "anthropic")  # of providers with tool search


def to_tools(tools: Sequence[ShownTool], format: str) -> list[ToolDefinition]:
    """Return tools in the format of a provider."""
    return [FORMATS[format](tool) for tool in tools]


def to_native_tools(tools: Sequence[ShownTool], format: str) -> list[ToolDefinition]:
    """Return what a request to a provider with tool search has as tools.

    OpenAI gets the search alone, and the definitions of what it finds with its result. Anthropic gets all definitions,
    of which it shows the model those that the result refers to.
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
