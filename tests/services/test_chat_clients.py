"""Programs that others wrote talk to a running chat, unmodified (chat_clients/): clients, and a server of models."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from chat.scripted_model.scripts import SUGGESTIONS
from chat.scripted_model.server import ScriptedModelServer
from tests.services.test_chat import start_chat
from tests.support.servers.chat import ChatServer
from tests.support.servers.processes import Process, free_port, wait_until_ready
from tests.support.upstreams.mcp_programs import run
from workspace.demo import DEMO_SUBJECT
from workspace.models import Task

__all__ = ["start_chat"]  # a fixture

pytestmark = [
    pytest.mark.server,
    pytest.mark.thorough,
]

CLIENTS = Path(__file__).parent / "chat_clients"
DELETE = "Delete the task “Draft the homepage copy”"


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """A folder with the packages of npm."""
    if shutil.which("npm") is None:
        pytest.skip("npm is needed to install the clients")
    folder = shutil.copytree(CLIENTS, tmp_path / "clients", ignore=shutil.ignore_patterns("node_modules"))
    run("npm", "ci", "--silent", folder=folder)
    return folder


@pytest.mark.parametrize("client", ["ag-ui.mjs", "ai-sdk.mjs"])
def test_official_client_runs_and_confirms(start_chat: Callable[..., ChatServer], packages: Path, client: str) -> None:
    chat = start_chat()
    variables = {"CHAT_URL": chat.url, "CHAT_KEY": chat.key, "CHAT_SUBJECT": DEMO_SUBJECT, "DELETE_MESSAGE": DELETE}

    output = run("node", client, folder=packages, **variables)

    assert output.strip().endswith("ok")
    assert not Task.objects.filter(title="Draft the homepage copy", deleted_at=None).exists()


@contextmanager
def serve_recordings(folder: Path, *arguments: str) -> Iterator[str]:
    """Serve the answers in a folder with aimock, and yield the base URL."""
    (folder / "recorded").mkdir(exist_ok=True)
    port = free_port()
    command = ["npx", "llmock", "--port", str(port), "--fixtures", "recorded", *arguments]
    process = Process(command, environment=dict(os.environ), folder=folder)
    try:
        wait_until_ready(process, f"http://127.0.0.1:{port}", "/health")
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()


def ask(chat: ChatServer) -> tuple[str, list[tuple[str, str]]]:
    """Return the text of the first suggestion's answer, and its calls."""
    events = chat.send(DEMO_SUBJECT, SUGGESTIONS[0].text)
    assert events[-1][1] == "done", events[-1]
    text = "".join(data["delta"] for _, type, data in events if type == "text")
    return text, [(data["op"], data["status"]) for _, type, data in events if type == "tool"]


def test_scripted_model_is_recorded_and_replayed_by_aimock(
    start_chat: Callable[..., ChatServer], packages: Path
) -> None:
    model = ScriptedModelServer(pace_ms=0)
    upstream = model.start().removesuffix("/v1")
    variables = {"LLM_MODEL": "scripted", "LLM_API_KEY": "unused"}
    direct = ask(start_chat())

    with serve_recordings(packages, "--record", "--provider-openai", upstream) as url:
        recorded = ask(start_chat(LLM_BASE_URL=url, **variables))
    model.stop()
    with serve_recordings(packages, "--strict") as url:
        replayed = ask(start_chat(LLM_BASE_URL=url, **variables))

    assert direct == recorded == replayed
    assert direct[1][-1] == ("onto.task.list", "success")
