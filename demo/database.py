"""Example domain database: look into the example database with one SELECT at a time."""

import json
import sqlite3
from typing import Any

from core import limited_process
from core.database.deadlines import Deadline
from core.handler_contract import InvalidArgs, NotFound, OpOutcome, OpRequest
from core.limited_process import ProcessFailed, ProcessTimedOut
from demo import example_database, query_process
from demo.refusals import build_invalid_arg_error

MAX_SECONDS = 2.0
START_SECONDS = 1.0  # for the process to start and to end on its own
MAX_MEMORY = 256 * 1024 * 1024  # bytes
MAX_FILE = 64 * 1024 * 1024  # bytes, of each temporary file
TOO_LARGE = "It needs too much memory. Select fewer rows or shorter values."
_TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name"
# What is wrong, by a part of SQLite's message. That message is not shown, because it repeats parts of the query.
_PROBLEMS = {
    "not authorized": "Only a SELECT on the tables of database.table.list may run. Change rows with the ops of crm.",
    "prohibited": "It reads something outside the tables of database.table.list.",
    "one statement": "Send one statement only, without what comes after its semicolon.",
    "no such table": "It names a table that does not exist; database.table.list lists the tables.",
    "no such column": "It names a column that does not exist; database.table.describe lists the columns of a table.",
    "no such function": "It calls a function that SQLite does not have.",
    "interrupted": f"It ran longer than {MAX_SECONDS:.0f} seconds and was stopped. Add conditions, or join fewer rows.",
    "disk": TOO_LARGE,
    "too big": "It builds a value that is too large. Select shorter values.",
    "syntax error": "It is not valid in SQLite's dialect. Correct the syntax.",
}


def list_tables(_: OpRequest) -> OpOutcome:
    """Return the tables and their number of rows."""
    with example_database.open_for_reading() as database:
        tables = [{"name": name, "rows": _count_rows(database, name)} for name in _list_tables(database)]
    return OpOutcome({"tables": tables, "message": f"{len(tables)} tables."})


def describe_table(request: OpRequest) -> OpOutcome:
    """Return the columns of a table."""
    with example_database.open_for_reading() as database:
        names = _list_tables(database)
        name = next((each for each in names if each == request.args["table"].lower()), None)
        if name is None:
            raise NotFound(f"There is no such table. Send one of {', '.join(names)}.")
        rows = database.execute('SELECT name, type, "notnull", pk FROM pragma_table_info(?)', [name])
        columns = [
            {"name": row["name"], "type": row["type"], "required": bool(row["notnull"]), "primary_key": bool(row["pk"])}
            for row in rows
        ]
        row_count = _count_rows(database, name)
    result = {"table": name, "columns": columns, "rows": row_count}
    return OpOutcome({**result, "message": f"{len(columns)} columns, {row_count} rows."}, entity_name=name)


def run_query(request: OpRequest) -> OpOutcome:
    """Run one SELECT in a separate process. Raises InvalidArgs for anything else."""
    page = _run_process(request.args["query"], request.args["max_rows"], request.deadline)
    if not page["columns"]:
        raise _build_query_error("It contains no statement.")
    count = f"{len(page['rows'])} row{'' if len(page['rows']) == 1 else 's'}"
    message = f"{count}, and there are more." if page["has_more"] else f"{count}."
    warnings = (f"Values are cut at {query_process.MAX_CELL_CHARS} characters.",) if page["is_cut"] else ()
    result = {name: page[name] for name in ("columns", "rows", "has_more")}
    return OpOutcome({**result, "message": message}, warnings)


def _run_process(query: str, max_rows: int, deadline: Deadline) -> dict[str, Any]:
    seconds = min(MAX_SECONDS, deadline.get_remaining_ms() / 1000)
    file = example_database.get_existing_path()
    request = {"file": str(file), "query": query, "max_rows": max_rows, "seconds": seconds}
    try:
        output = limited_process.run(
            query_process.__file__,
            json.dumps(request).encode(),
            seconds=seconds + START_SECONDS,
            memory=MAX_MEMORY,
            file_size=MAX_FILE,
        )
    except ProcessTimedOut:
        raise _build_query_error(_PROBLEMS["interrupted"]) from None
    except ProcessFailed:
        raise _build_query_error(TOO_LARGE) from None
    answer: dict[str, Any] = json.loads(output)
    if "error" in answer:
        problems = (problem for part, problem in _PROBLEMS.items() if part in answer["error"])
        raise _build_query_error(next(problems, "SQLite cannot run it."))
    return answer


def _build_query_error(problem: str) -> InvalidArgs:
    return build_invalid_arg_error("/query", "query_refused", f"The query was not run. {problem}")


def _list_tables(database: sqlite3.Connection) -> list[str]:
    return [row["name"] for row in database.execute(_TABLES)]


def _count_rows(database: sqlite3.Connection, table: str) -> int:
    count: int = database.execute(f'SELECT COUNT(*) FROM "{table}"').fetchone()[0]  # noqa: S608 - a name in the schema
    return count
