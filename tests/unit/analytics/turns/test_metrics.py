"""The metrics of a turn: which call repaired which, and its figures."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.turns import aggregation
from analytics.turns.aggregation import TurnEvent

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
UPDATE, GET = "onto.task.update", "onto.task.get"


def build_event(number: int, /, op: str = UPDATE, **fields: Any) -> TurnEvent:
    """Return the event with this number, one per minute: a successful call unless fields say otherwise."""
    values: dict[str, Any] = dict.fromkeys(TurnEvent._fields, "") | {"dry_run": False, "replayed": False, "ok": True}
    values |= {"id": number, "time": NOON + timedelta(minutes=number), "type": "exec", "source": "api", "op": op}
    values |= {"result_count": None, "repairs": None, "turn": "t1", "tool_name": op.replace(".", "_")}
    return TurnEvent(**values | fields)


def compute_figures(*events: TurnEvent) -> dict[str, Any]:
    names = ("searches", "misses", "helps", "calls", "failed", "repaired", "unknown_names", "repeats")
    turn = aggregation.compute_turn(events, find_repairs(*events))
    return {name: value for name in names if (value := getattr(turn, name))}


def find_repairs(*events: TurnEvent, settled_until: datetime = NOON) -> dict[int, TurnEvent]:
    return aggregation.find_repairs(events, settled_until=settled_until)


def find_links(*events: TurnEvent, **more: Any) -> dict[int, int]:
    return {event: failed.id for event, failed in find_repairs(*events, **more).items()}


# --- repairs ----------------------------------------------------------------------------------------------------------

FAILED = {"ok": False, "reason": "invalid_args"}


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([build_event(1, **FAILED), build_event(2)], {2: 1}),
        ([build_event(1), build_event(2, **FAILED)], {}),  # an earlier call repairs nothing
        # A call repairs the latest failed call, then the one before it, and each once.
        ([build_event(1, **FAILED), build_event(2, **FAILED), build_event(3)], {3: 2}),
        ([build_event(1, **FAILED), build_event(2, **FAILED), build_event(3), build_event(4)], {3: 2, 4: 1}),
        ([build_event(1, **FAILED), build_event(2, GET)], {}),  # another op
        ([build_event(1, **FAILED), build_event(2, GET), build_event(3)], {3: 1}),  # another op in between
        ([build_event(1, **FAILED), build_event(2, type="help")], {}),
        ([build_event(1, **FAILED), build_event(2, dry_run=True)], {}),
        ([build_event(1, **FAILED), build_event(2, replayed=True)], {}),
        ([build_event(1, **FAILED), build_event(2, source="admin")], {}),
        ([build_event(1, ok=False, reason="switched_off"), build_event(2)], {}),  # the call itself was valid
        ([build_event(1, "onto.tusk.update", ok=False, reason="unknown_op", tool_name=""), build_event(2)], {}),
    ],
)
def test_call_repairs_the_latest_failed_call_of_its_op(events: list[TurnEvent], expected: dict[int, int]) -> None:
    assert find_links(*events) == expected


def test_settled_link_is_not_changed_by_a_late_event() -> None:
    late = build_event(2, **FAILED)
    events = [build_event(1, **FAILED), late, build_event(3, repairs=1), build_event(4)]

    assert find_links(*events, settled_until=NOON + timedelta(minutes=4)) == {3: 1, 4: 2}
    assert find_links(*events) == {3: 2, 4: 1}


def test_settled_call_without_a_link_gets_none_later() -> None:
    events = [build_event(1, **FAILED), build_event(2)]

    assert find_links(*events, settled_until=NOON + timedelta(minutes=3)) == {}


KINDS = st.fixed_dictionaries(
    {
        "op": st.sampled_from([UPDATE, GET]),
        "ok": st.booleans(),
        "type": st.sampled_from(["exec", "exec", "exec", "help"]),
        "replayed": st.sampled_from([False, False, True]),
        "reason": st.sampled_from(["", "", "in_progress"]),
    }
)


@given(kinds=st.lists(KINDS, max_size=20), settled=st.integers(0, 20))
def test_links_connect_a_call_with_an_earlier_failed_call_of_its_op(kinds: list[Any], settled: int) -> None:
    events = [build_event(number, kind.pop("op"), **kind) for number, kind in enumerate(kinds)]

    repairs = find_repairs(*events)

    by_id = {event.id: event for event in events}
    assert len({failed.id for failed in repairs.values()}) == len(repairs)
    for event, failed in repairs.items():
        assert by_id[event].ok
        assert not failed.ok
        assert failed.id < event
        assert failed.op == by_id[event].op
        assert aggregation.is_call(failed)
        assert aggregation.is_call(by_id[event])

    # The result does not change if a part is settled in between.
    linked_events = [event._replace(repairs=repairs[event.id].id if event.id in repairs else None) for event in events]
    assert find_repairs(*linked_events, settled_until=NOON + timedelta(minutes=settled)) == {
        event: linked_failed for event, failed in repairs.items() if (linked_failed := linked_events[failed.id])
    }


@given(kinds=st.lists(KINDS, max_size=20))
def test_failed_call_stays_unrepaired_only_when_no_later_call_is_free(kinds: list[Any]) -> None:
    events = [build_event(number, kind.pop("op"), **kind) for number, kind in enumerate(kinds)]

    repairs = find_repairs(*events)

    repairing, repaired_ids = set(repairs), {failed.id for failed in repairs.values()}
    for failed in (
        event for event in events if aggregation.is_call(event) and not event.ok and event.id not in repaired_ids
    ):
        after = [each for each in events[failed.id :] if aggregation.is_call(each) and each.ok and each.op == failed.op]
        assert all(each.id in repairing for each in after)


# --- figures ----------------------------------------------------------------------------------------------------------


def test_figures_count_every_kind_of_event() -> None:
    events = [
        build_event(1, "", type="search", result_count=0),
        build_event(2, "", type="search", result_count=4),
        build_event(3, type="help"),
        build_event(4, "onto.tusk", type="help", ok=False, reason="unknown_path"),
        build_event(5, "onto.tusk.update", ok=False, reason="unknown_op", tool_name=""),
        build_event(6, **FAILED),
        build_event(7),
        build_event(8, dry_run=True),
    ]

    expected = {"searches": 2, "misses": 1, "helps": 1, "unknown_names": 2, "calls": 3, "failed": 2, "repaired": 1}
    assert compute_figures(*events) == expected


def test_repeated_call_is_a_loop_from_the_third_time() -> None:
    same, other = [build_event(number, digest="a") for number in range(5)], build_event(6, digest="b")

    assert compute_figures(*same[:2], other) == {"calls": 3}
    assert compute_figures(*same, other) == {"calls": 6, "repeats": 3}
    without_digest = [build_event(number) for number in range(5)]
    assert compute_figures(*without_digest) == {"calls": 5}


def test_what_the_client_loads_for_itself_is_not_counted() -> None:
    loads = [build_event(number, digest="a", purpose="context") for number in range(5)]

    assert compute_figures(*loads, build_event(6, ok=False)) == {"calls": 1, "failed": 1}


def test_turn_has_release_surface_cohort_and_model_of_its_last_call() -> None:
    first = build_event(1, release="r1", surface="legacy", cohort="", model="gpt", subject="ana", session="s1")
    last = build_event(2, release="r2", surface="gateway", cohort="dev", model="claude", subject="ana", session="s1")

    turn = aggregation.compute_turn([first, last], {})

    assert (turn.time, turn.release, turn.surface) == (first.time, "r2", "gateway")
    assert (turn.cohort, turn.model) == ("dev", "claude")
    assert (turn.subject, turn.session, turn.turn) == ("ana", "s1", "t1")
