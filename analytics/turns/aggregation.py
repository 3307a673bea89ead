"""Compute turns, and which calls repaired which, from their events: in SQL, since a turn's events never leave the
database.

All events of a turn are read again when it gets another one, in whatever order they come. So a turn and its repairs are
always those that one count of all of its events gives.
"""

from datetime import timedelta

from django.db import connection

from analytics.events import counted_events
from analytics.events.counted_events import FLAGS, TABLE
from analytics.events.models import OperationEvent
from analytics.turns.models import Turn

LOOP_LENGTH = 3  # identical calls in a turn that make a loop; a single repeat is not one
MAX_TURN_LENGTH = timedelta(hours=6)  # maximum length of a turn; of a longer one, only the last hours count
MAX_TURN_EVENTS = 1_000  # events of a turn; more means that a client sends one id for all turns

_KEY_FIELDS = ("client", "session", "turn")
_LAST_FIELDS = ("subject", "release", "surface", "cohort", "model")  # those of the last event
_EVENT, _TURN = OperationEvent._meta.db_table, Turn._meta.db_table
_KEYS = ", ".join(_KEY_FIELDS)
_SAME_TURN = " AND ".join(f"{{0}}.{name} = {{1}}.{name}" for name in _KEY_FIELDS).format

_COUNTS = {
    "searches": "count(*) FILTER (WHERE is_search)",
    "misses": "count(*) FILTER (WHERE is_search AND result_count = 0)",
    "helps": "count(*) FILTER (WHERE is_help)",
    "calls": "count(*) FILTER (WHERE is_call)",
    "failed": "count(*) FILTER (WHERE is_call AND NOT ok)",
    "unknown_names": "count(*) FILTER (WHERE is_unknown_name)",
}
_FIRST_CALL, _FIRST_SUCCESS = "min(time) FILTER (WHERE is_call)", "min(time) FILTER (WHERE is_call AND ok)"
# The figures of turns from events of a table, apart from repeats. The last event is the one that was stored last, since
# putting the events in order takes three times as long. Of calls at the same moment, a successful one is the first.
_FIGURES = f"""
SELECT {{keys}}, count(*) AS events, min(time) AS time, max(time) AS last_time, max(id) AS last_id,
    CASE WHEN {_FIRST_CALL} IS NOT NULL THEN coalesce({_FIRST_SUCCESS} = {_FIRST_CALL}, FALSE) END AS is_first_call_ok,
    {{may_loop}} AS may_loop, {", ".join(f"{figure} AS {name}" for name, figure in _COUNTS.items())}
FROM {{events}} GROUP BY {{keys}}
"""  # noqa: S608 - the names are ours
# Those of the new events of each turn, with the id of its row. The last id is also the number of the turn in this run.
_NEW_TURNS = f"""
CREATE TEMPORARY TABLE turn_figures AS
SELECT n.*, n.last_id AS number, t.id AS row_id, {{is_partial}} AS is_partial, 0 AS repeats
FROM ({_FIGURES}) n LEFT JOIN {_TURN} t ON {_SAME_TURN("t", "n")}
WHERE n.events <= {{max_events}} AND coalesce(t.searches + t.helps + t.calls, 0) <= {{max_events}}
"""  # noqa: S608 - the names are ours
# All events of the turns that go on. The index of sessions comes first, because a client may number the turns of each
# session.
_TURN_EVENTS = (
    """
t.is_partial AND is_of_turn AND e.turn = t.turn AND e.client = t.client
AND NOT t.session = '' AND NOT e.session = '' AND e.session = t.session
""",
    """
t.is_partial AND is_of_turn AND NOT e.turn = '' AND e.turn = t.turn
AND e.client = t.client AND t.session = '' AND e.session = ''
""",
)
_EVENT_COLUMNS = tuple(
    f"e.{name}"
    for name in (*("id", "time", "ok", "result_count", "repairs", "op", "digest"), *FLAGS, *_LAST_FIELDS)
    if name != "is_of_turn"
)
# What is too long before the end of its turn to count.
_DELETE_EARLY = """
DELETE FROM turn_events WHERE id IN (
    SELECT e.id FROM turn_events e JOIN (
        SELECT number, min(time) AS first_time, max(time) AS last_time FROM turn_events GROUP BY number
    ) ends USING (number) WHERE first_time < {since} AND e.time < {since}
)
"""
_UPDATED = ("time", "last_time", "last_id", "is_first_call_ok", "may_loop", *_COUNTS)
_COUNT_ALL_EVENTS = f"""
UPDATE turn_figures SET {", ".join(f"{name} = n.{name}" for name in _UPDATED)}
FROM ({_FIGURES}) n WHERE turn_figures.number = n.number
"""  # noqa: S608 - the names are ours
# The digests of turns that may have a loop: the new events of new turns, and all events of those that go on.
_COUNT_REPEATS = f"""
UPDATE turn_figures SET repeats = l.repeats FROM (
    SELECT number, sum(times - {LOOP_LENGTH - 1}) AS repeats FROM (
        SELECT number, count(*) AS times FROM (
            SELECT number, digest FROM turn_figures JOIN {TABLE} e ON {_SAME_TURN("e", "turn_figures")}
            WHERE is_repeatable AND may_loop AND NOT is_partial
            UNION ALL SELECT number, digest FROM turn_figures JOIN turn_events USING (number)
            WHERE is_repeatable AND may_loop
        ) e GROUP BY number, digest HAVING count(*) >= {LOOP_LENGTH}
    ) loops GROUP BY number
) l WHERE turn_figures.number = l.number
"""  # noqa: S608 - the names are ours
# A successful call repairs the latest earlier failed call of the same op that is not repaired yet, as a closing
# parenthesis closes an opening one. `depth` counts the open ones, and calls of one depth are a failed one, the one that
# repairs it, and so on. Calls of depth 0 found nothing to repair. Most turns have no failed call of an op: those are
# left out before the calls are sorted.
_REPAIRS = f"""
CREATE TEMPORARY TABLE turn_repairs AS
WITH all_calls AS (
    SELECT number, coalesce(unknown_op, named) AS op, id, e.time, ok, NULL AS repairs
    FROM turn_figures t JOIN {TABLE} e ON {_SAME_TURN("e", "t")} WHERE is_call AND failed > 0 AND NOT is_partial
    UNION ALL SELECT number, op, id, time, ok, repairs FROM turn_events WHERE is_call
),
calls AS (
    SELECT all_calls.*, sum(CASE WHEN ok THEN -1 ELSE 1 END) OVER (PARTITION BY number, op ORDER BY time, id) AS balance
    FROM all_calls
    WHERE (number, op) IN (SELECT number, op FROM all_calls WHERE NOT ok) OR repairs IS NOT NULL
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
    SELECT number, id, repairs AS before, ok AND depth > 0 AS is_repair, lag(id) OVER previous AS id_of_previous,
        lag(time) OVER previous AS time_of_previous
    FROM depths WINDOW previous AS (PARTITION BY number, op, depth ORDER BY time, id)
)
SELECT number, id, before, CASE WHEN is_repair THEN id_of_previous END AS now,
    CASE WHEN is_repair THEN time_of_previous END AS repaired_time
FROM links WHERE is_repair AND id_of_previous IS NOT NULL OR before IS NOT NULL
"""  # noqa: S608 - the names are ours
_CHANGED = "(SELECT * FROM turn_repairs WHERE coalesce(before, 0) <> coalesce(now, 0))"
_SET_REPAIRS = f"UPDATE {_EVENT} SET repairs = c.now FROM {_CHANGED} c WHERE {_EVENT}.id = c.id"  # noqa: S608 - our names
# The failed calls that are repaired now and were not before (1), and those that no longer are (-1).
_REPAIRED_CALLS = f"""
(
    SELECT id, sum(change) AS change FROM (
        SELECT now AS id, 1 AS change FROM {_CHANGED} c WHERE now IS NOT NULL
        UNION ALL SELECT before, -1 FROM {_CHANGED} c WHERE before IS NOT NULL
    ) c GROUP BY id HAVING NOT sum(change) = 0
) c
"""  # noqa: S608 - the names are ours
_WITH_LAST_EVENT = """
turn_figures f JOIN {events} e ON e.id = f.last_id LEFT JOIN (
    SELECT number, count(*) AS repaired FROM turn_repairs JOIN turn_figures USING (number)
    WHERE repaired_time >= {since} GROUP BY number
) r ON r.number = f.number
"""
_VALUES = {name: f"f.{name}" for name in (*_KEY_FIELDS, "time", *_COUNTS, "repeats", "is_first_call_ok")}
_VALUES |= {name: f"e.{name}" for name in _LAST_FIELDS} | {"repaired": "coalesce(r.repaired, 0)"}
_UPDATE_TURNS = f"""
UPDATE {_TURN} SET {", ".join(f"{name} = {value}" for name, value in _VALUES.items() if name not in _KEY_FIELDS)}
FROM {_WITH_LAST_EVENT} WHERE f.row_id = {_TURN}.id
"""  # noqa: S608 - the names are ours
# Only this job inserts turns. ON CONFLICT looks for each of them again, and costs about twice as much.
_INSERT_TURNS = f"""
INSERT INTO {_TURN} ({", ".join(_VALUES)}) SELECT {", ".join(_VALUES.values())}
FROM {_WITH_LAST_EVENT} WHERE row_id IS NULL AND {{which}}
"""  # noqa: S608 - the names are ours


