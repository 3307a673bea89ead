"""The events that a run of the roll-up counts, and what each counts as: a temporary table.

All figures are computed from it. So the wide rows of events are read once, and each condition is evaluated once.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Q, QuerySet

from analytics.events.event_filters import (
    BY_MODEL,
    CALL,
    HELP_READ,
    NOT_TRIED_IN_ADMIN,
    REPAIRED_CALL,
    SEARCH,
    UNKNOWN_NAME,
)
from analytics.events.models import OperationEvent

TABLE = "counted_events"
FLAGS = {
    "is_call": CALL,
    "is_help": HELP_READ,
    "is_search": SEARCH,
    "is_unknown_name": UNKNOWN_NAME,
    "is_repeatable": BY_MODEL & ~Q(digest=""),
    "is_of_turn": NOT_TRIED_IN_ADMIN & ~Q(turn=""),
}
_NUMBERS = ("id", "time", "latency_ms", "ok")
_TEXTS = (
    *("client", "session", "turn", "digest", "subject"),
    *("release", "surface", "cohort", "model", "code", "format"),
)
# Unknown names count under "": there would be a row for every name that callers make up.
_HAS_NAME = "(NOT tool_name = '' OR is_help)"
# Those of a fixed length come first, then what most rows do not have: PostgreSQL reads a row up to the last column that
# it needs, and each column costs time.
_COLUMNS = (
    {"repaired": "0"}  # 1 or -1 in the rows that `add_repaired_calls` adds
    | {name: f"e.{name}" for name in (*_NUMBERS, *FLAGS)}
    | {"is_list": "is_help AND tool_name = ''", "result_count": "e.result_count"}
    | {"field_errors": "CASE WHEN NOT ok AND is_call AND NOT field_errors = '[]' THEN field_errors END"}
    | {name: f"e.{name}" for name in _TEXTS}
    | {"named": f"CASE WHEN {_HAS_NAME} THEN op ELSE '' END", "unknown_op": f"CASE WHEN NOT {_HAS_NAME} THEN op END"}
)
# A failed call that only counts as repaired, since it was counted as a call before.
_REPAIRED_COLUMNS = _COLUMNS | dict.fromkeys([*FLAGS, "is_list"], "FALSE") | {"field_errors": "NULL"}
_ALL = 1_000_000_000


class CountedRows(NamedTuple):
    """Some rows of the table of counted events, by a condition in SQL and its parameters."""

    condition: str
    parameters: tuple[Any, ...] = ()


ALL = CountedRows("TRUE")  # that this run counts
REPAIRED = CountedRows("NOT repaired = 0")  # what `add_repaired_calls` added


@contextmanager
def open_table(events: QuerySet[OperationEvent]) -> Iterator[None]:
    """Keep the table inside the `with` block, with these events, in no order. It needs a transaction."""
    with connection.cursor() as cursor:
        _copy_events(f"CREATE TEMPORARY TABLE {TABLE} AS", events)
        analyze(TABLE)
        yield
        cursor.execute(f"DROP TABLE {TABLE}")


def add_events(events: QuerySet[OperationEvent]) -> int:
    """Add events, in no order, and return how many they are."""
    return _copy_events(f"INSERT INTO {TABLE}", events)


def _copy_events(target: str, events: QuerySet[OperationEvent]) -> int:
    query, parameters = _build_query(events)
    columns = ", ".join(f"{value} AS {name}" for name, value in _COLUMNS.items())
    with connection.cursor() as cursor:
        cursor.execute(f"{target} SELECT {columns} FROM ({query}) e", parameters)  # noqa: S608 - our names
        return int(cursor.rowcount)


def add_repaired_calls(calls: str) -> None:
    """Add failed calls that now count as repaired, or no longer: `calls` is a table `c` with id and change, 1 or -1."""
    columns = _REPAIRED_COLUMNS | {"repaired": "c.change"}
    select_stored(f"INSERT INTO {TABLE}", calls, "e.id = c.id", tuple(columns.values()))


def add_repaired(events: QuerySet[OperationEvent]) -> None:
    """Add all repaired calls among some events."""
    columns = _REPAIRED_COLUMNS | {"repaired": "1"}
    query, parameters = _build_query(events.filter(REPAIRED_CALL))
    with connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {TABLE} SELECT {', '.join(columns.values())} FROM ({query}) e", parameters)  # noqa: S608 - our names


def analyze(table: str, columns: str = "") -> None:
    """Let PostgreSQL look at a sample of a temporary table, so that it expects about the rows that there are."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL default_statistics_target = 3; ANALYZE {table} {columns and f'({columns})'}")


def add_index(table: str, column: str) -> None:
    """Let SQLite find the rows of a temporary table by a column, where PostgreSQL hashes them."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute(f"CREATE INDEX temp.{table}_by_{column} ON {table} ({column})")


def select_stored(target: str, first: str, condition: str, columns: Sequence[str]) -> None:
    """Select from all events, as `e`, those that match rows of another table: `target` is the SQL before the SELECT.

    An index must find them. SQLite reads the table before CROSS JOIN first. PostgreSQL expects too many of
    them, and would read all events. With the limit, it does not take the last condition for one that makes the index
    useless.
    """
    query, parameters = _build_query_of_all(connection.vendor)
    statement = (
        f"{target} SELECT {', '.join(columns)} FROM {first} CROSS JOIN ({query}) e WHERE {condition} LIMIT {_ALL}"  # noqa: S608 - our names
    )
    if connection.vendor == "postgresql":
        statement = f"SET LOCAL enable_hashjoin = off; {statement}; SET LOCAL enable_hashjoin = on"
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)


def _build_query(events: QuerySet[OperationEvent]) -> tuple[str, tuple[Any, ...]]:
    flagged: Any = events.annotate(**FLAGS)
    others = ("result_count", "op", "tool_name", "repairs", "field_errors")
    fields = flagged.values(*_NUMBERS, *_TEXTS, *others, *FLAGS)
    statement: tuple[str, tuple[Any, ...]] = fields.query.sql_with_params()
    return statement


@cache
def _build_query_of_all(_vendor: str) -> tuple[str, tuple[Any, ...]]:
    return _build_query(OperationEvent.objects.order_by())
