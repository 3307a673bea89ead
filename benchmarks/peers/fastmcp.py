"""FastMCP's proxy of an OpenAPI document, over streamable HTTP (see fastmcp_proxy)."""

from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks import servers
from benchmarks.peers.peer import SERVICE_VARIABLE, Peer, PeerServer, build_tool_call

ARGUMENTS = ("-m", "uvicorn", "benchmarks.peers.fastmcp_proxy:app", "--workers", "2", "--log-level", "warning")
HEADERS = {"Accept": "application/json, text/event-stream"}


@contextmanager
def serve_proxy(python: str, service: str) -> Iterator[PeerServer]:
    """Serve the proxy until the block ends."""
    with servers.run_server(ARGUMENTS, {SERVICE_VARIABLE: service}, probe="/readyz", python=python) as server:
        yield PeerServer(server.address, build_tool_call("/mcp", HEADERS))


FASTMCP = Peer("the proxy of FastMCP", "fastmcp", "BENCHMARKS_FASTMCP_PYTHON", serve_proxy)
