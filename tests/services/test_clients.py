"""Clients that generators make from our OpenAPI document call help and exec of a running server.

The generators and their commands are those in docs/api-clients.md. The calls, with typed responses, are in clients/.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from analytics.events.models import OperationEvent
from tests.support.servers.processes import Server, eventually

pytestmark = [
    pytest.mark.server,
    pytest.mark.thorough,
]

CLIENTS = Path(__file__).parent / "clients"

GENERATE_PYTHON = "-m openapi_python_client generate --fail-on-warning --url"
CHECK_TYPES = "-m mypy --strict --follow-imports=silent --config-file= calls.py"
UNREACHABLE = re.compile(r"npm error code (ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT)")


def run(*command: str, folder: Path, **variables: str) -> str:
    """Run a command in a folder and return its output. Fails if the command fails."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the folder with the calls. Clients are generated into it."""
    return shutil.copytree(CLIENTS, tmp_path / "clients")


@pytest.fixture
def server_with_event(shared_server: Server) -> Server:
    """A server that has recorded a call with an invalid limit, so that clients can read this event."""
    response = shared_server.exec("onto.task.list", {"limit": "3"})
    event = OperationEvent.objects.filter(trace_id=response.json()["meta"]["trace_id"])
    eventually(event.exists, what="writing the event")
    return shared_server


def test_python_client_is_generated_without_warnings_and_calls_help_and_exec(
    server_with_event: Server, folder: Path
) -> None:
    # The generator formats its output with ruff, which is next to this Python.
    search_path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    output = run(
        sys.executable, *GENERATE_PYTHON.split(), f"{server_with_event.url}/api/schema", folder=folder, PATH=search_path
    )
    package = str(folder / "tool-gateway-client")

    assert output == f"Generating {package}\n"
    run(sys.executable, *CHECK_TYPES.split(), folder=folder, MYPYPATH=package)
    run(sys.executable, "calls.py", server_with_event.url, server_with_event.key, folder=folder, PYTHONPATH=package)


def install_node_packages(folder: Path) -> None:
    """Install what package-lock.json names. Skips the test without npm or its registry."""
    if not shutil.which("npm"):
        pytest.skip("npm is not installed (Node.js 20 or later)")
    try:
        run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", folder=folder)
    except AssertionError as error:
        if UNREACHABLE.search(str(error)):
            pytest.skip("npm cannot reach a registry")
        raise


def test_typescript_client_is_generated_without_warnings_and_calls_help_and_exec(
    server_with_event: Server, folder: Path
) -> None:
    install_node_packages(folder)
    programs = folder / "node_modules" / ".bin"
    schema_url = f"{server_with_event.url}/api/schema"
    output = run(str(programs / "openapi-typescript"), schema_url, "--output", "schema.d.ts", folder=folder)

    assert all(line.startswith(("✨", "🚀")) for line in output.split("\n") if line), output  # a warning begins with ⚠
    run(str(programs / "tsc"), folder=folder)
    run("node", "calls.js", server_with_event.url, server_with_event.key, folder=folder)
