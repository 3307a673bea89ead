"""The benchmark environment: databases filled with catalogs of each size, and servers that use them."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any
from urllib.parse import quote, urlsplit

import psycopg
from environ import Env
from psycopg import sql

from benchmarks import run_size, servers
from benchmarks.figures import NotMeasured
from benchmarks.load import build_request
from benchmarks.servers import BenchmarkServer
from tools import databases

SUBJECT = "benchmark-user"
SQLITE = "sqlite:///"
UNREACHABLE = "http://localhost:9"  # the address of a service that is not called
LEAST_OPS = 10  # in a smoke run, apart from databases without synthetic ops

PUT_ALL_ON_GATEWAY = """
from analytics.rollout.models import Cohort
from analytics.flags import FlagKey
Cohort.objects.create(name="all", flag_id=FlagKey.SURFACE, variant="gateway", percentage=100)
"""


@dataclass(frozen=True, slots=True)
class PreparedDatabase:
    """A filled database: its URL, an API key, task ids, its number of ops, the seconds to publish and to load them."""

    url: str
    key: str
    tasks: list[str]
    ops: int  # synthetic ones
    publish_s: float
    load_s: list[float]  # of three rounds

    @property
    def headers(self) -> dict[str, str]:
        """The headers that a chat service sends with every call."""
        return {
            "Authorization": f"Bearer {self.key}",
            "Gateway-Subject": SUBJECT,
            "Gateway-Session": "benchmark-session",
            "Gateway-Turn": "turn-1",
        }

    def build_help_request(self, **parameters: str) -> bytes:
        """Return a help request with these query parameters."""
        query = "&".join(f"{name}={quote(value)}" for name, value in parameters.items())
        return build_request("GET", f"/api/v1/help?{query}", self.headers)

    def build_exec_request(self, op: str, args: dict[str, Any], **more: str) -> bytes:
        """Return an exec request for an op."""
        return self._build_post_request("exec", {"op": op, "args": args, **more})

    def build_batch_request(self, op: str, args: dict[str, Any], count: int, *, mode: str) -> bytes:
        """Return a batch request that runs an op `count` times."""
        return self._build_post_request(
            "batch", {"ops": [{"type": "exec", "op": op, "args": args}] * count, "mode": mode}
        )

    def _build_post_request(self, path: str, body: dict[str, Any]) -> bytes:
        return build_request("POST", f"/api/v1/{path}", self.headers, json.dumps(body, separators=(",", ":")).encode())


class CommandFailed(Exception):
    """A management command failed. The message has its name and its last line."""


class Lab:
    """Fills each database once per run: SQLite in a temporary folder, or a PostgreSQL database of our own."""

    def __init__(self, folder: Path, postgres_url: str | None) -> None:
        self.postgres_url = postgres_url
        self._folder = folder
        self._prepared: dict[str, PreparedDatabase] = {}
        self._broken: dict[str, CommandFailed] = {}  # by URL
        self._has_demo = False
        self._demo_key = ""

    def get_sqlite(self, ops: int) -> PreparedDatabase:
        """Return an SQLite database with this many ops, fewer in a smoke run."""
        return self._fill_once(f"{SQLITE}{self._folder / f'{ops}.sqlite3'}", ops)

    def get_spare_sqlite(self, ops: int) -> PreparedDatabase:
        """Return a separate SQLite database whose copy may be overwritten."""
        return self._fill_once(f"{SQLITE}{self._folder / f'spare-{ops}.sqlite3'}", ops)

    def get_postgres(self, ops: int) -> PreparedDatabase:
        """Return the PostgreSQL database. The first call decides its number of ops. Raises NotMeasured."""
        if self.postgres_url is None:
            raise NotMeasured("It needs PostgreSQL; the beginning of the run says what was tried.")
        return self._fill_once(self.postgres_url, ops)

    def serve_gateway(self, prepared: PreparedDatabase, **variables: str) -> AbstractContextManager[BenchmarkServer]:
        """Serve the gateway on a database, with extra environment variables."""
        return servers.run_server(servers.GATEWAY, build_environment(prepared.url) | variables, probe="/readyz")

    def serve_production(self, prepared: PreparedDatabase, log: IO[str]) -> AbstractContextManager[BenchmarkServer]:
        """Serve the gateway on a database with the settings of `make run`. Its output goes to a log."""
        variables = {
            "AGENTIC_CHAT_TOOL_GATEWAY": "on",
            "PROMETHEUS_MULTIPROC_DIR": str(self._folder / "metrics"),  # that of a server of this checkout is in var/
        }
        environment = build_environment(prepared.url) | variables
        return servers.run_server(servers.GATEWAY, environment, probe="/readyz", log=log)

    def run_worker(self, prepared: PreparedDatabase, **variables: str) -> AbstractContextManager[None]:
        """Run a Celery worker on a database."""
        return servers.run_worker(build_environment(prepared.url) | variables)

    def serve_bare(self, answer: bytes) -> AbstractContextManager[BenchmarkServer]:
        """Serve a bare Django REST framework app whose GET returns this JSON."""
        settings = {"DJANGO_SETTINGS_MODULE": "benchmarks.bare.settings", "BENCHMARKS_ANSWER": answer.decode()}
        return servers.run_server(servers.BARE, settings, probe="/api/v1/help")

    def change_releases(self, prepared: PreparedDatabase, server: BenchmarkServer, seconds: float) -> dict[str, Any]:
        """Change releases under a running server for some seconds; return the results (see benchmarks.mixing)."""
        host, port = server.address
        return self._run_command(prepared, "change_releases", f"http://{host}:{port}", str(seconds))

    def measure_reports(self, prepared: PreparedDatabase, events: int) -> dict[str, Any]:
        """Fill a database with events and return the times of the reports (see benchmarks.reports)."""
        return self._run_command(prepared, "measure_reports", str(events))

    def measure_rollups(self, prepared: PreparedDatabase, users: int) -> dict[str, Any]:
        """Roll up minutes of events by this many users; return the CPU seconds (see benchmarks.rollups)."""
        return self._run_command(prepared, "measure_rollups", str(users))

    def measure_polls(self, prepared: PreparedDatabase, keys: int) -> dict[str, Any]:
        """Verify this many keys in a process; return the times of its polls (see benchmarks.polls)."""
        return self._run_command(prepared, "measure_polls", str(keys))

    def get_empty_sqlite(self, name: str) -> PreparedDatabase:
        """Return a separate SQLite database without synthetic ops, for a document to import."""
        return self._fill_once(f"{SQLITE}{self._folder / f'{name}.sqlite3'}", 0)

    def connect_service(self, prepared: PreparedDatabase, url: str) -> str:
        """Import the OpenAPI document at an address, publish its ops, and return the op that the figures call."""
        op: str = self._run_command(prepared, "connect_service", url)["op"]
        return op

    def connect_mcp_server(self, prepared: PreparedDatabase, url: str) -> str:
        """Import the tools of the MCP server at an address, publish them, and return the op that the figure calls."""
        op: str = self._run_command(prepared, "connect_service", url, "--mcp")["op"]
        return op

    def measure_import(self, prepared: PreparedDatabase, operations: int) -> dict[str, Any]:
        """Map and import a document into a database; return the seconds (see benchmarks.imports)."""
        return self._run_command(prepared, "measure_import", str(operations))

    def judge_arms(self, path: Path) -> list[dict[str, Any]]:
        """Judge the experiments of a file; return the results."""
        results: list[dict[str, Any]] = json.loads(_run_manage("sqlite://:memory:", "judge_arms", str(path)))
        return results

    def serve_chat(self, prepared: PreparedDatabase, **variables: str) -> AbstractContextManager[BenchmarkServer]:
        """Serve the chat on a database, with extra environment variables."""
        environment = build_environment(prepared.url) | {"LLM_BASE_URL": ""} | variables
        return servers.run_server(servers.CHAT, environment, probe="/healthz")

    def get_demo(self) -> PreparedDatabase:
        """Return a database with the shipped catalog, the demo workspace, and a key for any subject.

        All subjects are on the gateway surface.
        """
        self._set_up_demo()
        if not self._demo_key:
            self._run_on_demo("shell", "-c", PUT_ALL_ON_GATEWAY)
            self._demo_key = self._run_on_demo("create_api_key", "chat", "--rate", "100000").decode().strip()
        return PreparedDatabase(self._demo_url, self._demo_key, tasks=[], ops=0, publish_s=0, load_s=[])

    def run_on_demo(self, command: str) -> list[dict[str, Any]]:
        """Run a management command on the shipped catalog and the demo workspace; return the figures that it prints."""
        self._set_up_demo()
        output: list[dict[str, Any]] = json.loads(self._run_on_demo(command, "--json"))
        return output

    def run_on_shop(self, command: str) -> list[dict[str, Any]]:
        """Do the same with the ops of the example shop besides, which does not run: for calls that do not reach it."""
        self._set_up_demo()
        url = f"{SQLITE}{self._folder / 'shop.sqlite3'}"
        shutil.copyfile(self._demo_url.removeprefix(SQLITE), url.removeprefix(SQLITE))
        _run_manage(url, "load_demo", "--shop", UNREACHABLE)
        output: list[dict[str, Any]] = json.loads(_run_manage(url, command, "--json"))
        return output

    @property
    def _demo_url(self) -> str:
        return f"{SQLITE}{self._folder / 'demo.sqlite3'}"

    def _set_up_demo(self) -> None:
        if not self._has_demo:
            self._copy_migrated(self._demo_url)
            self._run_on_demo("load_catalog", "--publish")
            self._run_on_demo("load_demo")
            self._has_demo = True

    def _run_on_demo(self, *arguments: str) -> bytes:
        return _run_manage(self._demo_url, *arguments)

    def count_stored(self, prepared: PreparedDatabase) -> dict[str, Any]:
        """Return what a database stores about the calls (see the command count_stored)."""
        return self._run_command(prepared, "count_stored")

    def _run_command(self, prepared: PreparedDatabase, command: str, *arguments: str) -> dict[str, Any]:
        """Run a management command on a database and return the JSON that it prints."""
        output: dict[str, Any] = json.loads(_run_manage(prepared.url, command, *arguments, BENCHMARK_KEY=prepared.key))
        return output

    def edit_draft(self, prepared: PreparedDatabase, ops: int) -> dict[str, str]:
        """Edit some ops of the draft; return the headers of a logged-in admin's browser."""
        return {"Cookie": _run_manage(prepared.url, "edit_draft", str(ops)).decode().strip()}

    def _fill_once(self, url: str, ops: int) -> PreparedDatabase:
        if url in self._broken:
            raise self._broken[url]
        if url not in self._prepared:
            number = run_size.shrink(ops, least=LEAST_OPS)
            print(f"Filling {url.partition(':')[0]} with {number} ops", file=sys.stderr, flush=True)
            try:
                self._copy_migrated(url)
                output = _run_manage(url, "prepare_benchmark", str(number))
            except CommandFailed as error:
                self._broken[url] = error  # half full, so that filling it again would fail for another reason
                raise
            self._prepared[url] = PreparedDatabase(url=url, ops=number, **json.loads(output))
        return self._prepared[url]

    def _copy_migrated(self, url: str) -> None:
        """Begin a new SQLite database with the tables of the first one. To create them takes ten seconds."""
        if not url.startswith(SQLITE):
            return
        migrated = self._folder / "migrated.sqlite3"
        if not migrated.exists():
            _run_manage(f"{SQLITE}{migrated}", "migrate", "-v0")
        shutil.copyfile(migrated, url.removeprefix(SQLITE))


