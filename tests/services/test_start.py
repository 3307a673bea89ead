"""manage.py start, which make run calls: everything from nothing, and nothing twice."""

import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection
from pytest_django.plugin import DjangoDbBlocker

from gateway.models import ApiKey, all_scopes
from registry.models import Activation, Op
from registry.releases import publishing, stored_releases
from tests.support.servers import checkouts, stores
from tests.support.servers.chat import ChatServer
from tests.support.servers.checkouts import Checkout, can_log_in
from tests.support.servers.processes import STARTS_WITHIN, Process, Server, eventually, free_port
from workspace.demo import DEMO_SUBJECT, DEMO_TASK_ID

pytestmark = pytest.mark.server

OP = "onto.task.update"
# The rows of these models come from calls, which a job counts later.
FROM_CALLS = ("analytics.OperationEvent", "analytics.OpDaily", "analytics.Turn")

Connect = Callable[[Checkout], AbstractContextManager[None]]


@pytest.fixture
def checkout(django_db_blocker: DjangoDbBlocker, tmp_path: Path) -> Iterator[Checkout]:
    """A fresh checkout: on SQLite with an empty environment, else with an empty database in DATABASE_URL."""
    folder = tmp_path / "checkout"
    if connection.vendor == "sqlite":
        yield checkouts.copy_checkout(folder)
        return
    with django_db_blocker.unblock():
        store = stores.create_store(tmp_path)
    yield checkouts.copy_checkout(folder, DATABASE_URL=store.url)
    with django_db_blocker.unblock():
        stores.drop_store(store)


@pytest.fixture
def connect(django_db_blocker: DjangoDbBlocker) -> Connect:
    """Return a function that connects this process to the database of a checkout."""

    @contextmanager
    def connected(checkout: Checkout) -> Iterator[None]:
        url = checkout.variables.get("DATABASE_URL", "")
        name = urlsplit(url).path.rpartition("/")[2] if url else str(checkout.folder / "var" / "db.sqlite3")
        with django_db_blocker.unblock(), stores.Store(name).connected():
            yield

    return connected


@pytest.fixture(scope="session")
def started_checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A checkout on SQLite that was started once, until all but the servers was there. Tests copy it."""
    checkout = checkouts.copy_checkout(tmp_path_factory.mktemp("start") / "checkout")
    interrupt_start(checkout, lambda process: "Starting the servers." in process.output)
    return checkout


@pytest.fixture
def stopped_checkout(started_checkout: Checkout, tmp_path: Path) -> Checkout:
    """A checkout that was started before and is stopped now."""
    return checkouts.copy_started_checkout(started_checkout, tmp_path / "checkout")


def files_of(checkout: Checkout) -> dict[str, Any]:
    """Return what the secret files say, and their modes."""
    paths = [checkout.folder / "var" / name for name in ("dev.env", "secrets.json")]
    return {path.name: (path.read_bytes(), oct(path.stat().st_mode & 0o777)) for path in paths}


def read_state() -> list[Any]:
    """Return all that a start could change: how many rows each model has, the live release and the draft."""
    models = [model for model in apps.get_models() if model._meta.label not in FROM_CALLS]
    return [
        *((model._meta.label, model.objects.count()) for model in models),
        Activation.objects.get(is_live=True).release_id,
        publishing.compute_draft_version(),
    ]


def test_start_sets_up_everything_and_a_second_start_changes_nothing(checkout: Checkout, connect: Connect) -> None:
    with checkout.running() as server:
        known = checkout.dev_env
        check_printed_facts(server, known)
        check_printed_commands(checkout, server)
        check_commands_use_the_same_database(checkout, server)
        check_second_start_is_refused(checkout, server)
        check_chat_answers(checkout, server)

    files = files_of(checkout)
    with connect(checkout):
        state, scopes = read_state(), ApiKey.objects.get(client__name="demo").scopes
    assert sorted(scopes) == sorted(all_scopes())
    assert {mode for _, mode in files.values()} == {"0o600"}
    assert (checkout.folder / "var").stat().st_mode & 0o777 == 0o700

    with checkout.running(other := free_port()):  # the lock went with the server
        urls = {"GATEWAY_URL": f"http://127.0.0.1:{other}", "CHAT_URL": f"http://127.0.0.1:{other + 1}/chat/"}
        assert checkout.dev_env == known | urls
        assert {name: mode for name, (_, mode) in files_of(checkout).items()} == dict.fromkeys(files, "0o600")
        assert files_of(checkout)["secrets.json"] == files["secrets.json"]
    with connect(checkout):
        assert [each for each in read_state() if each not in state] == []


def check_printed_facts(server: Server, known: dict[str, str]) -> None:
    assert (
        sorted(known)
        == """
    ADMIN_PASSWORD ADMIN_USERNAME CHAT_GATEWAY_KEY CHAT_URL GATEWAY_API_KEY GATEWAY_MCP_KEY GATEWAY_SUBJECT
    GATEWAY_URL
