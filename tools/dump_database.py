"""Dump a database of this version with a few rows, on SQLite and PostgreSQL: python -m tools.dump_database.

The files are test data: later versions are upgraded from them (tests/services/test_upgrade.py). Run it once for each
release, and commit what it writes to tests/data/databases.
"""

import gzip
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from core.version import VERSION
from tools import databases
from tools.databases import ROOT

FOLDER = ROOT / "tests" / "data" / "databases"


def main(version: str = VERSION) -> None:
    """Write `<version>.sqlite.sql.gz` and `<version>.postgresql.sql.gz`. Raises NoPostgres."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "db.sqlite3"
        _create_rows(f"sqlite:///{path}")
        with closing(sqlite3.connect(path)) as connection:
            _write(f"{version}.sqlite", "\n".join(connection.iterdump()))
    with databases.open_postgres() as postgres, databases.create_database(postgres, "dump") as url:
        _create_rows(url)
        command = ["pg_dump", "--no-owner", "--no-privileges", "--inserts", url.replace("postgres://", "postgresql://")]
        _write(f"{version}.postgresql", subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def _create_rows(url: str) -> None:
    environment = os.environ | {"DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "config.settings"}
    for command in (["manage.py", "migrate", "--verbosity", "0"], ["-m", "tools.version_rows"]):
        subprocess.run([sys.executable, *command], cwd=ROOT, env=environment, check=True)


def _write(name: str, sql: str) -> None:
    path = FOLDER / f"{name}.sql.gz"
    path.write_bytes(gzip.compress(sql.encode(), mtime=0))
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main(*sys.argv[1:])