_SECONDS = round(MAX_TURN_LENGTH.total_seconds())
# Whether a digest of a turn may be there often enough for a loop. PostgreSQL sets one of 64 bits for each digest: three
# equal ones set at least two bits fewer than there are events. SQLite has no such aggregate.
_MAY_LOOP = {
    "postgresql": f"""
        bit_count(bit_or(1::bigint << (hashtext(digest) & 63)) FILTER (WHERE is_repeatable)::bit(64))
        <= count(*) FILTER (WHERE is_repeatable) - {LOOP_LENGTH - 1}
    """,
    "sqlite": f"count(*) FILTER (WHERE is_repeatable) >= {LOOP_LENGTH}",
}
# The begin of what counts of a turn that ends at `last_time`.
_SINCE = {
    "postgresql": f"last_time - interval '{_SECONDS} seconds'",
    "sqlite": f"datetime(last_time, '-{_SECONDS} seconds')",  # in whole seconds
}


def aggregate_turns(*, are_all_known: bool = False) -> None:
    """Write the turns that have new events, and `repairs` of their events. Add what changed of the latter to the table.

    It needs the table of counted events. A turn without a row has no earlier events, unless `are_all_known`.
    """
    since = _SINCE[connection.vendor]
    # What is counted once is what all of its events are at hand for, and less than the longest turn.
    is_partial = "TRUE" if are_all_known else f"(t.id IS NOT NULL OR n.time < {since})"
    may_loop = _MAY_LOOP[connection.vendor]
    of_new = {"keys": _KEYS, "events": f"{TABLE} WHERE is_of_turn", "may_loop": may_loop}
    of_all = {"keys": "number", "events": "turn_events", "may_loop": may_loop}
    with connection.cursor() as cursor:
        cursor.execute(_NEW_TURNS.format(is_partial=is_partial, max_events=MAX_TURN_EVENTS, **of_new))
        counted_events.analyze("turn_figures")
        columns = ("t.number", *_EVENT_COLUMNS)
        counted_events.select_stored(
            "CREATE TEMPORARY TABLE turn_events AS", "turn_figures t", _TURN_EVENTS[0], columns
        )
        counted_events.select_stored("INSERT INTO turn_events", "turn_figures t", _TURN_EVENTS[1], columns)
        counted_events.analyze("turn_events", "id, number")
        counted_events.add_index("turn_events", "number")
        cursor.execute(_REPAIRS)
        counted_events.analyze("turn_repairs")
        cursor.execute(_SET_REPAIRS)
        cursor.execute(_DELETE_EARLY.format(since=since))
        cursor.execute(_COUNT_ALL_EVENTS.format(**of_all))
        cursor.execute(_COUNT_REPEATS)
        cursor.execute(_UPDATE_TURNS.format(events="turn_events", since=since))
        cursor.execute(_INSERT_TURNS.format(events="turn_events", since=since, which="is_partial"))
        cursor.execute(_INSERT_TURNS.format(events=TABLE, since=since, which="NOT is_partial"))
        counted_events.add_repaired_calls(_REPAIRED_CALLS)
        for table in ("turn_figures", "turn_events", "turn_repairs"):
            cursor.execute(f"DROP TABLE {table}")