def _run_manage(url: str, *arguments: str, **variables: str) -> bytes:
    """Run a management command on a database and return what it prints. Raises CommandFailed.

    It shares our process group, so that Ctrl-C also ends it.
    """
    process = subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=servers.ROOT,
        env=os.environ | build_environment(url) | variables,
        capture_output=True,
        check=False,
    )
    messages = process.stderr.decode(errors="replace")
    sys.stderr.write(messages)
    if process.returncode != 0:
        last_line = (messages.strip().splitlines() or [f"exit code {process.returncode}"])[-1]
        raise CommandFailed(f"manage.py {arguments[0]}: {last_line}")
    return process.stdout


def build_environment(url: str) -> dict[str, str]:
    """Return the environment of a gateway on a database. It overrides what .env and var/ contain."""
    return {
        "DJANGO_SETTINGS_MODULE": "benchmarks.settings",
        "GATEWAY_ENV": "local",
        "DATABASE_URL": url,
        "SECRET_KEY": "of no use outside a benchmark, and made for nothing else",
        "GATEWAY_KEY_PEPPER": "of no use outside a benchmark either",
        "LOG_LEVEL": "WARNING",
        "MALLOC_ARENA_MAX": "2",  # the same as in manage.py start and the image
    }


@contextmanager
def open_lab() -> Iterator[Lab]:
    """Open a lab and clean up afterwards. Without PostgreSQL, `postgres_url` is None."""
    Env.read_env(databases.ROOT / ".env")  # as settings do: it may contain DATABASE_URL
    with _lock_checkout(), TemporaryDirectory(prefix="gateway-bench-") as folder:
        try:
            with databases.open_postgres() as postgres_server, _create_database(postgres_server.url) as url:
                yield Lab(Path(folder), url)
        except databases.NoPostgres as error:
            print(f"Skipping the benchmarks that need PostgreSQL: {error}", file=sys.stderr)
            yield Lab(Path(folder), None)


