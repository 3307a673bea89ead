"""The official clients of AG-UI and of the AI SDK talk to a running chat, unmodified (chat_clients/)."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.services.test_chat import start_chat
from tests.support.cpu_budget import is_thorough
from tests.support.servers.chat import ChatServer
from workspace.demo import DEMO_SUBJECT
from workspace.models import Task

__all__ = ["start_chat"]  # a fixture

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(not is_thorough(), reason="by design: only make test-all installs clients of npm"),
]

CLIENTS = Path(__file__).parent / "chat_clients"
DELETE = "Delete the task “Draft the homepage copy”"


@pytest.mark.parametrize("client", ["ag-ui.mjs", "ai-sdk.mjs"])
def test_official_client_runs_and_confirms(start_chat: Callable[..., ChatServer], tmp_path: Path, client: str) -> None:
    if shutil.which("npm") is None:
        pytest.skip("npm is needed to install the clients")
    chat = start_chat()
    folder = shutil.copytree(CLIENTS, tmp_path / "clients", ignore=shutil.ignore_patterns("node_modules"))
    variables = {"CHAT_URL": chat.url, "CHAT_KEY": chat.key, "CHAT_SUBJECT": DEMO_SUBJECT, "DELETE_MESSAGE": DELETE}
    for command in (["npm", "ci", "--silent"], ["node", client]):
        done = subprocess.run(
            command, cwd=folder, env=os.environ | variables, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr

    assert done.stdout.strip().endswith("ok")
    assert not Task.objects.filter(title="Draft the homepage copy", deleted_at=None).exists()
