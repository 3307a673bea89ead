"""Aggregating turns: their figures, which call repaired which, and only when they have new events.

`tests/unit/analytics/rollups/test_any_order.py` compares both with a count in Python.
"""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from analytics.events.models import OperationEvent
from analytics.turns import aggregation
from analytics.turns.models import Turn
from tests.support.loops import for_each
from tests.support.rows.analytics_rows import NOON, WriteEvent, run_until_done

pytestmark = pytest.mark.both_databases

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
FAILED = {"code": "VALIDATION_ERROR", "reason": "invalid_args"}
TURN = {"client": "chat", "session": "s1", "turn": "t1"}
OTHER_OP = {"op": "onto.task.get"}


def list_turns(**which: Any) -> list[tuple[int, int, int]]:
    """Return calls, failures and repaired calls of each turn."""
    return list(Turn.objects.filter(**which).order_by("id").values_list("calls", "failed", "repaired"))


def write_turn(write_event: WriteEvent, *events: dict[str, Any]) -> None:
    """Write the events of one turn, one per minute, and run the job."""
    for number, fields in enumerate(events):
        write_event(NOON - HOUR + number * MINUTE, **TURN | fields)
    run_until_done()


def read_turn() -> dict[str, Any]:
    """Return the figures of the only turn, without zeros."""
    names = ("searches", "misses", "helps", "calls", "failed", "repaired", "unknown_names", "repeats")
    turn = Turn.objects.get()
    return {name: value for name in names if (value := getattr(turn, name))}


# --- repairs ----------------------------------------------------------------------------------------------------------


@for_each(
    "events, repaired",
    [
        ([FAILED, {}], {1: 0}),
        ([{}, FAILED], {}),  # an earlier call repairs nothing
        # A call repairs the latest failed call, then the one before it, and each once.
        ([FAILED, FAILED, {}], {2: 1}),
        ([FAILED, FAILED, {}, {}], {2: 1, 3: 0}),
        ([FAILED, {}, {}, FAILED, {}], {1: 0, 4: 3}),
        ([FAILED, OTHER_OP], {}),
        ([FAILED, OTHER_OP, {}], {2: 0}),  # another op in between
        ([FAILED, {"type": "help"}], {}),
        ([FAILED, {"dry_run": True}], {}),
        ([FAILED, {"replayed": True}], {}),
        ([FAILED, {"source": "admin"}], {}),
        ([{"code": "CONFLICT", "reason": "switched_off"}, {}], {}),  # the call itself was valid
        ([{"op": "onto.tusk", "tool_name": "", "code": "NOT_FOUND", "reason": "unknown_op"}, {}], {}),
    ],
    undone=True,
)
def test_call_repairs_the_latest_failed_call_of_its_op(
    write_event: WriteEvent, events: list[dict[str, Any]], repaired: dict[int, int]
) -> None:
    write_turn(write_event, *events)

    numbers = {
        pk: number for number, pk in enumerate(OperationEvent.objects.order_by("time").values_list("pk", flat=True))
    }
    links = OperationEvent.objects.exclude(repairs=None).values_list("pk", "repairs")
    assert {numbers[call]: numbers[failed] for call, failed in links} == repaired


def test_repair_is_corrected_by_a_late_event(write_event: WriteEvent) -> None:
    write_event(NOON - 3 * HOUR, **TURN, **FAILED)
    write_event(NOON - HOUR, **TURN)
    run_until_done()
    write_event(NOON - 2 * HOUR, **TURN, **FAILED)

    run_until_done(NOON + MINUTE)

    late, call = OperationEvent.objects.get(time=NOON - 2 * HOUR), OperationEvent.objects.get(ok=True)
    assert call.repairs == late.pk
    assert list_turns() == [(3, 2, 1)]


# --- which events are of a turn ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("other", [{"client": "desk"}, {"session": "s2"}, {"session": ""}, {"turn": "t2"}])
def test_turns_are_separated_by_client_session_and_id(write_event: WriteEvent, other: dict[str, str]) -> None:
    write_event(NOON - 2 * MINUTE, **TURN, **FAILED)
    write_event(NOON - MINUTE, **TURN | other)

    run_until_done()

    assert sorted(list_turns()) == [(1, 0, 0), (1, 1, 0)]
    assert not OperationEvent.objects.exclude(repairs=None).exists()


def test_calls_without_a_turn_id_are_not_aggregated(write_event: WriteEvent) -> None:
    write_event(NOON - 2 * MINUTE, client="chat", session="s1", **FAILED)
    write_event(NOON - MINUTE, client="chat", session="s1")
    write_event(NOON - MINUTE, source="admin", **TURN)

    run_until_done()

    assert not Turn.objects.exists()


def test_turn_is_recounted_completely_when_events_are_added(write_event: WriteEvent) -> None:
    write_event(NOON - HOUR, **TURN, **FAILED)
    run_until_done()
    assert list_turns() == [(1, 1, 0)]

    write_event(NOON + MINUTE, **TURN)
    run_until_done(NOON + MINUTE)

    assert list_turns() == [(2, 1, 1)]
    assert Turn.objects.get().time == NOON - HOUR


