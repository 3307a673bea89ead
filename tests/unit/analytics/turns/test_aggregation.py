"""Counting turns: whole, once, and only those in which something happened."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analytics.models import OpDaily, OperationEvent, Rollup, Turn
from analytics.rollups import rollup_job
from analytics.turns import aggregation, metrics
from tests.support.cpu_budget import examples
from tests.unit.analytics.conftest import Happen

pytestmark = pytest.mark.both_databases

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
BAD = {"code": "VALIDATION_ERROR", "reason": "invalid_args"}
OURS = {"client": "chat", "session": "s1", "turn": "t1"}


def count(at: datetime = NOON) -> None:
    while rollup_job.run(at):
        pass


def told(**which: Any) -> list[tuple[int, int, int]]:
    """Calls, failures and what was mended of each turn."""
    return list(Turn.objects.filter(**which).order_by("id").values_list("calls", "failed", "mended"))


def test_turn_is_counted_whole_when_something_is_added_to_it(happen: Happen) -> None:
    happen(NOON - HOUR, **OURS, **BAD)
    count()
    assert told() == [(1, 1, 0)]

    happen(NOON + MINUTE, **OURS)
    count(NOON + MINUTE)

    assert told() == [(2, 1, 1)]
    assert Turn.objects.get().time == NOON - HOUR


@pytest.mark.parametrize("other", [{"client": "desk"}, {"session": "s2"}, {"session": ""}, {"turn": "t2"}])
def test_turns_are_apart_by_client_session_and_id(happen: Happen, other: dict[str, str]) -> None:
    happen(NOON - 2 * MINUTE, **OURS, **BAD)
    happen(NOON - MINUTE, **OURS | other)

    count()

    assert sorted(told()) == [(1, 0, 0), (1, 1, 0)]
    assert not OperationEvent.objects.exclude(mends=None).exists()


def test_calls_without_a_turn_are_in_none(happen: Happen) -> None:
    happen(NOON - 2 * MINUTE, client="chat", session="s1", **BAD)
    happen(NOON - MINUTE, client="chat", session="s1")
    happen(NOON - MINUTE, source="admin", **OURS)

    count()

    assert not Turn.objects.exists()


def test_call_says_what_it_mends(happen: Happen) -> None:
    happen(NOON - 2 * MINUTE, **OURS, **BAD)
    happen(NOON - MINUTE, **OURS)

    count()

    first, second = OperationEvent.objects.order_by("time")
    assert (first.mends, second.mends) == (None, first.pk)


def test_link_that_is_not_settled_is_mended_by_what_is_written_late(happen: Happen) -> None:
    happen(NOON - 3 * MINUTE, **OURS, **BAD)
    happen(NOON - MINUTE, **OURS)
    count()
    happen(NOON - 2 * MINUTE, **OURS, **BAD)

    count(NOON + MINUTE)

    late, call = OperationEvent.objects.get(time=NOON - 2 * MINUTE), OperationEvent.objects.get(ok=True)
    assert call.mends == late.pk
    assert told() == [(3, 2, 1)]


def test_turn_that_goes_on_for_long_is_told_of_its_last_hours(happen: Happen) -> None:
    happen(NOON - aggregation.MAX_TURN_LENGTH - 2 * HOUR, **OURS, times=3)
    happen(NOON - HOUR, **OURS)

    count()

    assert told() == [(1, 0, 0)]


def test_id_that_all_turns_of_a_client_share_is_no_turn(happen: Happen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aggregation, "MAX_TURN_EVENTS", 3)
    happen(NOON - MINUTE, **OURS, times=4)
    happen(NOON - MINUTE, **OURS | {"turn": "t2"}, times=3)

    count()

    assert list(Turn.objects.values_list("turn", flat=True)) == ["t2"]


def test_turn_of_which_nothing_is_new_is_not_written(happen: Happen, django_assert_max_num_queries: Any) -> None:
    happen(NOON - MINUTE, **OURS)
    count()
    before = Turn.objects.get()

    with django_assert_max_num_queries(14):
        count(NOON + MINUTE)

    assert Turn.objects.get() == before


def test_many_turns_are_counted_in_one_run(happen: Happen) -> None:
    for number in range(aggregation.QUERY_BATCH_SIZE + 5):
        happen(NOON - MINUTE, **OURS | {"turn": f"t{number}"})

    rollup_job.run(NOON)

    assert Turn.objects.count() == aggregation.QUERY_BATCH_SIZE + 5


HAPPENINGS = st.lists(
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
@given(happenings=HAPPENINGS, runs=st.lists(st.integers(0, 40 * 60), max_size=6), step=st.sampled_from([1, 24]))
def test_figures_agree_however_often_they_are_counted(
    happen: Happen, happenings: list[Any], runs: list[int], step: int
) -> None:
    for model in (OperationEvent, OpDaily, Turn, Rollup):
        model.objects.all().delete()
    start = NOON - 40 * HOUR

    waiting = sorted(happenings)
    for at in sorted([*runs, 40 * 60]):
        while waiting and waiting[0][0] <= at:
            minute, turn, op, ok, release = waiting.pop(0)
            said = {**OURS, "turn": turn, "op": op, "release": release, **({} if ok else BAD)}
            happen(start + minute * MINUTE, **said)
        while rollup_job.run(start + at * MINUTE, step=timedelta(hours=step)):
            pass

    _figures_agree()


def _figures_agree() -> None:
    events = {event.pk: event for event in OperationEvent.objects.order_by("time", "id")}
    mended = [events[event.mends] for event in events.values() if event.mends]
    wanted = {}
    for failed in mended:
        key = (failed.time.date(), failed.op, failed.release)
        wanted[key] = wanted.get(key, 0) + 1
    found: dict[Any, int] = {}
    for row in OpDaily.objects.filter(mended__gt=0):
        key = (row.day, row.op, row.release)
        found[key] = found.get(key, 0) + row.mended
    assert found == wanted

    for turn in Turn.objects.all():
        whole = [event for event in events.values() if event.turn == turn.turn]
        last = [event for event in whole if event.time >= whole[-1].time - aggregation.MAX_TURN_LENGTH]
        assert turn.calls == len(last)
        if last == whole:  # what a call mended hours ago, in a turn that still goes on, is told of its events alone
            assert turn.mended == sum(event.mends is not None for event in whole)
            links = {event.pk: event.mends for event in whole if event.mends}
            assert links == {
                by: failed.id for by, failed in metrics.find_repairs(whole, settled_until=whole[0].time).items()
            }
