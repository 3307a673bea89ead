"""Compute turns, and which calls repaired which, from their events: in SQL, since a turn's events never leave the
database.

All events of a turn are read again when it gets another one, in whatever order they come. So a turn and its repairs are
always those that one count of all of its events gives.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import NamedTuple

from django.db import connection

from analytics.events import counted_events
from analytics.events.counted_events import TABLE, CountedRows
from analytics.events.models import OperationEvent
from analytics.turns.models import Turn

LOOP_LENGTH = 3  # identical calls in a turn that make a loop; a single repeat is not one
MAX_TURN_LENGTH = timedelta(hours=6)  # maximum length of a turn; of a longer one, only the last hours count
MAX_TURN_EVENTS = 1_000  # events of a turn; more means that a client sends one id for all turns

_KEY_FIELDS = ("client", "session", "turn")
_LAST_FIELDS = ("subject", "release", "surface", "cohort", "model")  # those of the last event
_EVENT, _TURN = OperationEvent._meta.db_table, Turn._meta.db_table

# The turns that have new events, the ids of their rows, and whether one of their calls may have failed.
_NEW_TURNS = f"""
CREATE TEMPORARY TABLE new_turns AS
SELECT row_number() OVER () AS number, n.client, n.session, n.turn, t.id AS row_id, {{is_known}} AS is_known,
    n.failed > 0 OR {{is_known}} AS may_repair
FROM (
    SELECT client, session, turn, count(*) AS events, count(*) FILTER (WHERE is_call AND NOT ok) AS failed
    FROM {TABLE} WHERE is_new AND is_of_turn GROUP BY client, session, turn
) n LEFT JOIN {_TURN} t ON t.client = n.client AND t.session = n.session AND t.turn = n.turn
WHERE n.events <= {{max_events}} AND coalesce(t.searches + t.helps + t.calls, 0) <= {{max_events}}
"""  # noqa: S608 - the names are ours
# The earlier events of turns that go on. The index of sessions comes first, because a client may number the turns of
# each session.
_EARLIER = (
    """
CROSS JOIN new_turns t WHERE t.is_known AND is_of_turn AND e.turn = t.turn AND e.client = t.client
AND NOT t.session = '' AND NOT e.session = '' AND e.session = t.session
""",
    """
CROSS JOIN new_turns t WHERE t.is_known AND is_of_turn AND NOT e.turn = '' AND e.turn = t.turn AND e.client = t.client
AND t.session = '' AND e.session = ''
""",
)
_TURN_EVENTS = (
    f"new_turns t JOIN {TABLE} e ON e.client = t.client AND e.session = t.session AND e.turn = t.turn AND e.is_of_turn"
)
# A successful call repairs the latest earlier failed call of the same op that is not repaired yet, as a closing
# parenthesis closes an opening one. `depth` counts the open ones, and calls of one depth are a failed one, the one that
# repairs it, and so on. Calls of depth 0 found nothing to repair.
_REPAIRS = f"""
CREATE TEMPORARY TABLE turn_repairs AS
WITH calls AS (
    SELECT number, op, id, time, ok, repairs, sum(CASE WHEN ok THEN -1 ELSE 1 END) OVER (
        PARTITION BY number, op ORDER BY time, id
    ) AS balance
    FROM {_TURN_EVENTS} WHERE is_call AND may_repair
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
    SELECT id, repairs AS before, ok AND depth > 0 AS is_repair, lag(id) OVER previous AS id_of_previous,
        lag(time) OVER previous AS time_of_previous
    FROM depths WINDOW previous AS (PARTITION BY number, op, depth ORDER BY time, id)
)
SELECT id, before, CASE WHEN is_repair THEN id_of_previous END AS now,
    CASE WHEN is_repair THEN time_of_previous END AS repaired_time
