"""LiteLLM's MCP gateway, with the service's document as tools or in front of an MCP server.

It has the settings that its documentation recommends for a load: production mode, no request logs, no spend logs, no
database, and the master key, which it compares without a look-up. It answers MCP as events; it has no other form.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from benchmarks import servers
from benchmarks.load import Address
from benchmarks.notes_server import TOOL
from benchmarks.orders_document import LOOPBACK, READ_OPERATION
from benchmarks.orders_service import DOCUMENT_PATH
from benchmarks.peers.peer import Peer, PeerServer, build_tool_call
from core import http
from core.database.deadlines import Deadline

ARGUMENTS = ("-m", "litellm.proxy.proxy_cli", "--host", "127.0.0.1", "--num_workers", "2", "--telemetry", "False")
START_SECONDS = 120.0  # importing it takes 10 of them
SERVER = "bench"
PATH = "/mcp/"
KEY = "sk-of-no-use-outside-a-benchmark"
HEADERS = {"Authorization": f"Bearer {KEY}", "Accept": "application/json, text/event-stream"}
VARIABLES = {
    "LITELLM_MODE": "PRODUCTION",
    "LITELLM_LOG": "ERROR",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else it downloads prices
    "NO_DOCS": "True",
}


def build_config(server: dict[str, Any]) -> dict[str, Any]:
    """Return its configuration with one MCP server, which all keys may call."""
    return {
        "model_list": [],
        "general_settings": {"master_key": KEY, "disable_spend_logs": True},
        "litellm_settings": {"user_url_validation": False, "turn_off_message_logging": True},
        "mcp_servers": {SERVER: {"auth_type": "none", "allow_all_keys": True, **server}},
    }


@contextmanager
def serve_litellm(
    python: str, service: str, *, tool: str, arguments: dict[str, Any], is_mcp: bool
) -> Iterator[PeerServer]:
    """Serve LiteLLM until the block ends."""
    server = {"url": service, "transport": "http"} if is_mcp else {"url": service, "spec_path": service + DOCUMENT_PATH}
    with TemporaryDirectory(prefix="litellm-") as folder:
        config = Path(folder) / "config.yaml"
        config.write_text(yaml.safe_dump(build_config(server)))
        command = (*ARGUMENTS, "--config", str(config))
        with (
            (Path(folder) / "log").open("w") as log,
            servers.run_server(
                command, VARIABLES, probe="/health/readiness", log=log, python=python, start_seconds=START_SECONDS
            ) as running,
        ):
            name = _find_tool(running.address, tool)
            yield PeerServer(running.address, build_tool_call(PATH, HEADERS, name, arguments))


def _find_tool(address: Address, tool: str) -> str:
    """Return the name that it gives a tool: with the name of the server before it, in a spelling of its own."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    response = http.request(
        "POST",
        f"http://{address[0]}:{address[1]}{PATH}",
        headers={**HEADERS, "Content-Type": "application/json"},
        body=json.dumps(message).encode(),
        deadline=Deadline.after(milliseconds=20_000),
        allow=LOOPBACK,
    )
    lines = [line[5:] for line in response.body.splitlines() if line.startswith(b"data:")]
    names: list[str] = [each["name"] for each in json.loads(lines[-1])["result"]["tools"]]
    return next(name for name in names if name.lower().endswith(tool.lower()))


def _build_peer(title: str, tool: str, arguments: dict[str, Any], *, is_mcp: bool) -> Peer:
    return Peer(title, "litellm", partial(serve_litellm, tool=tool, arguments=arguments, is_mcp=is_mcp))


LITELLM_OPENAPI = _build_peer("LiteLLM's gateway to OpenAPI", READ_OPERATION, {"id": "o-1"}, is_mcp=False)
LITELLM_PROXY = _build_peer("LiteLLM's gateway to MCP", TOOL, {"id": "n-1"}, is_mcp=True)
