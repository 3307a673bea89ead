"""Another gateway that makes the same call of the same service. Each is installed in an environment of its own."""

import json
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from benchmarks.load import Address, build_request

SERVICE_VARIABLE = "BENCHMARKS_SERVICE"  # the environment variable with the URL of the service


@dataclass(frozen=True, slots=True)
class PeerServer:
    """A running peer, and the request that calls the read of the service through it."""

    address: Address
    call: bytes


@dataclass(frozen=True, slots=True)
class Peer:
    """A gateway to compare with. `serve` takes its Python and the URL of the service."""

    title: str
    package: str
    python_variable: str  # the environment variable with the Python that has the package
    serve: Callable[[str, str], AbstractContextManager[PeerServer]]

    @property
    def python(self) -> str:
        """The Python that has the package; empty if none was named."""
        return os.environ.get(self.python_variable, "")

    def explain_skip(self) -> str:
        """Return why the peer is left out, and how to install it."""
        return (
            f"Skipping the comparison with {self.title}. To get it: python3 -m venv peer && peer/bin/pip install "
            f"{self.package}, then set {self.python_variable} to the absolute path of peer/bin/python"
        )


def build_tool_call(path: str, headers: Mapping[str, str], tool: str, arguments: Mapping[str, Any]) -> bytes:
    """Return a request that calls a tool by JSON-RPC, as MCP has it."""
    params = {"name": tool, "arguments": arguments}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return build_request("POST", path, headers, json.dumps(body).encode())
