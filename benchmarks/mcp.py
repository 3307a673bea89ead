"""MCP: calls a second through /mcp compared with FastMCP, for the same three tools, and with other proxies."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from benchmarks import connect, notes_server, orders_service, servers
from benchmarks.figures import BenchmarkFigure
from benchmarks.lab import Lab, PreparedDatabase
from benchmarks.load import Address
from benchmarks.peers.comparison import check_answer, compare_with_peer
from benchmarks.peers.fastmcp import FASTMCP_PROXY, FASTMCP_TOOLS
from benchmarks.peers.litellm import LITELLM_PROXY
from benchmarks.peers.peer import Peer, build_tool_call

VERSION = "2025-11-25"  # which most clients speak


@dataclass(frozen=True, slots=True)
class ConnectedMcpGateway:
    """A running gateway, the call of an op through /mcp, and the URL of the service behind the op."""

    address: Address
    call: bytes
    service: str


def measure_same_tools(lab: Lab) -> list[BenchmarkFigure]:
    """Compare with FastMCP serving the same three tools, whose tool_exec makes the same call of a service."""
    FASTMCP_TOOLS.require()
    with connect.serve_connected(lab, "mcp") as gateway:
        call = build_exec_call(gateway.prepared, gateway.op, {"id": "o-1"})
        return compare_with_peer(
            "mcp.vs_fastmcp", FASTMCP_TOOLS, gateway.service, gateway.address, call, answer=orders_service.CUSTOMER
        )


def measure_proxy(lab: Lab) -> list[BenchmarkFigure]:
    """Compare with FastMCP's proxy of the same MCP server."""
    return _compare_with_proxy("mcp.vs_fastmcp_proxy", FASTMCP_PROXY, lab)


def measure_litellm(lab: Lab) -> list[BenchmarkFigure]:
    """Compare with LiteLLM's gateway in front of the same MCP server."""
    return _compare_with_proxy("mcp.vs_litellm", LITELLM_PROXY, lab)


def _compare_with_proxy(name: str, peer: Peer, lab: Lab) -> list[BenchmarkFigure]:
    peer.require()
    with _serve_proxy(lab, name) as gateway:
        return compare_with_peer(name, peer, gateway.service, gateway.address, gateway.call, answer=notes_server.AUTHOR)


def build_exec_call(prepared: PreparedDatabase, op: str, args: dict[str, Any]) -> bytes:
    """Return a request of MCP that runs an op."""
    headers = {**prepared.headers, "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": VERSION}
    return build_tool_call("/mcp", headers, "tool_exec", {"op": op, "args": args})


@contextmanager
def _serve_proxy(lab: Lab, name: str) -> Iterator[ConnectedMcpGateway]:
    """Serve the MCP server, and the gateway with a connection to it, on a database with this name."""
    prepared = lab.get_empty_sqlite(name)
    with servers.run_server(notes_server.ARGUMENTS, {}, probe="/") as upstream:
        service = f"http://{upstream.address[0]}:{upstream.address[1]}{notes_server.PATH}"
        op = lab.connect_mcp_server(prepared, service)
        with lab.serve_gateway(prepared) as gateway:
            call = build_exec_call(prepared, op, {"id": "n-1"})
            check_answer(gateway.address, call, notes_server.AUTHOR)
            yield ConnectedMcpGateway(gateway.address, call, service)
