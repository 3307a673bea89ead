"""A PostgreSQL of a test's own, which it may take away and give back."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
from django.conf import settings

SET_UP = """
import django
django.setup()
from django.db import connection
from tests.support.servers.environment import make_key
from tests.support.servers.stores import Store

Store(connection.settings_dict["NAME"]).set_up()
print(make_key())
"""


class Postgres:
    """A server with one database in it, filled as `make run` fills one, and a key of it."""

    def __init__(self, process: "subprocess.Popen[str]", url: str) -> None:
        self._process = process
        self.url = url
        self.key = ""

    def stop(self) -> None:
        """Take it away as a crash does."""
        self._do("stop")

    def start(self) -> None:
        """Give it back; it takes calls when this returns."""
        self._do("start")

    def fill(self, environment: dict[str, str]) -> None:
        """Make and fill the database, as a process with these variables would."""
        with psycopg.connect(self._base, autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{self._name}"')  # type: ignore[call-overload]
        command = [sys.executable, "-c", SET_UP]
        done = subprocess.run(
            command, cwd=settings.BASE_DIR, env=environment, stdout=subprocess.PIPE, text=True, check=True
        )
        self.key = done.stdout.split()[-1]

    def value(self, query: str) -> object:
        """Return the one value of a query's one row."""
        with psycopg.connect(self.url) as connection:
            row = connection.execute(query).fetchone()  # type: ignore[call-overload]
        assert row
        return row[0]

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
def running() -> Iterator[Postgres]:
    """Run one in a temporary folder, which its user, who is another one than root, can reach."""
    with TemporaryDirectory(prefix="gateway-") as folder:
        command = [sys.executable, "-W", "ignore", "-m", "tools.embedded_postgres", str(Path(folder) / "pgserver")]
        with subprocess.Popen(
            command,
            cwd=settings.BASE_DIR,
            env=os.environ | {"TMPDIR": folder},  # its package keeps a lock there, by a name that all users share
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
