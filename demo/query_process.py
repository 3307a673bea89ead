"""A program that runs one SELECT on a SQLite file, with limits on rows, time, memory and files.

It is a separate process, because SQLite may compile a query of a few hundred characters for hours, and only the end of
its process stops that. `core.limited_process` starts it and sets the limits. It reads a JSON object from its standard
input and writes one to its standard output: `{columns, rows, has_more, is_cut}`, or `{error}` with SQLite's message. It
imports nothing from the gateway.
"""

import json
import sqlite3
import sys
import time
from pathlib import Path
from typing import Any

MAX_CELL_CHARS = 500
MAX_ANSWER_CHARS = 20_000
_STEPS_BETWEEN_CHECKS = 1_000  # of SQLite's virtual machine
# SQLite's own limits: no value that a function builds is larger, and no pattern takes long to match.
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 20_000,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 100,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 100,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 20,
    sqlite3.SQLITE_LIMIT_COLUMN: 50,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
}
_ALLOWED_ACTIONS = frozenset(
    {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
)


def main() -> None:
    """Answer the request on standard input."""
    request = json.load(sys.stdin)
    try:
        answer = run_select(Path(request["file"]), request["query"], request["max_rows"], request["seconds"])
    except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
        answer = {"error": str(error)}
    json.dump(answer, sys.stdout)


def run_select(file: Path, query: str, max_rows: int, seconds: float) -> dict[str, Any]:
    """Return the first rows of a query. Raises sqlite3.Error for anything but a SELECT."""
    database = sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, isolation_level=None)
    _restrict(database, until=time.monotonic() + seconds)
    cursor = database.execute(query)
    columns = [column[0][:MAX_CELL_CHARS] for column in cursor.description or ()]
    rows: list[list[Any]] = []
    chars, is_cut = 0, False
    for row in cursor:  # shortened one by one, so that few large values are in memory at a time
        shown = [_shorten(value) for value in row]
        chars += sum(len(str(value)) for value in shown)
        if len(rows) == max_rows or (rows and chars > MAX_ANSWER_CHARS):
            return {"columns": columns, "rows": rows, "has_more": True, "is_cut": is_cut}
        is_cut |= any(isinstance(value, str) and len(value) > MAX_CELL_CHARS for value in row)
        rows.append(shown)
    return {"columns": columns, "rows": rows, "has_more": False, "is_cut": is_cut}


def _restrict(database: sqlite3.Connection, *, until: float) -> None:
    """Refuse everything but reading, and stop at a time on the monotonic clock."""
    for limit, value in _LIMITS.items():
        database.setlimit(limit, value)
    database.set_progress_handler(lambda: time.monotonic() > until, _STEPS_BETWEEN_CHECKS)
    database.set_authorizer(_authorize)


def _authorize(action: int, table: str | None, *_: str | None) -> int:
    is_allowed = action in _ALLOWED_ACTIONS
    if action == sqlite3.SQLITE_READ:
        is_allowed = not (table or "").lower().startswith(("sqlite_", "pragma_"))
    return sqlite3.SQLITE_OK if is_allowed else sqlite3.SQLITE_DENY


def _shorten(value: Any) -> Any:
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    if isinstance(value, float) and abs(value) == float("inf"):  # JSON has no infinity
        return str(value)
    return value[:MAX_CELL_CHARS] if isinstance(value, str) else value


if __name__ == "__main__":
    main()
