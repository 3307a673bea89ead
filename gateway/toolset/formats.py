"""Convert a tool {name, description, parameters} to the format of a model provider."""

from collections.abc import Callable
from typing import Any

ToolDefinition = dict[str, Any]


def to_openai(tool: ToolDefinition) -> ToolDefinition:
    """Return a function of Chat Completions (openai: ChatCompletionToolParam)."""
    return {"type": "function", "function": tool}


def to_anthropic(tool: ToolDefinition) -> ToolDefinition:
    """Return a tool of the Messages API (anthropic: ToolParam)."""
    return {"name": tool["name"], "description": tool["description"], "input_schema": tool["parameters"]}


def to_mcp(tool: ToolDefinition) -> ToolDefinition:
    """Return a tool of the Model Context Protocol (mcp: Tool)."""
    return {"name": tool["name"], "description": tool["description"], "inputSchema": tool["parameters"]}


FORMATS: dict[str, Callable[[ToolDefinition], ToolDefinition]] = {
    "openai": to_openai,
    "anthropic": to_anthropic,
    "mcp": to_mcp,
}
