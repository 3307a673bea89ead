"""Databases for server processes: copies of one that was set up once, which this process reaches, too."""

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

from registry.files import loader
from registry.releases import publishing
from tests.support.servers import probe
from workspace import demo

_numbers = count(1)


class Store:
    """One database: its name as Django's settings have it, and the DATABASE_URL by which another process reaches it."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def url(self) -> str:
        if connection.vendor == "sqlite":
            return f"sqlite:///{self.name}"
        parts = urlsplit(os.environ["DATABASE_URL"])
        folder = parts.path.rpartition("/")[0]  # of a socket, in postgres:////folder/name
        return f"{parts.scheme}://{parts.netloc}{folder}/{self.name}" + (f"?{parts.query}" if parts.query else "")

    @contextmanager
    def reached(self) -> Iterator[None]:
        """Have this process's Django work on it, as a process on another machine would."""
        before = connection.settings_dict["NAME"]
        _disconnect()
        connection.settings_dict["NAME"] = self.name
        try:
            yield
        finally:
            _disconnect()
            connection.settings_dict["NAME"] = before

    def set_up(self) -> None:
        """Bring it to where `make run` brings one: schema, published catalog (with the probes), demo workspace."""
        with self.reached():
            call_command("migrate", verbosity=0)
            loader.load_into_draft(loader.read_shipped_catalog())
            loader.load_into_draft(probe.CONTENT)
            publishing.publish_draft(note="For tests", by="tests", at=timezone.now())
            demo.load(at=timezone.now())


def make(folder: Path, source: Store | None = None) -> Store:
    """Make a database, empty or a copy of another one that nobody uses."""
    number = next(_numbers)
    if connection.vendor == "sqlite":
        store = Store(str(folder / f"{number}.sqlite3"))
        if source:
            shutil.copyfile(source.name, store.name)
        return store

    worker = os.environ.get("PYTEST_XDIST_WORKER", "")  # each counts for itself
    name = connection.settings_dict["NAME"].removeprefix("test_")
    store = Store(f"test_{name}_server_{worker}_{number}")
    drop(store)  # what a killed run left
    _manage(f'CREATE DATABASE "{store.name}"' + (f' TEMPLATE "{source.name}"' if source else ""))
    # What a killed process of ours has committed is there all the same: only a server that crashes knows the
    # difference, and the test of that has one of its own.
    _manage(f'ALTER DATABASE "{store.name}" SET synchronous_commit TO off')
    return store


def drop(store: Store) -> None:
    """Drop a database, whoever uses it. A file goes with its folder."""
    if connection.vendor == "postgresql":
        _manage(f'DROP DATABASE IF EXISTS "{store.name}" WITH (FORCE)')


def _manage(statement: str) -> None:
    with connection._nodb_cursor() as cursor:
        cursor.execute(statement)


def _disconnect() -> None:
    connection.close()
    if connection.vendor == "postgresql":
        connection.close_pool()
