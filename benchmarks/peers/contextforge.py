"""ContextForge with the service's read as a REST tool, called by JSON-RPC."""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import servers
from benchmarks.load import Address
from benchmarks.orders_document import LOOPBACK, READ_OPERATION, READ_PATH
from benchmarks.peers.peer import Peer, PeerServer, build_tool_call
from core import http
from core.database.deadlines import Deadline

ARGUMENTS = ("-m", "uvicorn", "mcpgateway.main:app", "--workers", "2", "--log-level", "warning")
START_SECONDS = 120.0  # it sets up its database first
ADMIN = "admin@example.com"
SECRET = "of no use outside a benchmark, and made for nothing else"  # noqa: S105
VARIABLES = {
    "JWT_SECRET_KEY": SECRET,
    "AUTH_ENCRYPTION_SECRET": SECRET,
    "PLATFORM_ADMIN_EMAIL": ADMIN,
    "PLATFORM_ADMIN_PASSWORD": "Of-no-use-1234567",
    "SSRF_ALLOW_LOCALHOST": "true",
    "SSRF_ALLOW_PRIVATE_NETWORKS": "true",
    "RATE_LIMITING_ENABLED": "false",
    "MCPGATEWAY_UI_ENABLED": "false",
    "LOG_LEVEL": "ERROR",
}


@contextmanager
def serve_contextforge(python: str, service: str) -> Iterator[PeerServer]:
    """Serve ContextForge on a separate database until the block ends."""
    with TemporaryDirectory(prefix="contextforge-") as folder:
        variables = VARIABLES | {"DATABASE_URL": f"sqlite:///{folder}/peer.db"}
        with (Path(folder) / "log").open("w") as log:
            headers = {"Authorization": f"Bearer {_create_token(python, variables)}"}
            with servers.run_server(
                ARGUMENTS, variables, probe="/health", log=log, python=python, start_seconds=START_SECONDS
            ) as server:
                tool = _register_tool(server.address, service, headers)
                yield PeerServer(server.address, build_tool_call("/rpc", headers, tool, {"id": "o-1"}))


def _create_token(python: str, variables: Mapping[str, str]) -> str:
    command = [python, "-m", "mcpgateway.utils.create_jwt_token", "--username", ADMIN, "--admin", "--exp", "600"]
    process = subprocess.run(
        [*command, "--secret", SECRET], env=os.environ | variables, capture_output=True, text=True, check=True
    )
    return process.stdout.split()[-1]


def _register_tool(address: Address, service: str, headers: Mapping[str, str]) -> str:
    """Register the read as a tool and return the tool's name."""
    schema = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
    tool = {
        "name": READ_OPERATION,
        "url": service + READ_PATH,
        "integration_type": "REST",
        "request_type": "GET",
        "input_schema": schema,
    }
    response = http.request(
        "POST",
        f"http://{address[0]}:{address[1]}/v1/tools",
        headers={**headers, "Content-Type": "application/json"},
        body=json.dumps({"tool": tool}).encode(),
        deadline=Deadline.after(milliseconds=20_000),
        allow=LOOPBACK,
    )
    name: str = json.loads(response.body)["name"]
    return name


CONTEXTFORGE = Peer("ContextForge", "contextforge", serve_contextforge)
