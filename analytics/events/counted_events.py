"""The events that a run of the roll-up counts, and what each counts as: a temporary table.

All figures are computed from it. So the wide rows of events are read once, and each condition is evaluated once.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Q, QuerySet

from analytics.events.event_filters import BY_MODEL, CALL, HELP_READ, NOT_TRIED_IN_ADMIN, SEARCH, UNKNOWN_NAME
from analytics.events.models import OperationEvent

TABLE = "counted_events"
_FLAGS = {
    "is_call": CALL,
    "is_help": HELP_READ,
    "is_search": SEARCH,
    "is_unknown_name": UNKNOWN_NAME,
    "is_repeatable": BY_MODEL & ~Q(digest=""),
    "is_of_turn": NOT_TRIED_IN_ADMIN & ~Q(turn=""),
}
# Those of a fixed length come first: PostgreSQL reads a row up to the last column that it needs.
_NUMBERS = ("id", "time", "repairs", "result_count", "latency_ms", "ok")
_TEXTS = (
    *("client", "session", "turn", "op", "tool_name", "digest", "code", "format"),
    *("subject", "release", "surface", "cohort", "model"),
)
_ALL = 1_000_000_000
# Unknown names count under "": there would be a row for every name that callers make up.
_SELECT = f"""
SELECT {", ".join(f"e.{name}" for name in (*_NUMBERS, *_FLAGS))}, {{is_new}} AS is_new,
    {", ".join(f"e.{name}" for name in _TEXTS)},
    CASE WHEN is_help OR NOT tool_name = '' THEN op ELSE '' END AS named,
    CASE WHEN is_call AND NOT ok AND NOT field_errors = '[]' THEN field_errors END AS field_errors
FROM ({{events}}) e {{others}}
"""  # noqa: S608 - the names are ours


class CountedRows(NamedTuple):
    """Some rows of the table, by a condition in SQL and its parameters."""

    condition: str
    parameters: tuple[Any, ...] = ()


NEW = CountedRows("is_new")  # those to count; others are only earlier events of their turns


@contextmanager
def open_table(events: QuerySet[OperationEvent]) -> Iterator[None]:
    """Keep the table inside the `with` block, with these events as new ones. It needs a transaction."""
    query, parameters = _build_query(events)
    with connection.cursor() as cursor:
        selected = _SELECT.format(events=query, is_new="TRUE", others="")
        cursor.execute(f"CREATE TEMPORARY TABLE {TABLE} AS {selected}", parameters)
        analyze(TABLE)
        yield
        cursor.execute(f"DROP TABLE {TABLE}")


def analyze(table: str) -> None:
    """Let PostgreSQL look at a sample of a temporary table, so that it expects about the rows that there are."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL default_statistics_target = 5; ANALYZE {table}")


def add_earlier(others: str) -> None:
    """Add events that were counted before: the SQL that follows `FROM (all events) e`, such as a join.

    An index must find them: PostgreSQL expects too many of them, and would read all events. With the limit, it does
    not take the last condition for one that makes the index useless.
    """
    query, parameters = _build_query(OperationEvent.objects.all())
    selected = _SELECT.format(events=query, is_new="FALSE", others=others)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET LOCAL enable_hashjoin = off")
        cursor.execute(
            f"INSERT INTO {TABLE} SELECT * FROM ({selected} LIMIT {_ALL}) f WHERE NOT id IN (SELECT id FROM {TABLE})",  # noqa: S608
            parameters,
        )
        if connection.vendor == "postgresql":
            cursor.execute("SET LOCAL enable_hashjoin = on")


def _build_query(events: QuerySet[OperationEvent]) -> tuple[str, tuple[Any, ...]]:
    flagged: Any = events.order_by().annotate(**_FLAGS)
    statement: tuple[str, tuple[Any, ...]] = flagged.values(
        *_NUMBERS, *_TEXTS, "field_errors", *_FLAGS
    ).query.sql_with_params()
    return statement
