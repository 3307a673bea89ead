"""Another gateway that makes the same call of the same service. Each is installed in a separate environment."""

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.figures import NotMeasured
from benchmarks.load import Address, build_request
from benchmarks.servers import ROOT

PEERS = ROOT / ".venv" / "peers"  # made by make bench-peers

SERVICE_VARIABLE = "BENCHMARKS_SERVICE"  # the environment variable with the URL of the service


@dataclass(frozen=True, slots=True)
class PeerServer:
    """A running peer, and the request that calls the read of the service through it."""

    address: Address
    call: bytes


@dataclass(frozen=True, slots=True)
class Peer:
    """A gateway to compare with, in a separate environment. `serve` takes its Python and the URL of the service."""

    title: str
    environment: str  # its folder in .venv/peers
    serve: Callable[[str, str], AbstractContextManager[PeerServer]]

    @property
    def python(self) -> Path:
        """Its Python, which is there if it is installed."""
        return PEERS / self.environment / "bin" / "python"

    def require(self) -> None:
        """Raise NotMeasured if the peer is not installed."""
        if not (PEERS / self.environment / ".installed").exists():
            raise NotMeasured("make bench-peers")


def build_tool_call(path: str, headers: Mapping[str, str], tool: str, arguments: Mapping[str, Any]) -> bytes:
    """Return a request that calls a tool by JSON-RPC, as MCP has it."""
    params = {"name": tool, "arguments": arguments}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return build_request("POST", path, headers, json.dumps(body).encode())
