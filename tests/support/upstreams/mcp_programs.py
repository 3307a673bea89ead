"""Clients of MCP that are programs of their own (tests/services/mcp_clients). make test-all installs and runs them."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.cpu_budget import is_thorough

CLIENTS = Path(__file__).parents[2] / "services" / "mcp_clients"
INSPECTOR = ("npx", "node", "node_modules/.bin/mcp-inspector", "--cli", "--quiet", "--format", "json")

needs_clients = pytest.mark.usefixtures("installs_clients")


def run(*command: str, folder: Path, **variables: str) -> str:
    """Run a command in a folder and return its output. Fails if the command fails."""
    done = subprocess.run(
        command, cwd=folder, env=os.environ | variables, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def installs_clients() -> None:
    """Skip a test whose client is installed only in make test-all."""
    if not is_thorough():
        pytest.skip("by design: only make test-all installs other clients of MCP")


@pytest.fixture(scope="session")
def node_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the clients of npm, and the Node.js that they need."""
    if shutil.which("npm") is None:
        pytest.skip("npm is needed to install the clients")
    folder = tmp_path_factory.mktemp("clients") / "mcp"
    shutil.copytree(CLIENTS, folder, ignore=shutil.ignore_patterns("node_modules"))
    run("npm", "ci", "--ignore-scripts", "--silent", folder=folder)
    run("npm", "rebuild", "--silent", "node", folder=folder)  # its script fetches the program
    return folder
