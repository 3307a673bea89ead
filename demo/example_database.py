"""The SQLite file of the example domains crm and database. It has nothing to do with the gateway's own database."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from core.handler_contract import Unavailable
from demo.refusals import build_not_loaded_error, get_data_folder

WAIT_SECONDS = 2.0  # for another call's write

SCHEMA = """
CREATE TABLE contacts (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    email TEXT NOT NULL UNIQUE COLLATE NOCASE,
    company TEXT NOT NULL,
    phone TEXT,
    status TEXT NOT NULL CHECK (status IN ('lead', 'customer', 'former')),
    notes TEXT,
    updated_at TEXT NOT NULL
);
CREATE TABLE deals (
    id TEXT PRIMARY KEY,
    contact_id TEXT NOT NULL REFERENCES contacts (id),
    title TEXT NOT NULL,
    stage TEXT NOT NULL CHECK (stage IN ('open', 'offered', 'won', 'lost')),
    value_eur INTEGER NOT NULL CHECK (value_eur >= 0),
    closes_on TEXT,
    updated_at TEXT NOT NULL
);
CREATE INDEX deals_of_contact ON deals (contact_id);
"""


def get_path() -> Path:
    """Return the path of the file, which may not exist."""
    return get_data_folder() / "examples.sqlite3"


@contextmanager
def open_for_reading() -> Iterator[sqlite3.Connection]:
    """Open the file read-only. Raises NotSetUp if it does not exist."""
    with closing(_connect("ro")) as database:
        yield database


@contextmanager
def open_for_writing(*, keep: bool) -> Iterator[sqlite3.Connection]:
    """Open a transaction that is committed at the end if `keep` is true, else rolled back.

    Raises NotSetUp if the file does not exist, Unavailable if it is busy.
    """
    with closing(_connect("rw")) as database:
        try:
            database.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            raise Unavailable("The example database is busy; nothing was changed. Try again.") from None
        yield database  # an exception closes the connection, which rolls back
        database.execute("COMMIT" if keep else "ROLLBACK")


def get_existing_path() -> Path:
    """Return the path of the file. Raises NotSetUp if it was never created."""
    path = get_path()
    if not path.is_file():
        raise build_not_loaded_error()
    return path


def _connect(mode: str) -> sqlite3.Connection:
    database = sqlite3.connect(
        f"{get_existing_path().as_uri()}?mode={mode}", uri=True, timeout=WAIT_SECONDS, isolation_level=None
    )
    database.row_factory = sqlite3.Row
    return database