FROM links WHERE is_repair AND id_of_previous IS NOT NULL OR before IS NOT NULL
"""  # noqa: S608 - the names are ours
_CHANGED = "(SELECT * FROM turn_repairs WHERE coalesce(before, 0) <> coalesce(now, 0))"
_SET_REPAIRS = f"UPDATE {_EVENT} SET repairs = c.now FROM {_CHANGED} c WHERE {_EVENT}.id = c.id"  # noqa: S608 - our names
# The failed calls of which only one of two sides says that they are repaired. IS TRUE keeps PostgreSQL from a join.
_ONE_SIDED = f"""
(id IN (SELECT {{side}} FROM {_CHANGED} c WHERE {{side}} IS NOT NULL
AND {{side}} NOT IN (SELECT {{other}} FROM {_CHANGED} c WHERE {{other}} IS NOT NULL))) IS TRUE
"""  # noqa: S608 - the names are ours
_COUNTS = {
    "time": "min(time)",
    "searches": "count(*) FILTER (WHERE is_search)",
    "misses": "count(*) FILTER (WHERE is_search AND result_count = 0)",
    "helps": "count(*) FILTER (WHERE is_help)",
    "calls": "count(*) FILTER (WHERE is_call)",
    "failed": "count(*) FILTER (WHERE is_call AND NOT ok)",
    "repaired": "count(*) FILTER (WHERE repaired_time >= since)",
    "unknown_names": "count(*) FILTER (WHERE is_unknown_name)",
    "repeats": f"count(*) FILTER (WHERE is_repeatable AND of_digest >= {LOOP_LENGTH})",
    # of the call that is furthest from the end
    "is_first_call_ok": "max(2 * place + CASE WHEN ok THEN 1 ELSE 0 END) FILTER (WHERE is_call) % 2 = 1",
}
_EVENT_FLAGS = ("is_search", "is_help", "is_call", "is_unknown_name", "is_repeatable")
_TURN_FIGURES = f"""
CREATE TEMPORARY TABLE turn_figures AS
WITH events AS (
    SELECT number, row_id, id, time, ok, result_count, digest, {", ".join(_EVENT_FLAGS)},
        row_number() OVER from_end AS place, first_value(time) OVER from_end AS last_time
    FROM {_TURN_EVENTS} WINDOW from_end AS (PARTITION BY number ORDER BY time DESC, id DESC)
),
last_events AS (
    SELECT events.*, {{since}} AS since, repaired_time FROM events LEFT JOIN turn_repairs r ON r.id = events.id
    WHERE time >= {{since}}
),
ranked AS (
    SELECT last_events.*, row_number() OVER (PARTITION BY number, is_repeatable, digest) AS of_digest FROM last_events
)
SELECT max(row_id) AS row_id, max(id) FILTER (WHERE place = 1) AS last_id,
    {", ".join(f"{figure} AS {name}" for name, figure in _COUNTS.items())}
FROM ranked GROUP BY number
"""  # noqa: S608 - the names are ours
_WITH_LAST_EVENT = f"turn_figures f JOIN {TABLE} e ON e.id = f.last_id"
_VALUES = {name: f"f.{name}" for name in _COUNTS} | {name: f"e.{name}" for name in (*_KEY_FIELDS, *_LAST_FIELDS)}
_UPDATE_TURNS = f"""
UPDATE {_TURN} SET {", ".join(f"{name} = {value}" for name, value in _VALUES.items() if name not in _KEY_FIELDS)}
FROM {_WITH_LAST_EVENT} WHERE f.row_id = {_TURN}.id
"""  # noqa: S608 - the names are ours
# Only this job inserts turns. ON CONFLICT looks for each of them again, and costs about twice as much.
_INSERT_TURNS = f"""
INSERT INTO {_TURN} ({", ".join(_VALUES)}) SELECT {", ".join(_VALUES.values())}
FROM {_WITH_LAST_EVENT} WHERE row_id IS NULL
"""  # noqa: S608 - the names are ours
_SINCE = {
    "postgresql": "last_time - interval '{} seconds'",
    "sqlite": "datetime(last_time, '-{} seconds')",  # in whole seconds
}


class ChangedRepairs(NamedTuple):
    """Failed calls that are repaired now and were not before, and those that are no longer."""

    added: CountedRows
    removed: CountedRows


@contextmanager
def aggregate_turns(*, are_all_known: bool = False) -> Iterator[ChangedRepairs]:
    """Write the turns that have new events, and `repairs` of their events. Give what changed of the latter.

    It needs the table of counted events, and what it gives can be read inside the `with` block. A turn without a row
    has no earlier events, unless `are_all_known`.
    """
    since = _SINCE[connection.vendor].format(round(MAX_TURN_LENGTH.total_seconds()))
    is_known = "TRUE" if are_all_known else "t.id IS NOT NULL"
    with connection.cursor() as cursor:
        cursor.execute(_NEW_TURNS.format(is_known=is_known, max_events=MAX_TURN_EVENTS))
        counted_events.analyze("new_turns")
        for earlier in _EARLIER:
            counted_events.add_earlier(earlier)
        cursor.execute(_REPAIRS)
        counted_events.analyze("turn_repairs")
        cursor.execute(_SET_REPAIRS)
        cursor.execute(_TURN_FIGURES.format(since=since))
        counted_events.analyze("turn_figures")
        cursor.execute(_UPDATE_TURNS)
        cursor.execute(_INSERT_TURNS)
        yield ChangedRepairs(_select_one_sided("now", "before"), _select_one_sided("before", "now"))
        for table in ("new_turns", "turn_repairs", "turn_figures"):
            cursor.execute(f"DROP TABLE {table}")


def _select_one_sided(side: str, other: str) -> CountedRows:
    return CountedRows(_ONE_SIDED.format(side=side, other=other))
