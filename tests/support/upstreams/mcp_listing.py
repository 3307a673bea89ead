"""An MCP server that answers in this process: what it lists is a list of dicts, which a test changes."""

from collections.abc import Iterator
from typing import Any

import pytest

from gateway import executors
from registry.imports import mcp_import
from registry.imports.document_source import UnreadableDocument
from registry.imports.mcp_import import McpListing
from registry.models import Connection

URL = "https://notes.example.com/mcp"


def build_tool(name: str, description: str = "", /, **fields: Any) -> dict[str, Any]:
    """Return a tool as a server defines it."""
    schema = {"type": "object", "properties": {"id": {"type": "string"}}}
    return {"name": name, "description": description, "inputSchema": schema} | fields


class FakeListing:
    """What a server lists. `connections` are those that asked; `problem` is raised instead, if there is one."""

    def __init__(self, *tools: dict[str, Any]) -> None:
        self.tools = list(tools)
        self.problem = ""
        self.connections: list[Connection] = []

    def list_server(self, connection: Connection) -> McpListing:
        """Return the tools, or raise the problem."""
        self.connections.append(connection)
        if self.problem:
            raise UnreadableDocument(self.problem)
        return McpListing("Notes", "1.2", [dict(tool) for tool in self.tools])


@pytest.fixture
def fake_listing() -> Iterator[FakeListing]:
    """Have every MCP server list the same tools: one that reads, one that writes and one that deletes."""
    listing = FakeListing(
        build_tool("get_note", "Get one note.", annotations={"readOnlyHint": True}),
        build_tool("create_note", "Create a note."),
        build_tool("delete_note", "Delete a note."),
    )
    mcp_import.set_lister(listing.list_server)
    yield listing
    mcp_import.set_lister(executors.list_mcp_server)
