"""The server as the image runs it: its command, its probe, its stop, its numbers; and a backup that is restored."""

import json
import os
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import httpx2
import pytest
from django.conf import settings
from django.db import connection
from django.test import override_settings
from pytest_django.plugin import DjangoDbBlocker

from analytics.events.models import OperationEvent
from tests.support.clients.metric_values import read_metric
from tests.support.servers import checkouts, stores
from tests.support.servers.environment import PEPPER, SECRETS, make_key
from tests.support.servers.processes import (
    PLAIN_HTTP,
    Process,
    Server,
    eventually,
    free_port,
    kill_process,
    wait_until_ready,
)
from tests.support.servers.production import run_manage
from tests.support.servers.stores import Store
from workspace.demo import DEMO_PROJECT_ID
from workspace.models import Task

pytestmark = pytest.mark.server

DOCKERFILE = (Path(settings.BASE_DIR) / "Dockerfile").read_text().replace("\\\n", "").splitlines()
HOST = "gateway.example.com"
TOKEN = "the token of the test's own scraper"
IN_FLIGHT = 3.0  # seconds
IDLE_STOPS_WITHIN = 10.0  # seconds; one where the machine is not busy


def read_instruction(instruction: str) -> str:
    """Return the arguments of the last instruction in the Dockerfile that begins with this text."""
    return next(line.removeprefix(instruction) for line in reversed(DOCKERFILE) if line.startswith(instruction))


def read_image_command(instruction: str) -> list[str]:
    """Return the command of the Dockerfile's CMD or HEALTHCHECK."""
    arguments = read_instruction(instruction)
    command: list[str] = json.loads(arguments[arguments.index("[") :])
    return command


def parse_variables(text: str) -> dict[str, str]:
    """Return the variables that a shell line sets, except PATH."""
    pairs = (word.partition("=") for word in shlex.split(text))
    return {name: value for name, equals, value in pairs if equals and name.isupper() and name != "PATH"}


def environment_of(store: Store, folder: Path, **variables: str) -> dict[str, str]:
    """Return the variables of a production server over a database."""
    return {
        **parse_variables(read_instruction("ENV ")),
        **SECRETS,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PORT": str(free_port()),
        "PROMETHEUS_MULTIPROC_DIR": str(folder / "metrics"),
        "GATEWAY_SPOOL_FOLDER": str(folder / "spool"),
        "ALLOWED_HOSTS": f"{HOST},127.0.0.1",
        "DATABASE_URL": store.url,
        "GATEWAY_METRICS_TOKEN": TOKEN,
        "DJANGO_SETTINGS_MODULE": "tests.support.servers.probe_settings",
        **variables,
    }


@contextmanager
def production(environment: dict[str, str], *, key: str, folder: Path = settings.BASE_DIR) -> Iterator[Server]:
    """Run the image's command until it is ready; stop it in the end."""
    process = Process(read_image_command("CMD"), environment=environment, folder=folder)
    server = Server(int(environment["PORT"]), process, key, {"X-Forwarded-Proto": "https"})
    with process.stopped_afterwards():
        wait_until_ready(process, server.url)
        yield server


@pytest.fixture
def started(store: Store, tmp_path: Path) -> Iterator[Callable[..., Server]]:
    with ExitStack() as stack:

        def start(**variables: str) -> Server:
            server = stack.enter_context(production(environment_of(store, tmp_path, **variables), key=make_key()))
            with server.workers():
                return server

        yield start


@pytest.fixture(scope="session")
def production_for_all(
    set_up_store: Store, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Server, Store]]:
    folder = tmp_path_factory.mktemp("production")
    with ExitStack() as stack:
        with django_db_blocker.unblock(), override_settings(GATEWAY_KEY_PEPPER=PEPPER):
            copy = stores.create_store(folder, set_up_store)
            with copy.connected():
                key = make_key()
        server = stack.enter_context(production(environment_of(copy, folder), key=key))
        with server.workers():
            pass
        yield server, copy
    with django_db_blocker.unblock():
        stores.drop_store(copy)


@pytest.fixture
def running(production_for_all: tuple[Server, Store], django_db_blocker: DjangoDbBlocker) -> Iterator[Server]:
    """A production server that the tests of this module share."""
    server, copy = production_for_all
    with django_db_blocker.unblock(), copy.connected():
        yield server


