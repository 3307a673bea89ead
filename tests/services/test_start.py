"""manage.py start, which make run calls: everything from nothing, and nothing twice."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from pytest_django.plugin import DjangoDbBlocker

from gateway.models import Scope
from tests.support.cpu_budget import is_thorough
from tests.support.servers import checkouts, stores
from tests.support.servers.checkouts import Checkout, may_log_in
from tests.support.servers.processes import STARTS_WITHIN, Process, Server, eventually, free_port
from workspace.demo import DEMO_SUBJECT, DEMO_TASK_ID

pytestmark = pytest.mark.server

OP = "onto.task.update"
EDIT = f"from registry.models import Op; Op.objects.filter(op={OP!r}).update(summary='Edited by an admin')"
PUBLISH = (
    "from django.utils import timezone; from registry.releases import publishing;"
    " publishing.publish_draft(note='Edited', by='admin', at=timezone.now())"
)
# All that a start could change: rows of every kind, and the pointer to the live release.
STATE = (
    "[[model._meta.label, model.objects.count()] for model in apps.get_models() if model._meta.label != "
    "'analytics.OperationEvent'] + [Activation.objects.get(is_live=True).release_id,"
    " publishing.compute_draft_version()]"
)
IMPORTS = (
    "from django.apps import apps; from registry.releases import publishing; from registry.models import Activation"
)


@pytest.fixture
def checkout(django_db_blocker: DjangoDbBlocker, tmp_path: Path) -> Iterator[Checkout]:
    """A fresh checkout: on SQLite with an empty environment, else with an empty database in DATABASE_URL."""
    folder = tmp_path / "checkout"
    if connection.vendor == "sqlite":
        yield checkouts.copied(folder)
        return
    with django_db_blocker.unblock():
        store = stores.make(tmp_path)
    yield checkouts.copied(folder, DATABASE_URL=store.url)
    with django_db_blocker.unblock():
        stores.drop(store)


@pytest.fixture(scope="module")
def brought_up(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A checkout on SQLite that was started once, for copies."""
    checkout = checkouts.copied(tmp_path_factory.mktemp("start") / "checkout")
    with checkout.started():
        pass
    return checkout


@pytest.fixture
def old_checkout(brought_up: Checkout, tmp_path: Path) -> Checkout:
    """A checkout that was started before, and is stopped."""
    return checkouts.copy_of(brought_up, tmp_path / "checkout")


def files_of(checkout: Checkout) -> dict[str, Any]:
    """Return what the secret files say, and their modes."""
    paths = [checkout.folder / "var" / name for name in ("dev.env", "secrets.json")]
    return {path.name: (path.read_bytes(), oct(path.stat().st_mode & 0o777)) for path in paths}


@pytest.mark.both_databases
def test_start_brings_up_everything_and_then_changes_nothing(checkout: Checkout) -> None:
    with checkout.started() as server:
        known = checkout.dev_env
        _holds_what_it_says(server, known)
        _commands_reach_what_it_serves(checkout, server)
        _refuses_to_run_twice(checkout, server)

    scopes = checkout.ask("ApiKey.objects.get().scopes", first="from gateway.models import ApiKey")
    assert sorted(scopes) == sorted(Scope.values)
    files, state = files_of(checkout), checkout.ask(STATE, first=IMPORTS)
    assert {mode for _, mode in files.values()} == {"0o600"}
    assert (checkout.folder / "var").stat().st_mode & 0o777 == 0o700

    began = time.monotonic()
    with checkout.started(server.port):  # the lock went with the server
        assert time.monotonic() - began < 20
        assert files_of(checkout) == files
    assert [each for each in checkout.ask(STATE, first=IMPORTS) if each not in state] == []

    with checkout.started(other := free_port()) as moved:
        assert checkout.dev_env == {**known, "GATEWAY_URL": f"http://127.0.0.1:{other}"}
        assert files_of(checkout)["dev.env"][1] == "0o600"
        assert moved.help().status_code == 200


def _holds_what_it_says(server: Server, known: dict[str, str]) -> None:
    assert sorted(known) == [*("ADMIN_PASSWORD", "ADMIN_USERNAME", "GATEWAY_API_KEY", "GATEWAY_SUBJECT", "GATEWAY_URL")]
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
    assert may_log_in(server, known["ADMIN_USERNAME"], known["ADMIN_PASSWORD"])
    assert not may_log_in(server, known["ADMIN_USERNAME"], "another password")


def _commands_reach_what_it_serves(checkout: Checkout, server: Server) -> None:
    """Commands with the same environment work on the server's own database."""
    task = server.exec("onto.task.get", {"task_id": DEMO_TASK_ID}).json()["result"]["task"]
    rows = f"Task.objects.filter(pk={DEMO_TASK_ID!r})"
    changed = f"[{rows}.get().title, {rows}.update(title='From the shell')]"
    assert checkout.ask(changed, first="from workspace.models import Task") == [task["title"], 1]
    again = server.exec("onto.task.get", {"task_id": DEMO_TASK_ID}).json()["result"]["task"]
    assert again["title"] == "From the shell"


def _refuses_to_run_twice(checkout: Checkout, server: Server) -> None:
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


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_start_prints_a_curl_that_works_as_it_stands(old_checkout: Checkout) -> None:
    with old_checkout.started() as server:
        printed = [line.strip() for line in server.process.output.splitlines()]
        commands = [line for line in printed if line.startswith((". ", "curl "))]
        told = subprocess.run(
            ["sh", "-euc", "\n".join(commands)], cwd=old_checkout.folder, capture_output=True, text=True, check=False
        )

    assert len(commands) == 2
    assert json.loads(told.stdout)["path"] == "root"


