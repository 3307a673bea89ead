"""Aggregating turns: completely, once, and only when they have new events."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analytics.events.models import OperationEvent
from analytics.rollups import rollup_job
from analytics.rollups.models import OpDaily, Rollup
from analytics.turns import aggregation
from analytics.turns.models import Turn
from tests.support.cpu_budget import examples
from tests.support.rows.analytics_rows import NOON, WriteEvent, run_until_done

pytestmark = pytest.mark.both_databases

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
FAILED = {"code": "VALIDATION_ERROR", "reason": "invalid_args"}
TURN = {"client": "chat", "session": "s1", "turn": "t1"}


def list_turns(**which: Any) -> list[tuple[int, int, int]]:
    """Return calls, failures and repaired calls of each turn."""
    return list(Turn.objects.filter(**which).order_by("id").values_list("calls", "failed", "repaired"))


def test_turn_is_recounted_completely_when_events_are_added(write_event: WriteEvent) -> None:
    write_event(NOON - HOUR, **TURN, **FAILED)
    run_until_done()
    assert list_turns() == [(1, 1, 0)]

    write_event(NOON + MINUTE, **TURN)
    run_until_done(NOON + MINUTE)

    assert list_turns() == [(2, 1, 1)]
    assert Turn.objects.get().time == NOON - HOUR


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


def test_call_is_linked_to_the_failed_call_that_it_repairs(write_event: WriteEvent) -> None:
    write_event(NOON - 2 * MINUTE, **TURN, **FAILED)
    write_event(NOON - MINUTE, **TURN)

    run_until_done()

    first, second = OperationEvent.objects.order_by("time")
    assert (first.repairs, second.repairs) == (None, first.pk)


def test_unsettled_link_is_corrected_by_a_late_event(write_event: WriteEvent) -> None:
    write_event(NOON - 3 * MINUTE, **TURN, **FAILED)
    write_event(NOON - MINUTE, **TURN)
    run_until_done()
    write_event(NOON - 2 * MINUTE, **TURN, **FAILED)

    run_until_done(NOON + MINUTE)

    late, call = OperationEvent.objects.get(time=NOON - 2 * MINUTE), OperationEvent.objects.get(ok=True)
    assert call.repairs == late.pk
    assert list_turns() == [(3, 2, 1)]


def test_long_turn_is_aggregated_over_its_last_hours(write_event: WriteEvent) -> None:
    write_event(NOON - aggregation.MAX_TURN_LENGTH - 2 * HOUR, **TURN, times=3)
    write_event(NOON - HOUR, **TURN)

    run_until_done()

    assert list_turns() == [(1, 0, 0)]


def test_repair_is_counted_while_a_turn_goes_on_for_hours_after_an_outage(write_event: WriteEvent) -> None:
    write_event(NOON - 8 * HOUR, **TURN | FAILED)
    write_event(NOON - 8 * HOUR, **TURN)
    rollup_job.run_rollup(NOON - 8 * HOUR)
    write_event(NOON - HOUR, **TURN)

    rollup_job.run_rollup(NOON)

    _assert_figures_agree()


def test_turn_id_with_too_many_events_is_ignored(write_event: WriteEvent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aggregation, "MAX_TURN_EVENTS", 3)
    write_event(NOON - MINUTE, **TURN, times=4)
    write_event(NOON - MINUTE, **TURN | {"turn": "t2"}, times=3)

    run_until_done()

    assert list(Turn.objects.values_list("turn", flat=True)) == ["t2"]


def test_turn_without_new_events_is_not_written(write_event: WriteEvent, django_assert_max_num_queries: Any) -> None:
    write_event(NOON - MINUTE, **TURN)
    run_until_done()
    before = Turn.objects.get()

    with django_assert_max_num_queries(17):
        run_until_done(NOON + MINUTE)

    assert Turn.objects.get() == before


def test_many_turns_are_counted_in_one_run(write_event: WriteEvent) -> None:
    for number in range(aggregation.QUERY_BATCH_SIZE + 5):
        write_event(NOON - MINUTE, **TURN | {"turn": f"t{number}"})

    rollup_job.run_rollup(NOON)

    assert Turn.objects.count() == aggregation.QUERY_BATCH_SIZE + 5


EVENTS = st.lists(
    st.tuples(
        st.integers(0, 40 * 60),  # minutes
        st.sampled_from(["t1", "t2"]),
        st.sampled_from(["onto.task.update", "onto.task.get"]),
        st.booleans(),
        st.sampled_from(["r1", "r2"]),
    ),
    max_size=25,
)


@settings(max_examples=examples(10), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(events=EVENTS, runs=st.lists(st.integers(0, 40 * 60), max_size=6), step=st.sampled_from([1, 24]))
def test_figures_agree_for_any_sequence_of_runs(
    write_event: WriteEvent, events: list[Any], runs: list[int], step: int
) -> None:
    for model in (OperationEvent, OpDaily, Turn, Rollup):
        model.objects.all().delete()
    start = NOON - 40 * HOUR

    waiting = sorted(events)
    for at in sorted([*runs, 40 * 60]):
        while waiting and waiting[0][0] <= at:
            minute, turn, op, ok, release = waiting.pop(0)
            fields = {**TURN, "turn": turn, "op": op, "release": release, **({} if ok else FAILED)}
            write_event(start + minute * MINUTE, **fields)
        while rollup_job.run_rollup(start + at * MINUTE, step=timedelta(hours=step)):
            pass

    _assert_figures_agree()


def _assert_figures_agree() -> None:
    events = {event.pk: event for event in OperationEvent.objects.order_by("time", "id")}
    repaired = [events[event.repairs] for event in events.values() if event.repairs]
    expected: dict[Any, int] = {}
    for failed in repaired:
        key = (failed.time.date(), failed.op, failed.release)
        expected[key] = expected.get(key, 0) + 1
    actual: dict[Any, int] = {}
    for row in OpDaily.objects.filter(repaired__gt=0):
        key = (row.day, row.op, row.release)
        actual[key] = actual.get(key, 0) + row.repaired
    assert actual == expected

    for turn in Turn.objects.all():
        whole = [event for event in events.values() if event.turn == turn.turn]
        last = [event for event in whole if event.time >= whole[-1].time - aggregation.MAX_TURN_LENGTH]
        assert turn.calls == len(last)
        if last == whole:  # repairs from hours ago in a running turn are only in its events
            assert turn.repaired == sum(event.repairs is not None for event in whole)
            links = {event.pk: event.repairs for event in whole if event.repairs}
            assert links == {
                by: failed.id for by, failed in aggregation.find_repairs(whole, settled_until=whole[0].time).items()
            }
