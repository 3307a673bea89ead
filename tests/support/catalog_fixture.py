"""What make run begins with: the shipped catalog, published, and the demo beside it.

Both are loaded once a process, as a start loads them, then put back row by row for each test: reading, merging and
publishing take as long as a hundred tests' own work, and always come to the same rows.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from django.apps import apps
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper
from django.utils import timezone

from core import poller
from registry.catalog import model
from registry.files import loader
from registry.releases import publishing, token_count_job
from workspace import demo


@dataclass(slots=True)
class Beginning:
    """The rows that something loads into the tables of an app, kept as the database has them."""

    app: str
    load: Callable[[], None]
    rows: dict[str, list[tuple[Any, ...]]] | None = None
    day: date | None = None  # when they were loaded; those of the demo tell times from then on

    def begin(self) -> None:
        """Have the rows there: put back where the tables are empty, else loaded beside what is."""
        tables = [model._meta.db_table for model in apps.get_app_config(self.app).get_models(include_auto_created=True)]
        with transaction.atomic(), connection.cursor() as cursor:  # rows may come before those they refer to
            is_empty = not any(cursor.execute(f'SELECT 1 FROM "{name}" LIMIT 1').fetchone() for name in tables)  # noqa: S608
            if not is_empty:
                self.load()
            elif self.rows is not None and self.day == timezone.now().date():
                for name, rows in self.rows.items():
                    _put_back(cursor, name, rows)
            else:
                self.load()
                found = {name: cursor.execute(f'SELECT * FROM "{name}"').fetchall() for name in tables}  # noqa: S608
                self.rows, self.day = {name: rows for name, rows in found.items() if rows}, timezone.now().date()


def _publish() -> None:
    loader.load_into_draft(loader.read_shipped_catalog())
    publishing.publish_draft(note="Shipped catalog", by="tests", at=timezone.now())
    while token_count_job.count_batch():  # as the periodic job does soon after a start
        pass


def _load_demo() -> None:
    demo.load(at=timezone.now())


def _put_back(cursor: CursorWrapper, table: str, rows: list[tuple[Any, ...]]) -> None:
    """Insert rows as they were read, as fast as each database takes them."""
    if connection.vendor == "postgresql":
        with cursor.copy(f'COPY "{table}" FROM STDIN') as copy:
            for row in rows:
                copy.write_row(row)
    else:
        cursor.executemany(f'INSERT INTO "{table}" VALUES ({", ".join(["%s"] * len(rows[0]))})', rows)  # noqa: S608


_catalog = Beginning("registry", _publish)
_demo = Beginning("workspace", _load_demo)


def publish() -> None:
    """Make the shipped catalog the draft and the live release."""
    _catalog.begin()


def begin() -> None:
    """Publish the shipped catalog and load the demo."""
    _catalog.begin()
    _demo.begin()


def serve() -> model.Catalog:
    """Begin, and follow what is live. Its ops and their search index are read once; each test has a catalog of them."""
    begin()
    if _read:
        model._loaded[_read[0].version] = _own(_read[0])
    poller.refresh()
    if not _read:
        _read.append(_own(model.get_live_catalog()))
    return model.get_live_catalog()


def _own(read: model.Catalog) -> model.Catalog:
    ops, derived = dict(read.ops), dict(read._derived)
    return replace(read, ops=ops, names=dict(read.names), answers={}, _derived=derived, _views={})


_read: list[model.Catalog] = []