@contextmanager
def _lock_checkout() -> Iterator[None]:
    """Wait until no other benchmark runs in this checkout: it would disturb the timings and drop our database."""
    databases.VAR.mkdir(mode=0o700, exist_ok=True)
    with (databases.VAR / "bench.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def _create_database(url: str) -> Iterator[str]:
    """Create an empty database on the same server and drop it at the end."""
    name = f"{databases.NAME}_bench"
    _execute_ddl(url, "DROP DATABASE IF EXISTS {} WITH (FORCE)", name)  # left over from a killed run
    _execute_ddl(url, "CREATE DATABASE {}", name)
    try:
        yield _replace_database_name(url, name)
    finally:
        _execute_ddl(url, "DROP DATABASE IF EXISTS {} WITH (FORCE)", name)


def _execute_ddl(url: str, statement: str, name: str) -> None:
    with psycopg.connect(_replace_database_name(url, "postgres"), autocommit=True) as connection:
        connection.execute(sql.SQL(statement).format(sql.Identifier(name)))


def _replace_database_name(url: str, name: str) -> str:
    parts = urlsplit(url)
    folder = parts.path.rpartition("/")[0]  # of a socket: postgres:////folder/name
    return f"{parts.scheme}://{parts.netloc}{folder}/{name}?{parts.query}"
