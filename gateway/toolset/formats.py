"""Convert a tool {name, description, parameters} to the format of a model provider."""

from collections.abc import Callable
from typing import Any

Tool = dict[str, Any]


def openai(tool: Tool) -> Tool:
    """Return a function of Chat Completions (openai: ChatCompletionToolParam)."""
    return {"type": "function", "function": tool}


def anthropic(tool: Tool) -> Tool:
    """Return a tool of the Messages API (anthropic: ToolParam)."""
    return {"name": tool["name"], "description": tool["description"], "input_schema": tool["parameters"]}


def mcp(tool: Tool) -> Tool:
    """Return a tool of the Model Context Protocol (mcp: Tool)."""
    return {"name": tool["name"], "description": tool["description"], "inputSchema": tool["parameters"]}


FORMATS: dict[str, Callable[[Tool], Tool]] = {"openai": openai, "anthropic": anthropic, "mcp": mcp}
