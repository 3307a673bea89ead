"""The rows that `make run` starts with: the published shipped catalog and the demo workspace.

One process of a run loads both, and each inserts the same rows for each test, because loading takes as long as a
hundred tests.
"""

import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from django.apps import apps
from django.core.management.color import no_style
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper
from django.utils import timezone

from analytics.rollout import assignment
from core import demo_data
from registry.catalog import cache, connections, model, switches
from registry.files import loader
from registry.models import Release
from registry.releases import publishing, unpublished
from tests.support.run_folder import lock_folder


@dataclass(slots=True)
class PreparedRows:
    """Rows that a function loads into the tables of an app, stored to insert them again.

    With a `folder`, the rows are also stored there, for the other processes of the run.
    """

    app: str
    load: Callable[[], None]
    rows: dict[str, list[tuple[Any, ...]]] | None = None
    day: date | None = None  # the day of loading; the demo's times are relative to it
    folder: Path | None = None

    def ensure_rows(self) -> None:
        """Insert the stored rows if the tables are empty, else load them next to the existing rows."""
        tables = [model._meta.db_table for model in apps.get_app_config(self.app).get_models(include_auto_created=True)]
        with transaction.atomic(), connection.cursor() as cursor:  # rows may be inserted before rows that they refer to
            is_empty = not any(cursor.execute(f'SELECT 1 FROM "{name}" LIMIT 1').fetchone() for name in tables)  # noqa: S608
            if not is_empty:
                self.load()
            elif self._is_of_today():
                self._insert(cursor)
            elif self.folder is None:
                self._load_and_store(cursor, tables)
            else:
                with lock_folder(self.folder, f"{self.app}-rows"):
                    self._load_once(cursor, tables, self.folder / f"{self.app}-rows.pickle")

    def _load_once(self, cursor: CursorWrapper, tables: list[str], file: Path) -> None:
        """Load, or insert what another process has loaded."""
        if file.exists():
            self.day, self.rows = pickle.loads(file.read_bytes())  # noqa: S301 - of another worker of this run
        if self._is_of_today():
            self._insert(cursor)
            self._advance_sequences(cursor)
        else:
            self._load_and_store(cursor, tables)
            file.write_bytes(pickle.dumps((self.day, self.rows)))

    def _is_of_today(self) -> bool:
        return self.rows is not None and self.day == timezone.now().date()

    def _insert(self, cursor: CursorWrapper) -> None:
        for name, rows in (self.rows or {}).items():
            insert_rows(cursor, name, rows)

    def _advance_sequences(self, cursor: CursorWrapper) -> None:
        """Continue after the ids of the rows, in this process's database too. A rollback does not undo it."""
        for statement in connection.ops.sequence_reset_sql(no_style(), apps.get_app_config(self.app).get_models()):
            cursor.execute(statement)

    def _load_and_store(self, cursor: CursorWrapper, tables: list[str]) -> None:
        self.load()
        dump = {name: cursor.execute(f'SELECT * FROM "{name}"').fetchall() for name in tables}  # noqa: S608
        self.rows, self.day = {name: rows for name, rows in dump.items() if rows}, timezone.now().date()


def _publish() -> None:
    loader.load_into_draft(loader.read_shipped_catalog())
    publishing.publish_draft(note="Shipped catalog", by="tests", at=timezone.now())
    while unpublished.count_batch():  # like the periodic job after a start
        pass


def _load_demo() -> None:
    demo_data.load_demo_data(timezone.now())


def insert_rows(cursor: CursorWrapper, table: str, rows: list[tuple[Any, ...]]) -> None:
    """Insert rows as they were read, in the fastest way of each database."""
    if connection.vendor == "postgresql":
        with cursor.copy(f'COPY "{table}" FROM STDIN') as copy:
            for row in rows:
                copy.write_row(row)
    else:
        cursor.executemany(f'INSERT INTO "{table}" VALUES ({", ".join(["%s"] * len(rows[0]))})', rows)  # noqa: S608


_catalog = PreparedRows("registry", _publish)
_demo = PreparedRows("workspace", _load_demo)


def share_rows(folder: Path) -> None:
    """Load once for all processes of a run, which share this folder."""
    _catalog.folder = _demo.folder = folder


def publish_shipped_catalog() -> None:
    _catalog.ensure_rows()


def publish_draft() -> Release:
    """Publish the draft and refresh what calls use from memory, because a test's transaction never commits."""
    release = publishing.publish_draft(note="Next", by="tests", at=timezone.now(), accepted="Tested")
    cache.refresh_live()
    connections.refresh_connections()
    return release


def load_catalog_and_demo() -> None:
    _catalog.ensure_rows()
    if apps.is_installed("workspace"):
        _demo.ensure_rows()


def serve_shipped_catalog() -> model.Catalog:
    """Load everything, refresh what calls use from memory, as the poller does, and return the live catalog.

    The catalog's ops and their search index are read once. Each test gets its own copy.
    """
    load_catalog_and_demo()
    if _parsed_catalogs:
        cache._loaded[_parsed_catalogs[0].version] = _copy_catalog(_parsed_catalogs[0])
    cache.refresh_live()
    connections.refresh_connections()
    switches.refresh_switches()
    assignment.refresh_rollout()
    if not _parsed_catalogs:
        _parsed_catalogs.append(_copy_catalog(cache.get_live_catalog()))
    return cache.get_live_catalog()


def _copy_catalog(read: model.Catalog) -> model.Catalog:
    ops, derived = dict(read.ops), dict(read._derived)
    return replace(read, ops=ops, names=dict(read.names), answers={}, _derived=derived, _views={})


_parsed_catalogs: list[model.Catalog] = []