def test_start_makes_a_new_key_and_password_when_dev_env_is_lost(old_checkout: Checkout) -> None:
    before = old_checkout.dev_env
    (old_checkout.folder / "var" / "dev.env").unlink()

    with old_checkout.started() as server:
        after = old_checkout.dev_env

        assert after["GATEWAY_API_KEY"] != before["GATEWAY_API_KEY"]
        assert server.help().status_code == 200
        assert may_log_in(server, after["ADMIN_USERNAME"], after["ADMIN_PASSWORD"])
        assert not may_log_in(server, before["ADMIN_USERNAME"], before["ADMIN_PASSWORD"])
    assert files_of(old_checkout)["dev.env"][1] == "0o600"


def test_start_makes_a_key_and_an_admin_in_a_database_that_lacks_them(old_checkout: Checkout, tmp_path: Path) -> None:
    old_checkout.variables["DATABASE_URL"] = f"sqlite:///{tmp_path / 'other.sqlite3'}"

    with old_checkout.started() as server:
        known = old_checkout.dev_env
        assert server.help().status_code == 200
        assert may_log_in(server, known["ADMIN_USERNAME"], known["ADMIN_PASSWORD"])


def test_start_refuses_a_port_that_is_taken(checkout: Checkout) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])

        refused = checkout.command("start", PORT=port)

    assert refused.returncode == 1
    assert refused.stderr.strip() == f"CommandError: Port {port} is taken. Choose another: PORT=8001 make run"
    assert not (checkout.folder / "var" / "dev.env").exists()


@pytest.mark.parametrize("port", ["http", "0", "65536", "-1", "²", ""])
def test_start_refuses_a_port_that_is_none(monkeypatch: pytest.MonkeyPatch, port: str) -> None:
    monkeypatch.setenv("PORT", port)

    with pytest.raises(CommandError) as refused:
        call_command("start")  # which looks at the port before it does anything

    assert str(refused.value) == f"PORT is {port!r}; set it to a number from 1 to 65535."


def test_start_ends_quietly_when_it_is_broken_off_in_a_new_checkout(checkout: Checkout) -> None:
    _break_off(checkout, lambda _: (checkout.folder / "var" / "start.lock").exists())  # at the migrations


# What it has printed by then: of the catalog, of itself as it becomes the server, of a worker.
@pytest.mark.parametrize("printed", ["The live release is up to date.", "Ctrl-C stops it.", "release.live "])
def test_start_ends_quietly_when_it_is_broken_off(old_checkout: Checkout, printed: str) -> None:
    _break_off(old_checkout, lambda process: printed in process.output)


@pytest.mark.parametrize("later", [0.1, 0.3, 0.5, 1.0] if is_thorough() else [0.2])  # seconds: the workers load then
def test_server_of_start_ends_quietly_while_it_loads(old_checkout: Checkout, later: float) -> None:
    _break_off(old_checkout, lambda process: "Ctrl-C stops it." in process.output, later)


def _break_off(checkout: Checkout, is_under_way: Callable[[Process], bool], later: float = 0) -> None:
    """Start, send Ctrl-C once something is under way (or some seconds later), and see that all ends without a word."""
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
    # A worker of granian 2.8 may miss a signal that comes as it ends loading. It is killed after five seconds, as a
    # line tells, and has served nobody.
    for word in ("Traceback", "KeyboardInterrupt", "Exception"):
        assert word not in process.output


def _of(answer: httpx2.Response, *, release: str) -> httpx2.Response | None:
    return answer if answer.headers["Gateway-Release"] == release else None


def test_start_keeps_a_release_that_was_published_meanwhile(old_checkout: Checkout) -> None:
    with old_checkout.started() as server:
        version = old_checkout.ask("publishing.get_live_release().version", first=f"{EDIT}\n{PUBLISH}")
        # Each worker follows in its own half second, so that text and release are read from one answer.
        followed = eventually(lambda: _of(server.help(OP), release=version), within=2, what="the publish")
        assert followed.json()["summary"] == "Edited by an admin"

    with old_checkout.started() as again:
        assert again.help(OP).headers["Gateway-Release"] == version
        assert again.help(OP).json()["summary"] == "Edited by an admin"


def test_start_neither_overwrites_nor_publishes_an_edit_but_publishes_what_is_shipped(old_checkout: Checkout) -> None:
    shipped = old_checkout.folder / "registry" / "shipped" / "groups.yaml"
    first = old_checkout.ask("publishing.get_live_release().version", first="from registry.releases import publishing")
    shipped.write_text(shipped.read_text().replace("Lookups that change nothing", "Newly shipped"))
    with old_checkout.started() as server:  # nobody has edited anything: what is shipped goes live
        second = server.help(OP)
        assert server.help("util").json()["summary"] == "Newly shipped"
        assert second.headers["Gateway-Release"] != first

    old_checkout.ask("True", first=EDIT)
    shipped.write_text(shipped.read_text().replace("Newly shipped", "Shipped later"))
    with old_checkout.started() as server:
        assert server.help(OP).headers["Gateway-Release"] == second.headers["Gateway-Release"]
        assert server.help(OP).json() == second.json()
        assert "Not published" in server.process.output

    summary = old_checkout.ask(f"Op.objects.get(op={OP!r}).summary", first="from registry.models import Op")
    assert summary == "Edited by an admin"