@pytest.mark.thorough
def test_command_runs_in_a_fresh_container(store: Store) -> None:
    variables = {
        **parse_variables(read_instruction("ENV ")),
        **SECRETS,
        "ALLOWED_HOSTS": HOST,
        "DATABASE_URL": store.url,
    }
    ran = run_manage("migrate", "--plan", **variables)

    assert ran.returncode == 0, ran.stderr


def test_stop_answers_every_call_that_was_accepted(started: Callable[..., Server], folder: Path) -> None:
    server = started()
    with ThreadPoolExecutor() as pool, ExitStack() as stack:
        held = pool.submit(server.exec, "probe.hold", {"folder": str(folder)})
        eventually(lambda: list(folder.iterdir()), within=20, what="the handler's begin")
        calls = [stack.enter_context(closing(HTTPConnection("127.0.0.1", server.port, timeout=60))) for _ in range(100)]
        for number, call in enumerate(calls):  # each is accepted before the server stops
            call.request("GET", "/healthz", headers=server.headers)
            assert call.getresponse().read()
            body = {"op": "probe.keep", "args": {"title": f"In flight {number}"}, "idempotency_key": f"flight-{number}"}
            call.request(
                "POST", "/api/v1/exec", json.dumps(body), {**server.headers, "Content-Type": "application/json"}
            )
        assert calls[0].getresponse().status == 200
        start = time.monotonic()
        server.process.inner.send_signal(signal.SIGTERM)
        threading.Timer(IN_FLIGHT, (folder / "go").touch).start()

        assert [call.getresponse().status for call in calls[1:]] == [200] * 99
        assert held.result().json()["ok"] is True
    assert time.monotonic() - start >= IN_FLIGHT
    assert server.process.inner.wait(25) == 0
    assert Task.objects.filter(title__startswith="In flight").count() == 100
    assert OperationEvent.objects.filter(op="probe.hold", ok=True).count() == 1  # flushed, though made at the end


@pytest.mark.parametrize(
    "moment", [pytest.param("when one worker is ready", marks=pytest.mark.thorough), "when all are"]
)
def test_idle_server_stops_at_once(store: Store, tmp_path: Path, moment: str) -> None:
    environment = environment_of(store, tmp_path)
    with production(environment, key=make_key()) as server, ExitStack() as stack:
        if moment == "when all are":
            stack.enter_context(server.workers())  # their connections stay open
        start = time.monotonic()

        assert server.process.stop() == 0

    # Not by the log: granian may say that it kills a worker which ended a moment before.
    assert time.monotonic() - start < IDLE_STOPS_WITHIN


def test_metrics_cover_all_workers_and_require_the_token(running: Server) -> None:
    labels = {"type": "exec", "kind": "read", "code": "OK", "reason": ""}

    def read_metrics() -> str:
        return httpx2.get(f"{running.url}/metrics", headers={"Authorization": f"Bearer {TOKEN}"}, **PLAIN_HTTP).text

    def count_calls() -> float:
        return read_metric("gateway_calls_total", read_metrics(), **labels)

    before = count_calls()
    with running.workers() as workers:  # each answers at least one, over a connection that stays with it
        calls = sum(
            1
            for http in workers.values()
            for _ in range(5)
            if http.post("/api/v1/exec", json={"op": "probe.process"}).is_success
        )
        eventually(lambda: count_calls() - before >= 10 + len(workers))  # another worker counts in bulk

    assert calls == 10
    assert read_metric("gateway_release_live", read_metrics()) == 1
    assert time.time() - read_metric("gateway_last_poll_timestamp_seconds", read_metrics()) < 5
    assert httpx2.get(f"{running.url}/metrics", **PLAIN_HTTP).status_code == 404


def test_metrics_continue_after_a_worker_was_killed(running: Server) -> None:
    url, headers = f"{running.url}/metrics", {"Authorization": f"Bearer {TOKEN}"}
    with running.workers() as workers:
        kill_process(next(iter(workers)))
        gone = next(iter(workers))
    with running.workers() as workers:
        assert gone not in workers

    def live() -> list[str]:
        text = httpx2.get(url, headers=headers, **PLAIN_HTTP).text
        return re.findall(r"^gateway_release_live .*$", text, re.MULTILINE)

    assert live() == ["gateway_release_live 1.0"]


