"""Databases for tests and for server processes, copied from those that one test worker of a run prepares for all."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management import call_command
from django.db import OperationalError, connection
from django.utils import timezone

from core import demo_data
from core.handler_contract import EmbeddedUpstream
from gateway.executors import in_process
from registry.files import loader
from registry.releases import publishing
from tests.support.run_folder import lock_folder
from tests.support.servers.processes import eventually

CONNECTS_WITHIN = 30.0  # seconds
MIGRATED, SET_UP = "migrated", "set_up"  # names of the databases that the workers of a run share

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

    def migrate(self) -> None:
        """Create the tables, and the rows that come with them."""
        with self.connected():
            call_command("migrate", verbosity=0)

    def set_up(self) -> None:
        """Fill a migrated database as `make run` does: published catalog with the probe, demo workspace."""
        from tests.support.servers import probe  # writes tasks of the workspace, which may not be installed

        add_probe()
        with self.connected():
            loader.load_into_draft(loader.read_shipped_catalog())
            loader.load_into_draft(probe.CONTENT)
            publishing.publish_draft(note="For tests", by="tests", at=timezone.now())
            demo_data.load_demo_data(timezone.now())


def add_probe() -> None:
    """Add the handlers of the probe to this process, as servers have them: what cannot run cannot be published."""
    from tests.support.servers import probe  # writes tasks of the workspace, which may not be installed

    in_process.add_upstream(EmbeddedUpstream("probe", probe.HANDLERS))


@contextmanager
def share_migrated_store(folder: Path) -> Iterator[Store]:
    """Yield a migrated database, the same for all test workers that share this folder. The last one drops it."""
    with _share_store(folder, MIGRATED, Store.migrate) as store:
        yield store


@contextmanager
def share_set_up_store(folder: Path) -> Iterator[Store]:
    """Yield a database as `make run` leaves it, the same for all test workers that share this folder."""
    with share_migrated_store(folder) as migrated, _share_store(folder, SET_UP, Store.set_up, source=migrated) as store:
        yield store


@contextmanager
def use_test_database(source: Store) -> Iterator[None]:
    """Create the test database of this worker as a copy of another one, and drop it at the end."""
    store, before = Store(str(connection.creation._get_test_db_name())), connection.settings_dict["NAME"]
    _create(store, source, waits_for_disk=True)  # as in production, where a commit may choose not to
    _rename_database(store.name)
    yield
    _rename_database(before)
    drop_store(store)


@contextmanager
def _share_store(
    folder: Path, name: str, prepare: Callable[[Store], None], *, source: Store | None = None
) -> Iterator[Store]:
    users = folder / f"users of {name}"  # how many test workers use the database
    with lock_folder(folder, users.name):
        store = _name_shared_store(folder, name)
        number = int(users.read_text()) if users.exists() else 0
        if number == 0:
            _create(store, source)
            prepare(store)
        users.write_text(str(number + 1))
    yield store
    with lock_folder(folder, users.name):
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


def _name_shared_store(folder: Path, name: str) -> Store:
    if connection.vendor == "sqlite":
        return Store(str(folder / f"{name}.sqlite3"))
    return Store(f"{_get_prefix()}_{name}")


def _get_prefix() -> str:
    """Return the beginning of names on PostgreSQL, the same whether or not the test database is in use by now."""
    name = connection.settings_dict["NAME"].removeprefix("test_")
    return "test_" + name.removesuffix(f"_{_get_worker()}")


def _get_worker() -> str:
    return os.environ.get("PYTEST_XDIST_WORKER", "")


def _create(store: Store, source: Store | None = None, *, waits_for_disk: bool = False) -> None:
    """Create a database. Commits survive when a client process is killed, whether or not they wait for the disk.

    Only a crash of the server could lose them, and the test of that uses its own server.
    """
    drop_store(store)  # may be left by a killed run
    if connection.vendor == "sqlite":
        if source:
            shutil.copyfile(source.name, store.name)
        return
    _execute(f'CREATE DATABASE "{store.name}"' + (f' TEMPLATE "{source.name}"' if source else ""))
    if not waits_for_disk:
        _execute(f'ALTER DATABASE "{store.name}" SET synchronous_commit TO off')


def drop_store(store: Store) -> None:
    """Drop a database, also if it is in use."""
    if connection.vendor == "postgresql":
        _execute(f'DROP DATABASE IF EXISTS "{store.name}" WITH (FORCE)')
        return
    for suffix in ("", "-wal", "-shm"):  # an old log would be applied to a new file
        Path(f"{store.name}{suffix}").unlink(missing_ok=True)


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


def _rename_database(name: str) -> None:
    """Connect this process to another database from now on."""
    _disconnect()
    settings.DATABASES["default"]["NAME"] = connection.settings_dict["NAME"] = name


def _disconnect() -> None:
    connection.close()
    if connection.vendor == "postgresql":
        connection.close_pool()
