"""Databases for server processes, copied from a prepared one. The test process can use them, too."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

from django.core.management import call_command
from django.db import OperationalError, connection
from django.utils import timezone

from core.handler_contract import EmbeddedUpstream
from gateway.executors import in_process
from registry.files import loader
from registry.releases import publishing
from tests.support.run_folder import lock_folder
from tests.support.servers import probe
from tests.support.servers.processes import eventually
from workspace import demo

CONNECTS_WITHIN = 30.0  # seconds
SHARED_USERS = "users of the store"  # a file: how many test workers use the shared database

_numbers = count(1)


class Store:
    """One database: its name in Django's settings, and its DATABASE_URL for other processes."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def url(self) -> str:
        if connection.vendor == "sqlite":
            return f"sqlite:///{self.name}"
        parts = urlsplit(os.environ["DATABASE_URL"])
        folder = parts.path.rpartition("/")[0]  # a socket's folder, in postgres:////folder/name
        return f"{parts.scheme}://{parts.netloc}{folder}/{self.name}" + (f"?{parts.query}" if parts.query else "")

    @contextmanager
    def connected(self) -> Iterator[None]:
        """Connect this process to the database."""
        before = connection.settings_dict["NAME"]
        _disconnect()
        connection.settings_dict["NAME"] = self.name
        try:
            eventually(_is_connected, within=CONNECTS_WITHIN, what=f"the connection to {self.name}")
            yield
        finally:
            _disconnect()
            connection.settings_dict["NAME"] = before

    def set_up(self) -> None:
        """Set up the database like `make run`: schema, published catalog with the probe, demo workspace."""
        add_probe()
        with self.connected():
            call_command("migrate", verbosity=0)
            loader.load_into_draft(loader.read_shipped_catalog())
            loader.load_into_draft(probe.CONTENT)
            publishing.publish_draft(note="For tests", by="tests", at=timezone.now())
            demo.load(at=timezone.now())


def add_probe() -> None:
    """Add the handlers of the probe to this process, as servers have them: what cannot run cannot be published."""
    in_process.add_upstream(EmbeddedUpstream("probe", probe.HANDLERS))


def share_store(folder: Path) -> Store:
    """Return a database that is set up, the same for all test workers that share this folder."""
    users = folder / SHARED_USERS
    with lock_folder(folder, SHARED_USERS):
        store = _name_shared_store(folder)
        number = int(users.read_text()) if users.exists() else 0
        if number == 0:
            _create(store)
            store.set_up()
        users.write_text(str(number + 1))
    return store


def leave_shared_store(store: Store, folder: Path) -> None:
    """Drop the shared database if no other test worker uses it."""
    users = folder / SHARED_USERS
    with lock_folder(folder, SHARED_USERS):
        number = int(users.read_text()) - 1
        if number == 0:
            drop_store(store)
        users.write_text(str(number))


def create_store(folder: Path, source: Store | None = None) -> Store:
    """Create a database, empty or as a copy of another one that is not in use."""
    number = next(_numbers)
    if connection.vendor == "sqlite":
        store = Store(str(folder / f"{number}.sqlite3"))
    else:  # each test worker has its own numbers
        store = Store(f"{_get_prefix()}_server_{_get_worker()}_{number}")
    _create(store, source)
    return store


def _name_shared_store(folder: Path) -> Store:
    if connection.vendor == "sqlite":
        return Store(str(folder / "set-up.sqlite3"))
    return Store(f"{_get_prefix()}_set_up")


def _get_prefix() -> str:
    """Return the beginning of names on PostgreSQL, the same whether or not the test database is in use by now."""
    name = connection.settings_dict["NAME"].removeprefix("test_")
    return "test_" + name.removesuffix(f"_{_get_worker()}")


def _get_worker() -> str:
    return os.environ.get("PYTEST_XDIST_WORKER", "")


def _create(store: Store, source: Store | None = None) -> None:
    if connection.vendor == "sqlite":
        Path(store.name).unlink(missing_ok=True)
        if source:
            shutil.copyfile(source.name, store.name)
        return
    drop_store(store)  # may be left by a killed run
    _execute(f'CREATE DATABASE "{store.name}"' + (f' TEMPLATE "{source.name}"' if source else ""))
    # Commits survive when a client process is killed. Only a crash of the server could lose them, and the test of that
    # uses its own server.
    _execute(f'ALTER DATABASE "{store.name}" SET synchronous_commit TO off')


def drop_store(store: Store) -> None:
    """Drop a database, also if it is in use. SQLite files are deleted with their folder."""
    if connection.vendor == "postgresql":
        _execute(f'DROP DATABASE IF EXISTS "{store.name}" WITH (FORCE)')


def _execute(statement: str) -> None:
    with connection._nodb_cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")  # a busy machine may take minutes to copy or drop a database
        cursor.execute(statement)


def _is_connected() -> bool:
    """Connect, more patiently than the pool: a busy machine is not a failure."""
    try:
        connection.ensure_connection()
    except OperationalError:
        return False
    return True


def _disconnect() -> None:
    connection.close()
    if connection.vendor == "postgresql":
        connection.close_pool()