def test_sqlite_groups_and_joins_the_events_of_turns_that_go_on_by_indexes(write_event: WriteEvent) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("by design: PostgreSQL hashes the rows")
    plans: list[str] = []

    def explain(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.strip().startswith("UPDATE turn_figures"):
            plan = connection.connection.execute(f"EXPLAIN QUERY PLAN {sql}")
            plans.append("\n".join(row[3] for row in plan))
        return execute(sql, params, many, context)

    write_event(NOON - HOUR, **TURN)
    run_until_done()
    write_event(NOON + MINUTE, **TURN)
    with connection.execute_wrapper(explain):
        run_until_done(NOON + MINUTE)

    figures, repeats = plans
    assert "SCAN turn_events USING INDEX" in figures
    assert "SEARCH n USING" in figures
    assert "SEARCH turn_events USING INDEX" in repeats
    assert "SEARCH e USING" in repeats


def test_long_turn_is_aggregated_over_its_last_hours(write_event: WriteEvent) -> None:
    write_event(NOON - aggregation.MAX_TURN_LENGTH - 2 * HOUR, **TURN, times=3)
    write_event(NOON - HOUR, **TURN)

    run_until_done()

    assert list_turns() == [(1, 0, 0)]


def test_turn_id_with_too_many_events_is_ignored(write_event: WriteEvent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aggregation, "MAX_TURN_EVENTS", 3)
    write_event(NOON - MINUTE, **TURN, times=4)
    write_event(NOON - MINUTE, **TURN | {"turn": "t2"}, times=3)

    run_until_done()

    assert list(Turn.objects.values_list("turn", flat=True)) == ["t2"]


def test_turn_that_goes_on_for_too_long_is_not_read_again(
    write_event: WriteEvent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aggregation, "MAX_TURN_EVENTS", 3)
    for _ in range(4):
        write_event(NOON - MINUTE, **TURN, times=2)
        run_until_done()

    assert list_turns() == [(4, 0, 0)]


# --- figures ----------------------------------------------------------------------------------------------------------


def test_figures_count_every_kind_of_event(write_event: WriteEvent) -> None:
    write_turn(
        write_event,
        {"type": "search", "op": "", "tool_name": "", "result_count": 0},
        {"type": "search", "op": "", "tool_name": "", "result_count": 4},
        {"type": "help"},
        {"type": "help", "op": "onto.tusk", "code": "NOT_FOUND", "reason": "unknown_path"},
        {"op": "onto.tusk.update", "tool_name": "", "code": "NOT_FOUND", "reason": "unknown_op"},
        FAILED,
        {},
        {"dry_run": True},
    )

    expected = {"searches": 2, "misses": 1, "helps": 1, "unknown_names": 2, "calls": 3, "failed": 2, "repaired": 1}
    assert read_turn() == expected


@for_each(
    "digests, figures",
    [
        (["a", "a", "b"], {"calls": 3}),
        (["a", "a", "b", "a", "a", "a"], {"calls": 6, "repeats": 3}),
        ([""] * 5, {"calls": 5}),
        (["a", "b", "a", "a"], {"calls": 4, "repeats": 1}),
        ([*"aabb", *map(str, range(100))], {"calls": 104}),
        ([*"aaabbb", *map(str, range(100))], {"calls": 106, "repeats": 2}),
    ],
    undone=True,
)
def test_repeated_call_is_a_loop_from_the_third_time(
    write_event: WriteEvent, digests: list[str], figures: dict[str, int]
) -> None:
    write_turn(write_event, *({"digest": digest} for digest in digests))

    assert read_turn() == figures


def test_what_the_client_loads_for_itself_is_not_counted(write_event: WriteEvent) -> None:
    write_turn(write_event, *[{"purpose": "context", "digest": "a"}] * 5, FAILED)

    assert read_turn() == {"calls": 1, "failed": 1}


def test_turn_has_release_surface_cohort_and_model_of_its_last_call(write_event: WriteEvent) -> None:
    write_turn(
        write_event,
        {"release": "r1", "surface": "legacy", "cohort": "", "model": "gpt", "subject": "ana"},
        {"release": "r2", "surface": "gateway", "cohort": "dev", "model": "claude", "subject": "ana"},
    )

    turn = Turn.objects.get()
    assert (turn.time, turn.release, turn.surface) == (NOON - HOUR, "r2", "gateway")
    assert (turn.cohort, turn.model, turn.subject) == ("dev", "claude", "ana")


def test_turn_has_the_release_of_the_event_that_was_stored_last(write_event: WriteEvent) -> None:
    write_event(NOON - MINUTE, **TURN, release="r2")
    write_event(NOON - HOUR, **TURN, release="r1")

    run_until_done()

    assert Turn.objects.get().release == "r1"


@for_each("events, is_ok", [([FAILED, {}], False), ([{}, FAILED], True), ([{"type": "help"}], None)], undone=True)
def test_turn_says_whether_its_first_call_succeeded(
    write_event: WriteEvent, events: list[dict[str, Any]], is_ok: bool | None
) -> None:
    write_turn(write_event, *events)

    assert Turn.objects.get().is_first_call_ok is is_ok