""".split()
    )
    assert f"{server.url}/chat/" != known["CHAT_URL"] == f"http://127.0.0.1:{server.port + 1}/chat/"
    assert known["CHAT_URL"] in server.process.output
    assert known["GATEWAY_URL"] == server.url
    assert known["GATEWAY_SUBJECT"] == DEMO_SUBJECT
    assert f"{server.url}/admin/" in server.process.output
    assert known["ADMIN_PASSWORD"] in server.process.output
    assert known["GATEWAY_API_KEY"] not in server.process.output

    rate = server.help().headers["RateLimit"]  # what is left of this second
    assert int(rate.split("r=")[1].split(";")[0]) >= 199
    with server.client(headers={**server.headers, "Gateway-Subject": "somebody-else"}) as http:
        assert http.get("/api/v1/help").status_code == 403
    tasks = server.exec("onto.task.list", {"limit": 50}).json()["result"]["tasks"]
    assert DEMO_TASK_ID in [task["id"] for task in tasks]
    assert can_log_in(server, known["ADMIN_USERNAME"], known["ADMIN_PASSWORD"])
    assert not can_log_in(server, known["ADMIN_USERNAME"], "another password")


def check_printed_commands(checkout: Checkout, server: Server) -> None:
    """Check that the two printed lines, pasted into a shell, call the server; where there is curl."""
    printed = [line.strip() for line in server.process.output.splitlines()]
    commands = [line for line in printed if line.startswith((". ", "curl "))]
    assert len(commands) == 2
    if shutil.which("curl"):
        shell = ["sh", "-euc", "\n".join(commands)]
        result = subprocess.run(shell, cwd=checkout.folder, capture_output=True, text=True, check=False)
        assert json.loads(result.stdout)["path"] == "root"


def check_commands_use_the_same_database(checkout: Checkout, server: Server) -> None:
    """Check that commands with the same environment use the server's database."""
    task = server.exec("onto.task.get", {"task_id": DEMO_TASK_ID}).json()["result"]["task"]
    rows = f"Task.objects.filter(pk={DEMO_TASK_ID!r})"
    changed = f"[{rows}.get().title, {rows}.update(title='From the shell')]"
    assert checkout.evaluate(changed, first="from workspace.models import Task") == [task["title"], 1]
    again = server.exec("onto.task.get", {"task_id": DEMO_TASK_ID}).json()["result"]["task"]
    assert again["title"] == "From the shell"


def check_chat_answers(checkout: Checkout, server: Server) -> None:
    """Check that the chat calls this gateway with its key, and that /chat/ of the gateway leads to it."""
    with server.client() as http:
        assert http.get("/chat/").headers["Location"] == checkout.dev_env["CHAT_URL"]
    chat = ChatServer(server.port + 1, server.process, checkout.dev_env["CHAT_GATEWAY_KEY"])
    eventually(chat.is_alive, within=STARTS_WITHIN, what="the chat's start")
    assert chat.send(DEMO_SUBJECT, "Hello")[-1][1] == "done"


def check_second_start_is_refused(checkout: Checkout, server: Server) -> None:
    known = files_of(checkout)
    metrics = set((checkout.folder / "var" / "metrics").iterdir())

    refused = checkout.command("start", PORT=str(free_port()))

    assert refused.returncode == 1
    assert refused.stderr.strip() == (
        f"CommandError: This checkout's gateway already runs on port {server.port}."
        " Use it, or stop it with Ctrl-C in its terminal."
    )
    assert files_of(checkout) == known
    assert metrics
    assert metrics <= set((checkout.folder / "var" / "metrics").iterdir())
    assert server.help().status_code == 200


@pytest.mark.thorough
def test_start_creates_a_missing_key_and_admin(stopped_checkout: Checkout) -> None:
    with closing(sqlite3.connect(stopped_checkout.folder / "var" / "db.sqlite3", isolation_level=None)) as database:
        # As in another database than that of dev.env.
        assert database.execute("DELETE FROM gateway_apikey").rowcount == 3
        assert database.execute("DELETE FROM chat_profile").rowcount == 1
        assert database.execute("DELETE FROM auth_user").rowcount == 1

    with stopped_checkout.running() as server:
        known = stopped_checkout.dev_env
        assert server.help().status_code == 200
        assert can_log_in(server, known["ADMIN_USERNAME"], known["ADMIN_PASSWORD"])


