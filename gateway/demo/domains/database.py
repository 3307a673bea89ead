"""Example domain database: look into the example database with one SELECT at a time."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from gateway.contracts.errors import GatewayError, NotFoundError
from gateway.demo.domains import example_database
from gateway.demo.domains.refusals import build_invalid_arg_error
from gateway.executors.base import UpstreamCall, UpstreamResponse

MAX_SECONDS = 2.0
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
_TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name"
# What is wrong, by a part of SQLite's message. That message is not shown, because it repeats parts of the query.
_PROBLEMS = {
    "not authorized": "Only a SELECT on the tables of database.table.list may run. Change rows with the ops of crm.",
    "prohibited": "It reads what is not in the tables of database.table.list.",
    "one statement": "Send one statement only, without what comes after its semicolon.",
    "no such table": "It names a table that does not exist; database.table.list lists the tables.",
    "no such column": "It names a column that does not exist; database.table.describe lists the columns of a table.",
    "no such function": "It calls a function that SQLite does not have.",
    "interrupted": f"It ran longer than {MAX_SECONDS:.0f} seconds and was stopped. Add conditions, or join fewer rows.",
    "too big": "It builds a value that is too large. Select shorter values.",
    "syntax error": "It is not valid in SQLite's dialect. Correct the syntax.",
}


@dataclass(slots=True)
class QueryPage:
    """Rows that fit into an answer."""

    rows: list[list[Any]] = field(default_factory=list)
    has_more: bool = False
    is_cut: bool = False


def list_tables(_: UpstreamCall, __: Any) -> UpstreamResponse:
    """Return the tables and their number of rows."""
    with example_database.open_for_reading() as database:
        tables = [{"name": name, "rows": _count_rows(database, name)} for name in _list_tables(database)]
    return UpstreamResponse({"tables": tables, "message": f"{len(tables)} tables."})


def describe_table(work: UpstreamCall, _: Any) -> UpstreamResponse:
    """Return the columns of a table."""
    with example_database.open_for_reading() as database:
        names = _list_tables(database)
        name = next((each for each in names if each == work.args["table"].lower()), None)
        if name is None:
            raise NotFoundError(f"There is no such table. Send one of {', '.join(names)}.")
        rows = database.execute('SELECT name, type, "notnull", pk FROM pragma_table_info(?)', [name])
        columns = [
            {"name": row["name"], "type": row["type"], "required": bool(row["notnull"]), "primary_key": bool(row["pk"])}
            for row in rows
        ]
        row_count = _count_rows(database, name)
    result = {"table": name, "columns": columns, "rows": row_count}
    return UpstreamResponse({**result, "message": f"{len(columns)} columns, {row_count} rows."}, entity_name=name)


def run_query(work: UpstreamCall, _: Any) -> UpstreamResponse:
    """Run one SELECT, with limits on rows, time and memory. Raises InvalidRequestError for anything else."""
    until = time.monotonic() + min(MAX_SECONDS, work.deadline.get_remaining_ms() / 1000)
    with example_database.open_for_reading() as database, _explain_errors(until):
        _restrict(database, until)
        cursor = database.execute(work.args["query"])
        if cursor.description is None:
            raise _build_query_error("There is no statement in it.")
        columns = [column[0][:MAX_CELL_CHARS] for column in cursor.description]
        page = _fetch_page(cursor, work.args["max_rows"])
    count = f"{len(page.rows)} row{'' if len(page.rows) == 1 else 's'}"
    message = f"{count}, and there are more." if page.has_more else f"{count}."
    warnings = (f"Values are cut at {MAX_CELL_CHARS} characters.",) if page.is_cut else ()
    result = {"columns": columns, "rows": page.rows, "has_more": page.has_more, "message": message}
    return UpstreamResponse(result, warnings)


def _fetch_page(cursor: sqlite3.Cursor, max_rows: int) -> QueryPage:
    """Return the first rows, shortened one by one so that few large values are in memory at a time."""
    page, chars = QueryPage(), 0
    for row in cursor:
        shown = [_shorten(value) for value in row]
        chars += sum(len(str(value)) for value in shown)
        if len(page.rows) == max_rows or (page.rows and chars > MAX_ANSWER_CHARS):
            page.has_more = True
            break
        page.is_cut |= any(isinstance(value, str) and len(value) > MAX_CELL_CHARS for value in row)
        page.rows.append(shown)
    return page


def _restrict(database: sqlite3.Connection, until: float) -> None:
    """Refuse everything but reading, and stop at a time on the monotonic clock."""

    def authorize(action: int, table: str | None, *_: str | None) -> int:
        # Asked for each part of a query, so it also stops one that takes long to compile.
        is_allowed = action in _ALLOWED_ACTIONS and time.monotonic() <= until
        if action == sqlite3.SQLITE_READ and (table or "").lower().startswith(("sqlite_", "pragma_")):
            is_allowed = False
        return sqlite3.SQLITE_OK if is_allowed else sqlite3.SQLITE_DENY

    for limit, value in _LIMITS.items():
        database.setlimit(limit, value)
    database.set_progress_handler(lambda: time.monotonic() > until, _STEPS_BETWEEN_CHECKS)
    database.set_authorizer(authorize)


@contextmanager
def _explain_errors(until: float) -> Iterator[None]:
    """Raise an error that says what to correct in a query."""
    try:
        yield
    except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
        text = "interrupted" if time.monotonic() > until else str(error)
        problem = next((problem for part, problem in _PROBLEMS.items() if part in text), "SQLite cannot run it.")
        raise _build_query_error(problem) from None


def _build_query_error(problem: str) -> GatewayError:
    return build_invalid_arg_error("/query", "query_refused", f"The query was not run. {problem}")


def _list_tables(database: sqlite3.Connection) -> list[str]:
    return [row["name"] for row in database.execute(_TABLES)]


def _count_rows(database: sqlite3.Connection, table: str) -> int:
    count: int = database.execute(f'SELECT COUNT(*) FROM "{table}"').fetchone()[0]  # noqa: S608 - a name in the schema
    return count


def _shorten(value: Any) -> Any:
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    return value[:MAX_CELL_CHARS] if isinstance(value, str) else value
