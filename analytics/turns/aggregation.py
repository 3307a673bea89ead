"""Compute turns, and which calls repaired which, from their events: in SQL, since a turn's events never leave the
database.

All events of a turn are read again when it gets another one, in whatever order they come. So a turn and its repairs are
always those that one count of all of its events gives.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Count, Q, QuerySet
from django.db.models.expressions import RawSQL

from analytics.events.event_filters import (
    BY_MODEL,
    CALL,
    FAILED_CALL,
    HELP_READ,
    NOT_TRIED_IN_ADMIN,
    SEARCH,
    UNKNOWN_NAME,
)
from analytics.events.models import OperationEvent
from analytics.turns.models import Turn

LOOP_LENGTH = 3  # identical calls in a turn that make a loop; a single repeat is not one
MAX_TURN_LENGTH = timedelta(hours=6)  # maximum length of a turn; of a longer one, only the last hours count
MAX_TURN_EVENTS = 1_000  # events of a turn; more means that a client sends one id for all turns

_FLAGS = {
    "is_call": CALL,
    "is_help": HELP_READ,
    "is_search": SEARCH,
    "is_unknown_name": UNKNOWN_NAME,
    "is_repeatable": BY_MODEL & ~Q(digest=""),
}
_KEY_FIELDS = ("client", "session", "turn")
_LAST_FIELDS = ("subject", "release", "surface", "cohort", "model")  # those of the last event
_FIELDS = ("id", "time", "op", "ok", "result_count", "digest", "repairs", *_KEY_FIELDS, *_LAST_FIELDS)
_EVENT, _TURN = OperationEvent._meta.db_table, Turn._meta.db_table

# The turns that have new events, and whether one of their calls may have failed.
_NEW_TURNS = """
CREATE TEMPORARY TABLE new_turns AS
SELECT row_number() OVER () AS number, n.client, n.session, n.turn, n.failed > 0 OR t.turn IS NOT NULL AS may_repair
FROM ({events}) n LEFT JOIN {turn} t ON t.client = n.client AND t.session = n.session AND t.turn = n.turn
WHERE n.events <= {max_events} AND coalesce(t.searches + t.helps + t.calls, 0) <= {max_events}
"""
# All of their events. The first part uses the index of sessions, because a client may number the turns of each session.
_TURN_EVENTS = """
SELECT t.number, t.may_repair, e.* FROM new_turns t CROSS JOIN ({events}) e
WHERE NOT t.session = '' AND NOT e.session = '' AND e.session = t.session AND e.turn = t.turn AND e.client = t.client
UNION ALL
SELECT t.number, t.may_repair, e.* FROM new_turns t CROSS JOIN ({events}) e
WHERE t.session = '' AND e.session = '' AND NOT e.turn = '' AND e.turn = t.turn AND e.client = t.client
"""
# A successful call repairs the latest earlier failed call of the same op that is not repaired yet, as a closing
# parenthesis closes an opening one. `depth` counts the open ones, and calls of one depth are a failed one, the one that
# repairs it, and so on. Calls of depth 0 found nothing to repair.
_CHANGED_REPAIRS = """
CREATE TEMPORARY TABLE changed_repairs AS
WITH calls AS (
    SELECT number, op, id, time, ok, repairs, sum(CASE WHEN ok THEN -1 ELSE 1 END) OVER (
        PARTITION BY number, op ORDER BY time, id
    ) AS balance
    FROM ({turn_events}) e WHERE is_call AND may_repair
),
lowest AS (
    SELECT calls.*, min(balance) OVER (
        PARTITION BY number, op ORDER BY time, id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS least
    FROM calls
),
depths AS (
    SELECT lowest.*, balance - CASE WHEN least < 0 THEN least ELSE 0 END + CASE WHEN ok THEN 1 ELSE 0 END AS depth
    FROM lowest
),
links AS (
    SELECT id, repairs, CASE WHEN ok AND depth > 0 THEN lag(id) OVER (
        PARTITION BY number, op, depth ORDER BY time, id
    ) END AS repaired
    FROM depths
)
SELECT id, repairs AS before, repaired AS now FROM links WHERE coalesce(repairs, 0) <> coalesce(repaired, 0)
"""
_SET_REPAIRS = f"UPDATE {_EVENT} SET repairs = c.now FROM changed_repairs c WHERE {_EVENT}.id = c.id"  # noqa: S608 - our names
# The failed calls of which only one of two sides says that they are repaired.
_ONE_SIDED = """
SELECT {side} FROM changed_repairs WHERE {side} IS NOT NULL
AND {side} NOT IN (SELECT {other} FROM changed_repairs WHERE {other} IS NOT NULL)
"""
_FIGURES = {
    "time": "min(time)",
    **{name: f"max({name}) FILTER (WHERE is_last)" for name in (*_KEY_FIELDS, *_LAST_FIELDS)},
    "searches": "count(*) FILTER (WHERE is_search)",
    "misses": "count(*) FILTER (WHERE is_search AND result_count = 0)",
    "helps": "count(*) FILTER (WHERE is_help)",
    "calls": "count(*) FILTER (WHERE is_call)",
    "failed": "count(*) FILTER (WHERE is_call AND NOT ok)",
    "repaired": "count(*) FILTER (WHERE repaired_time >= since)",
    "unknown_names": "count(*) FILTER (WHERE is_unknown_name)",
    "repeats": f"count(*) FILTER (WHERE is_repeatable AND of_digest >= {LOOP_LENGTH})",
    "is_first_call_ok": "max(CASE WHEN ok THEN 1 ELSE 0 END) FILTER (WHERE is_call AND calls_so_far = 1) = 1",
}
_UPSERT_TURNS = f"""
INSERT INTO {_TURN} ({", ".join(_FIGURES)})
WITH events AS (
    SELECT e.*, lead(id) OVER turn IS NULL AS is_last,
        max(time) OVER (turn ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS last_time
    FROM ({{turn_events}}) e WINDOW turn AS (PARTITION BY number ORDER BY time, id)
),
last_events AS (
    SELECT events.*, {{since}} AS since, sum(CASE WHEN is_call THEN 1 ELSE 0 END) OVER (
        PARTITION BY number ORDER BY time, id ROWS UNBOUNDED PRECEDING
    ) AS calls_so_far
    FROM events WHERE time >= {{since}}
),
ranked AS (
    SELECT e.*, repaired.time AS repaired_time,
        row_number() OVER (PARTITION BY number, is_repeatable, e.digest) AS of_digest
    FROM last_events e LEFT JOIN {_EVENT} repaired ON repaired.id = e.repairs
)
SELECT {", ".join(_FIGURES.values())} FROM ranked WHERE true GROUP BY number
ON CONFLICT ({", ".join(_KEY_FIELDS)}) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in _FIGURES)}
"""  # noqa: S608 - the names are ours
_SINCE = {
    "postgresql": "last_time - interval '{} seconds'",
    "sqlite": "datetime(last_time, '-{} seconds')",  # in whole seconds
}


class ChangedRepairs(NamedTuple):
    """Failed calls that are repaired now and were not before, and those that are no longer."""

    added: QuerySet[OperationEvent]
    removed: QuerySet[OperationEvent]


@contextmanager
def aggregate_turns(new_events: QuerySet[OperationEvent]) -> Iterator[ChangedRepairs]:
    """Write the turns that have new events, and `repairs` of their events. Give what changed of the latter.

    It needs a transaction, and what it gives can be read inside the `with` block.
    """
    turns: Any = new_events.filter(NOT_TRIED_IN_ADMIN).exclude(turn="").order_by().values(*_KEY_FIELDS)
    turns = turns.annotate(events=Count("id"), failed=Count("id", filter=FAILED_CALL))
    turn_events: Any = OperationEvent.objects.filter(NOT_TRIED_IN_ADMIN).order_by().annotate(**_FLAGS)
    events, parameters = turn_events.values(*_FIELDS, *_FLAGS).query.sql_with_params()
    of_turns, both = _TURN_EVENTS.format(events=events), [*parameters, *parameters]
    since = _SINCE[connection.vendor].format(round(MAX_TURN_LENGTH.total_seconds()))
    with connection.cursor() as cursor:
        sql, of_new = turns.query.sql_with_params()
        cursor.execute(_NEW_TURNS.format(events=sql, turn=_TURN, max_events=MAX_TURN_EVENTS), of_new)
        cursor.execute(_CHANGED_REPAIRS.format(turn_events=of_turns), both)
        cursor.execute(_SET_REPAIRS)
        cursor.execute(_UPSERT_TURNS.format(turn_events=of_turns, since=since), both)
        yield ChangedRepairs(_select_one_sided("now", "before"), _select_one_sided("before", "now"))
        cursor.execute("DROP TABLE new_turns")
        cursor.execute("DROP TABLE changed_repairs")


def _select_one_sided(side: str, other: str) -> QuerySet[OperationEvent]:
    ids = RawSQL(_ONE_SIDED.format(side=side, other=other), [])  # noqa: S611 - the names are ours
    return OperationEvent.objects.filter(pk__in=ids)
