"""Create the data of the example domains, and load their copy into the draft."""

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path

from django.db import transaction

from demo import example_database, rows
from demo.refusals import get_data_folder
from registry.drafts import draft, history, merge
from registry.drafts.merge import MergeReport
from registry.files import yaml_format
from registry.models import Connection
from registry.snapshot.copy_kinds import Kind
from registry.snapshot.entries import Snapshot

COPY_FOLDER = Path(__file__).parent / "copy"
SOURCE = "examples"  # the source of the copy, as of an import; also the name of its connection
BY = "load_demo"
NOTE = "Example domains"


def read_copy() -> Snapshot:
    """Return the groups and ops of the example domains as a snapshot."""
    return yaml_format.read_folder(COPY_FOLDER, alone=False)


@transaction.atomic
def load_copy(at: datetime) -> MergeReport:
    """Merge the copy into the draft, keeping the edits of admins, and report what was done."""
    content, report = read_copy(), MergeReport()
    Connection.objects.get_or_create(name=SOURCE, defaults={"kind": Connection.Kind.EXAMPLE})
    merge.merge_of_source(Kind.GROUP, content["groups"], source=SOURCE, report=report)
    draft.add_shipped_words(by=BY, at=at)
    merge.merge_of_source(Kind.VOCABULARY, content["vocabulary"], source=SOURCE, report=report)
    merge.merge_ops(content["ops"], source=SOURCE, report=report)
    history.record_changes(report.changes, by=BY, at=at, note=NOTE)
    return report


def create_files() -> int:
    """Create the example files unless their folder exists. Return how many were created."""
    folder = get_data_folder() / "files"
    if folder.exists():
        return 0
    with _make_temporary_folder() as temporary:
        files = temporary / "files"
        for name, text in rows.FILES.items():
            path = files / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        files.rename(folder)
    return len(rows.FILES)


def create_rows(at: datetime) -> int:
    """Create the example database unless it exists. Return how many rows were created."""
    path = example_database.get_path()
    if path.exists():
        return 0
    with _make_temporary_folder() as temporary:
        file = temporary / path.name
        with closing(sqlite3.connect(file)) as database:
            database.executescript(example_database.SCHEMA)
            _insert_rows(database, at)
            database.commit()
        file.rename(path)
    return len(rows.CONTACTS) + len(rows.DEALS)


def _insert_rows(database: sqlite3.Connection, at: datetime) -> None:
    time = at.strftime("%Y-%m-%dT%H:%M:%SZ")
    database.executemany(
        "INSERT INTO contacts VALUES (?, ?, ?, ?, ?, ?, ?, ?)", [(*row, time) for row in rows.CONTACTS]
    )
    database.executemany("INSERT INTO deals VALUES (?, ?, ?, ?, ?, ?, ?)", [(*row, time) for row in rows.DEALS])


@contextmanager
def _make_temporary_folder() -> Iterator[Path]:
    """Yield a folder next to the data, from which a finished file or folder is moved there in one step."""
    get_data_folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(dir=get_data_folder()))
    try:
        yield temporary
    finally:
        shutil.rmtree(temporary)