def test_start_refuses_a_port_in_use(checkout: Checkout) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = str(listener.getsockname()[1])

        refused = checkout.command("start", PORT=port)

    assert refused.returncode == 1
    assert refused.stderr.strip() == f"CommandError: Port {port} is taken. Choose another: PORT=8100 make run"
    assert not (checkout.folder / "var" / "dev.env").exists()


@pytest.mark.parametrize("port", ["http", "0", "65535", "65536", "-1", "²", ""])
def test_start_refuses_an_invalid_port(monkeypatch: pytest.MonkeyPatch, port: str) -> None:
    monkeypatch.setenv("PORT", port)

    with pytest.raises(CommandError) as refused:
        call_command("start")  # which looks at the port before it does anything

    assert str(refused.value) == f"PORT is {port!r}; set it to a number from 1 to 65533. The next two are also used."


def test_start_exits_cleanly_when_interrupted_in_a_new_checkout(checkout: Checkout) -> None:
    interrupt_start(checkout, lambda _: (checkout.folder / "var" / "start.lock").exists())  # at the migrations


# What it has printed by then: of the catalog, of a worker, of what waits until all servers listen.
@pytest.mark.thorough
@pytest.mark.parametrize("printed", ["The live release is up to date.", "release.live ", "Press Ctrl-C"])
def test_start_exits_cleanly_when_interrupted(stopped_checkout: Checkout, printed: str) -> None:
    interrupt_start(stopped_checkout, lambda process: printed in process.output)


@pytest.mark.thorough
@pytest.mark.parametrize("later", [0.1, 0.3, 0.5, 1.0])  # seconds: the workers load then
def test_server_of_start_exits_cleanly_while_it_loads(stopped_checkout: Checkout, later: float) -> None:
    interrupt_start(stopped_checkout, lambda process: "Starting the servers." in process.output, later)


def interrupt_start(checkout: Checkout, is_under_way: Callable[[Process], bool], later: float = 0) -> None:
    """Start, send Ctrl-C at a point (or some seconds after it), and check that everything exits without output."""
    environment = {**checkout.environment, "PORT": str(free_port())}
    process = Process([sys.executable, "manage.py", "start"], environment=environment, folder=checkout.folder)
    try:
        eventually(lambda: is_under_way(process), within=STARTS_WITHIN, what="the start")
        time.sleep(later)
        os.killpg(process.inner.pid, signal.SIGINT)  # as a terminal does: all processes are told
        code = process.wait()
    finally:
        process.kill()

    assert code in {128 + signal.SIGINT, -signal.SIGINT, 0}  # a shell says 130 of the first two
    # A worker of granian 2.8 may miss a signal that comes as it ends loading. It is killed after a while, as a
    # line tells, and has served nobody.
    for word in ("Traceback", "KeyboardInterrupt", "Exception"):
        assert word not in process.output


@pytest.mark.thorough
def test_start_keeps_what_admins_did_and_replaces_a_missing_dev_env(
    stopped_checkout: Checkout, connect: Connect
) -> None:
    """What is shipped goes live where nobody edited anything: tests/unit/registry/files/test_loader.py."""
    shipped = stopped_checkout.folder / "registry" / "shipped" / "groups.yaml"
    shipped.write_text(shipped.read_text().replace("Lookups that change nothing", "Newly shipped"))
    with connect(stopped_checkout):
        live = stored_releases.get_live_release()
        Op.objects.filter(op=OP).update(summary="Edited by an admin")
    assert live is not None
    before = stopped_checkout.dev_env
    (stopped_checkout.folder / "var" / "dev.env").unlink()

    with stopped_checkout.running() as server:
        assert "Not published" in server.process.output
        assert server.help(OP).headers["Gateway-Release"] == live.version
        assert server.help("util").json()["summary"] != "Newly shipped"

        after = stopped_checkout.dev_env
        assert after["GATEWAY_API_KEY"] != before["GATEWAY_API_KEY"]
        assert can_log_in(server, after["ADMIN_USERNAME"], after["ADMIN_PASSWORD"])
        assert not can_log_in(server, before["ADMIN_USERNAME"], before["ADMIN_PASSWORD"])

    assert files_of(stopped_checkout)["dev.env"][1] == "0o600"
    with connect(stopped_checkout):
        assert Op.objects.get(op=OP).summary == "Edited by an admin"
