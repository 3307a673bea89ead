"""FastMCP over streamable HTTP, in three roles, each an application of its own module."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from benchmarks import servers
from benchmarks.notes_server import TOOL
from benchmarks.orders_document import READ_OPERATION
from benchmarks.peers.peer import SERVICE_VARIABLE, Peer, PeerServer, build_tool_call

HEADERS = {"Accept": "application/json, text/event-stream"}
ENVIRONMENT = "fastmcp"


@contextmanager
def serve_app(
    python: str, service: str, *, module: str, tool: str, arguments: Mapping[str, Any]
) -> Iterator[PeerServer]:
    """Serve the application of a module of this package until the block ends."""
    command = ("-m", "uvicorn", f"benchmarks.peers.{module}:app", "--workers", "2", "--log-level", "warning")
    with servers.run_server(command, {SERVICE_VARIABLE: service}, probe="/readyz", python=python) as server:
        yield PeerServer(server.address, build_tool_call("/mcp", HEADERS, tool, arguments))


def _build_peer(title: str, module: str, tool: str, arguments: Mapping[str, Any]) -> Peer:
    serve = partial(serve_app, module=module, tool=tool, arguments=arguments)
    return Peer(title, ENVIRONMENT, serve)


ORDER = {"id": "o-1"}
FASTMCP_OPENAPI = _build_peer("FastMCP's proxy of OpenAPI", "fastmcp_proxy", READ_OPERATION, ORDER)
FASTMCP_PROXY = _build_peer("FastMCP's proxy of MCP", "fastmcp_mcp_proxy", TOOL, {"id": "n-1"})
FASTMCP_TOOLS = _build_peer(
    "FastMCP with three such tools", "fastmcp_tools", "tool_exec", {"op": "service.orders.get", "args": ORDER}
)
