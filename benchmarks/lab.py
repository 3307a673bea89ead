"""The benchmark environment: databases filled with catalogs of each size, and servers that use them."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote, urlsplit

import psycopg
from psycopg import sql

from benchmarks import servers
from benchmarks.load import request
from benchmarks.servers import Server
from tests import databases

SUBJECT = "benchmark-user"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A filled database: its URL, an API key, task ids, and the seconds that publishing and loading took."""

    url: str
    key: str
    tasks: list[str]
    publish_s: float
    load_s: float

    @property
    def headers(self) -> dict[str, str]:
        """The headers that a chat service sends with every call."""
        return {
            "Authorization": f"Bearer {self.key}",
            "Gateway-Subject": SUBJECT,
            "Gateway-Session": "benchmark-session",
            "Gateway-Turn": "turn-1",
        }

    def help(self, **parameters: str) -> bytes:
        """Return a help request with these query parameters."""
        query = "&".join(f"{name}={quote(value)}" for name, value in parameters.items())
        return request("GET", f"/api/v1/help?{query}", self.headers)

    def exec(self, op: str, args: dict[str, Any], **more: str) -> bytes:
        """Return an exec request for an op."""
        return self._post("exec", {"op": op, "args": args, **more})

    def batch(self, op: str, args: dict[str, Any], count: int, *, mode: str) -> bytes:
        """Return a batch request that runs an op `count` times."""
        return self._post("batch", {"ops": [{"type": "exec", "op": op, "args": args}] * count, "mode": mode})

    def _post(self, path: str, body: dict[str, Any]) -> bytes:
        return request("POST", f"/api/v1/{path}", self.headers, json.dumps(body, separators=(",", ":")).encode())


class Lab:
    """Fills each database once per run: SQLite in a temporary folder, or a PostgreSQL database of our own."""

    def __init__(self, folder: Path, postgres_url: str | None) -> None:
        self.postgres_url = postgres_url
        self._folder = folder
        self._prepared: dict[str, Prepared] = {}

    def sqlite(self, ops: int) -> Prepared:
        """Return an SQLite database with this many ops."""
        return self._filled(f"sqlite:///{self._folder / f'{ops}.sqlite3'}", ops)

    def spare(self, ops: int) -> Prepared:
        """Return a separate SQLite database whose copy may be overwritten."""
        return self._filled(f"sqlite:///{self._folder / f'spare-{ops}.sqlite3'}", ops)

    def postgres(self, ops: int) -> Prepared | None:
        """Return the PostgreSQL database, or None if there is none. The first call decides its number of ops."""
        return self._filled(self.postgres_url, ops) if self.postgres_url else None

    def gateway(self, prepared: Prepared, **variables: str) -> AbstractContextManager[Server]:
        """Serve the gateway on a database, with extra environment variables."""
        return servers.serving(servers.GATEWAY, environment(prepared.url) | variables, probe="/readyz")

    def worker(self, prepared: Prepared, **variables: str) -> AbstractContextManager[None]:
        """Run a Celery worker on a database."""
        return servers.working(environment(prepared.url) | variables)

    def bare(self, answer: bytes) -> AbstractContextManager[Server]:
        """Serve a bare Django REST framework app whose GET returns this JSON."""
        settings = {"DJANGO_SETTINGS_MODULE": "benchmarks.bare.settings", "BENCHMARKS_ANSWER": answer.decode()}
        return servers.serving(servers.BARE, settings, probe="/api/v1/help")

    def changed(self, prepared: Prepared, server: Server, seconds: float) -> dict[str, Any]:
        """Change releases under a running server for some seconds; return the results (see benchmarks.mixing)."""
        host, port = server.address
        return self._told(prepared, "change_releases", f"http://{host}:{port}", str(seconds))

    def reported(self, prepared: Prepared, events: int) -> dict[str, Any]:
        """Fill a database with events and return the times of the reports (see benchmarks.reports)."""
        return self._told(prepared, "measure_reports", str(events))

    def _told(self, prepared: Prepared, command: str, *arguments: str) -> dict[str, Any]:
        """Run a management command on a database and return the JSON that it prints."""
        variables = environment(prepared.url) | {"BENCHMARK_KEY": prepared.key}
        whole = [sys.executable, "manage.py", command, *arguments]
        done = subprocess.run(whole, cwd=servers.ROOT, env=os.environ | variables, stdout=subprocess.PIPE, check=True)
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def edited(self, prepared: Prepared, ops: int) -> dict[str, str]:
        """Edit some ops of the draft; return the headers of a logged-in admin's browser."""
        command = [sys.executable, "manage.py", "edit_draft", str(ops)]
        variables = os.environ | environment(prepared.url)
        done = subprocess.run(command, cwd=servers.ROOT, env=variables, stdout=subprocess.PIPE, check=True)
        return {"Cookie": done.stdout.decode().strip()}

    def _filled(self, url: str, ops: int) -> Prepared:
        if url not in self._prepared:
            print(f"Filling {url.partition(':')[0]} with {ops} ops", file=sys.stderr, flush=True)
            command = [sys.executable, "manage.py", "prepare_benchmark", str(ops)]
            # No process group of its own, so that Ctrl-C ends it too.
            done = subprocess.run(
                command, cwd=servers.ROOT, env=os.environ | environment(url), stdout=subprocess.PIPE, check=True
            )
            self._prepared[url] = Prepared(url=url, **json.loads(done.stdout))
        return self._prepared[url]


def environment(url: str) -> dict[str, str]:
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
def opened() -> Iterator[Lab]:
    """Open a lab and clean up afterwards. Without PostgreSQL, `postgres_url` is None."""
    with TemporaryDirectory(prefix="gateway-bench-") as folder:
        try:
            with databases.postgres() as found, _own_database(found.url) as url:
                yield Lab(Path(folder), url)
        except databases.NoPostgres as error:
            print(f"Skipping the benchmarks that need PostgreSQL: {error}", file=sys.stderr)
            yield Lab(Path(folder), None)


@contextmanager
def _own_database(url: str) -> Iterator[str]:
    """Create an empty database on the same server and drop it at the end."""
    name = f"{databases.NAME}_bench"
    _alone_in(url, "DROP DATABASE IF EXISTS {} WITH (FORCE)", name)  # left over from a killed run
    _alone_in(url, "CREATE DATABASE {}", name)
    try:
        yield _renamed(url, name)
    finally:
        _alone_in(url, "DROP DATABASE IF EXISTS {} WITH (FORCE)", name)


def _alone_in(url: str, statement: str, name: str) -> None:
    with psycopg.connect(_renamed(url, "postgres"), autocommit=True) as connection:
        connection.execute(sql.SQL(statement).format(sql.Identifier(name)))


def _renamed(url: str, name: str) -> str:
    parts = urlsplit(url)
    folder = parts.path.rpartition("/")[0]  # of a socket: postgres:////folder/name
    return f"{parts.scheme}://{parts.netloc}{folder}/{name}?{parts.query}"
