"""A PostgreSQL server for one test, which may stop and start it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import connection

from tests.support.servers.stores import Store

needs_postgres = pytest.mark.skipif(
    settings.DATABASES["default"]["ENGINE"] != "django.db.backends.postgresql",
    reason="by design: what only PostgreSQL does, such as workers in processes of their own",
)

SET_UP = """
import sys
import django
django.setup()
from django.db import connection
from tests.support.servers.environment import make_key
from tests.support.servers.stores import Store
from tests.support.upstreams.http_upstream import build_read, publish_ops

store = Store(connection.settings_dict["NAME"])
store.migrate()
store.set_up()
for url in sys.argv[1:]:
    publish_ops(build_read(), base_url=url)
print(make_key())
"""


class Postgres:
    """A server with one database, filled as by `make run`, and an API key."""

    def __init__(self, process: "subprocess.Popen[str]", url: str) -> None:
        self._process = process
        self.url = url
        self.key = ""

    def stop(self) -> None:
        """Stop the server like a crash."""
        self._do("stop")

    def start(self) -> None:
        """Start the server again. It accepts connections when this returns."""
        self._do("start")

    def add_standby(self) -> None:
        """Start a second server, which has every commit before it is answered. The URL names both."""
        self._do("standby")
        folder = self.url.rpartition("host=")[2]
        self.url = self.url.replace(folder, f"{folder},{folder}-standby&target_session_attrs=read-write")

    def promote(self) -> None:
        """Let the standby take over from the server that was stopped."""
        self._do("promote")

    def fill(self, environment: dict[str, str], *upstream_urls: str) -> None:
        """Create and fill the database in a process with these variables. Each service gets an op that reads."""
        with psycopg.connect(self._base, autocommit=True) as connected:
            connected.execute(f'CREATE DATABASE "{self._name}"')  # type: ignore[call-overload]
        command = [sys.executable, "-c", SET_UP, *upstream_urls]
        done = subprocess.run(
            command, cwd=settings.BASE_DIR, env=environment, stdout=subprocess.PIPE, text=True, check=True
        )
        self.key = done.stdout.split()[-1]

    def value(self, query: str) -> object:
        """Return the single value of a query."""
        [value] = self.column(query)
        return value

    def column(self, query: str) -> list[Any]:
        """Return the first column of a query."""
        with psycopg.connect(self.url) as connected:
            return [row[0] for row in connected.execute(query)]  # type: ignore[call-overload]

    @property
    def _name(self) -> str:
        return self.url.partition("?")[0].rpartition("/")[2]

    @property
    def _base(self) -> str:
        return self.url.replace(f"/{self._name}", "/postgres", 1)

    def _do(self, what: str) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{what}\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline().strip() == "done"


@contextmanager
def run_postgres() -> Iterator[Postgres]:
    """Run a server in a temporary folder that its user, who is not root, can read."""
    with TemporaryDirectory(prefix="gateway-") as folder:
        command = [sys.executable, "-W", "ignore", "-m", "tools.embedded_postgres", str(Path(folder) / "pgserver")]
        with subprocess.Popen(
            command,
            cwd=settings.BASE_DIR,
            env=os.environ | {"TMPDIR": folder},  # the package keeps a lock file there under a shared name
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            assert process.stdout
            url = process.stdout.readline().strip()
            assert url, "no PostgreSQL started"
            yield Postgres(process, url)
            assert process.stdin
            process.stdin.close()


def set_database_down(store: Store, is_away: bool) -> None:
    """Refuse all connections to a database and cut the open ones, as during a restart, or allow them again."""
    connection.close()
    connection.close_pool()
    with connection._nodb_cursor() as cursor:
        cursor.execute(f'ALTER DATABASE "{store.name}" ALLOW_CONNECTIONS {"false" if is_away else "true"}')
        if is_away:
            cursor.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [store.name])
