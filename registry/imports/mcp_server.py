"""What an MCP server offers. Only the gateway reaches servers, so it sets the function that asks them."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from registry.imports.document_source import UnreadableDocument
from registry.models import Connection


@dataclass(frozen=True, slots=True)
class McpListing:
    """The tools of a server as it defines them (mcp: Tool, in JSON with its names), and what else it has."""

    title: str
    version: str
    tools: list[dict[str, Any]] = field(repr=False)
    has_resources: bool = False


# Raises UnreadableDocument if the server cannot be reached or does not speak the protocol.
ListServer = Callable[[Connection], McpListing]


def set_lister(lister: ListServer) -> None:
    """Set the function that asks the server of a connection, which need not be saved."""
    global _list_server
    _list_server = lister


def list_server(connection: Connection) -> McpListing:
    """Return what the server of a connection offers. Raises UnreadableDocument."""
    return _list_server(connection)


def digest_tool(tool: dict[str, Any]) -> str:
    """Return the SHA-256 of a tool's definition: all that a model or a client is told about it."""
    definition = {name: tool[name] for name in _DEFINITION if tool.get(name) is not None}
    return hashlib.sha256(json.dumps(definition, sort_keys=True).encode()).hexdigest()


def _refuse(_: Connection) -> McpListing:
    raise UnreadableDocument("This process cannot reach MCP servers.")


_list_server: ListServer = _refuse
_DEFINITION = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
