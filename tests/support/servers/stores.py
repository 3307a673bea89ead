"""Databases for server processes, copied from a prepared one. The test process can use them, too."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from gateway.executors import embedded
from registry.files import loader
from registry.releases import publishing
from tests.support.servers import probe
from workspace import demo

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
            yield
        finally:
            _disconnect()
            connection.settings_dict["NAME"] = before

    def set_up(self) -> None:
        """Set up the database like `make run`: schema, published catalog with the probe, demo workspace."""
        embedded.add_upstream("probe", probe.HANDLERS)  # as in the servers: what cannot run cannot be published
        with self.connected():
            call_command("migrate", verbosity=0)
            loader.load_into_draft(loader.read_shipped_catalog())
            loader.load_into_draft(probe.CONTENT)
            publishing.publish_draft(note="For tests", by="tests", at=timezone.now())
            demo.load(at=timezone.now())


def create_store(folder: Path, source: Store | None = None) -> Store:
    """Create a database, empty or as a copy of another one that is not in use."""
    number = next(_numbers)
    if connection.vendor == "sqlite":
        store = Store(str(folder / f"{number}.sqlite3"))
        if source:
            shutil.copyfile(source.name, store.name)
        return store

    worker = os.environ.get("PYTEST_XDIST_WORKER", "")  # each test worker has its own numbers
    name = connection.settings_dict["NAME"].removeprefix("test_")
    store = Store(f"test_{name}_server_{worker}_{number}")
    drop_store(store)  # may be left by a killed run
    _execute(f'CREATE DATABASE "{store.name}"' + (f' TEMPLATE "{source.name}"' if source else ""))
    # Commits survive when a client process is killed. Only a crash of the server could lose them, and the test of that
    # uses its own server.
    _execute(f'ALTER DATABASE "{store.name}" SET synchronous_commit TO off')
    return store


def drop_store(store: Store) -> None:
    """Drop a database, also if it is in use. SQLite files are deleted with their folder."""
    if connection.vendor == "postgresql":
        _execute(f'DROP DATABASE IF EXISTS "{store.name}" WITH (FORCE)')


def _execute(statement: str) -> None:
    with connection._nodb_cursor() as cursor:
        cursor.execute(statement)


def _disconnect() -> None:
    connection.close()
    if connection.vendor == "postgresql":
        connection.close_pool()