def test_log_lines_are_json_with_the_trace_of_the_request(running: Server) -> None:
    response = running.exec("no.such.op")

    trace = response.headers["Gateway-Trace"]
    lines = eventually(lambda: [line for line in running.process.lines if trace in line])
    record = json.loads(lines[0])
    assert (record["logger"], record["trace"]) == ("gateway.execution.pipeline", trace)
    assert record["release"] == response.headers["Gateway-Release"]
    assert running.key not in running.process.output


def test_image_serves_its_static_files_and_is_healthy(
    store: Store, tmp_path: Path, django_db_blocker: DjangoDbBlocker
) -> None:
    checkout = checkouts.copy_checkout(tmp_path / "app")
    build = parse_variables(next(line for line in DOCKERFILE if "collectstatic" in line))
    built = checkout.command("collectstatic", "--noinput", "--verbosity", "0", GATEWAY_ENV="production", **build)
    assert built.returncode == 0, built.stderr

    environment = environment_of(store, tmp_path, DJANGO_SETTINGS_MODULE="config.settings")
    with production(environment, key=make_key(), folder=checkout.folder) as server, server.client() as http:
        page = http.get("/admin/login/").text
        styles = re.findall(r'href="(/static/chat/plain\.[0-9a-f]{12}\.css)"', page)
        assert len(styles) == 1
        style = http.get(styles[0])
        assert style.status_code == 200
        assert "immutable" in style.headers["Cache-Control"]
        healthy = subprocess.run(
            read_image_command("HEALTHCHECK"), env=environment, capture_output=True, text=True, check=False
        )
        assert healthy.returncode == 0, healthy.stderr
    unhealthy = subprocess.run(read_image_command("HEALTHCHECK"), env=environment, capture_output=True, check=False)
    assert unhealthy.returncode != 0


def test_image_contains_only_what_runs() -> None:
    allowed = (Path(settings.BASE_DIR) / ".dockerignore").read_text().splitlines()
    packages = {app for app in settings.INSTALLED_APPS if (Path(settings.BASE_DIR) / app).is_dir()}

    assert "*" in allowed
    expected = {*packages, "config", "core", "docs", "static", "templates", "manage.py", "requirements/base.txt"}
    assert {line[1:] for line in allowed if line.startswith("!")} == expected


def test_restored_backup_replays_old_keys_and_accepts_its_callers(
    store: Store, tmp_path: Path, django_db_blocker: DjangoDbBlocker
) -> None:
    key = make_key()
    args: dict[str, Any] = {"project_id": DEMO_PROJECT_ID, "title": "Before the flood"}
    with production(environment_of(store, tmp_path), key=key) as server:
        first = server.exec("onto.task.create", args, idempotency_key="before").json()
        assert first["ok"] is True
        restored = back_up_and_restore(store, tmp_path)
        server.exec("onto.task.update", {"task_id": first["result"]["task"]["id"], "title": "After the flood"})

    try:
        with production(environment_of(restored, tmp_path), key=key) as server:
            again = server.exec("onto.task.create", args, idempotency_key="before").json()
            result = server.exec("onto.task.search", {"query": "the flood"}).json()["result"]
            new = server.exec("onto.task.create", args, idempotency_key="after").json()
    finally:
        stores.drop_store(restored)

    assert again["meta"]["replayed"] is True
    assert again["result"] == first["result"]
    assert [task["title"] for task in result["tasks"]] == ["Before the flood"]
    assert new["result"]["task"]["id"] != first["result"]["task"]["id"]


def back_up_and_restore(store: Store, folder: Path) -> Store:
    """Back up a database in use as docs/deploy.md describes, and restore it into a new one."""
    if connection.vendor == "sqlite":
        restored = stores.create_store(folder)
        with closing(sqlite3.connect(store.name)) as source, closing(sqlite3.connect(restored.name)) as target:
            source.backup(target)
        return restored
    if shutil.which("pg_dump") is None or shutil.which("pg_restore") is None:
        pytest.skip("pg_dump and pg_restore are not installed (Debian: postgresql-client)")
    restored = stores.create_store(folder)
    dump = str(folder / "gateway.dump")
    for command in (
        ["pg_dump", "--format=custom", "--no-owner", f"--file={dump}", store.url],
        ["pg_restore", "--no-owner", "--exit-on-error", f"--dbname={restored.url}", dump],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    return restored
