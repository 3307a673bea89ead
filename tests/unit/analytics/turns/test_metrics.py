"""What a turn came to: which calls mended which, and its figures."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.turns import metrics
from analytics.turns.metrics import TurnEvent

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
UPDATE, GET = "onto.task.update", "onto.task.get"


def happened(number: int, /, op: str = UPDATE, **fields: Any) -> TurnEvent:
    """The event with this number, one a minute: a call that succeeded, unless fields say otherwise."""
    said: dict[str, Any] = dict.fromkeys(TurnEvent._fields, "") | {"dry_run": False, "replayed": False, "ok": True}
    said |= {"id": number, "time": NOON + timedelta(minutes=number), "type": "exec", "source": "api", "op": op}
    said |= {"result_count": None, "mends": None, "turn": "t1", "tool_name": op.replace(".", "_")}
    return TurnEvent(**said | fields)


def of(*events: TurnEvent) -> dict[str, Any]:
    """A turn's figures that are not nought."""
    names = ("searches", "misses", "helps", "calls", "failed", "mended", "unknown_names", "repeats")
    turn = metrics.compute_turn(events, mended(*events))
    return {name: value for name in names if (value := getattr(turn, name))}


def mended(*events: TurnEvent, settled_until: datetime = NOON) -> dict[int, TurnEvent]:
    return metrics.find_repairs(events, settled_until=settled_until)


def links(*events: TurnEvent, **more: Any) -> dict[int, int]:
    return {event: failed.id for event, failed in mended(*events, **more).items()}


# --- mending ----------------------------------------------------------------------------------------------------------

BAD = {"ok": False, "reason": "invalid_args"}


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([happened(1, **BAD), happened(2)], {2: 1}),
        ([happened(1), happened(2, **BAD)], {}),  # what comes before mends nothing
        ([happened(1, **BAD), happened(2, **BAD), happened(3)], {3: 2}),  # the latest
        ([happened(1, **BAD), happened(2, **BAD), happened(3), happened(4)], {3: 2, 4: 1}),  # then the one before
        ([happened(1, **BAD), happened(2), happened(3)], {2: 1}),  # once
        ([happened(1, **BAD), happened(2, GET)], {}),  # another op
        ([happened(1, **BAD), happened(2, GET), happened(3)], {3: 1}),  # a look between
        ([happened(1, **BAD), happened(2, type="help")], {}),
        ([happened(1, **BAD), happened(2, dry_run=True)], {}),
        ([happened(1, **BAD), happened(2, replayed=True)], {}),
        ([happened(1, **BAD), happened(2, source="admin")], {}),
        ([happened(1, ok=False, reason="switched_off"), happened(2)], {}),  # nothing was wrong with it
        ([happened(1, ok=False, dry_run=True), happened(2)], {}),
        ([happened(1, "onto.tusk.update", ok=False, reason="unknown_op", tool_name=""), happened(2)], {}),  # a guess
    ],
)
def test_call_mends_the_latest_failed_one_of_its_op(events: list[TurnEvent], expected: dict[int, int]) -> None:
    assert links(*events) == expected


def test_what_a_settled_call_mends_stays_whatever_is_written_late() -> None:
    late = happened(2, **BAD)
    events = [happened(1, **BAD), late, happened(3, mends=1), happened(4)]

    assert links(*events, settled_until=NOON + timedelta(minutes=4)) == {3: 1, 4: 2}
    assert links(*events) == {3: 2, 4: 1}


def test_settled_call_that_mended_nothing_mends_nothing_later() -> None:
    events = [happened(1, **BAD), happened(2)]

    assert links(*events, settled_until=NOON + timedelta(minutes=3)) == {}


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
def test_links_are_of_a_call_and_one_failed_call_of_its_op_before(kinds: list[Any], settled: int) -> None:
    events = [happened(number, kind.pop("op"), **kind) for number, kind in enumerate(kinds)]

    found = mended(*events)

    by_id = {event.id: event for event in events}
    assert len({failed.id for failed in found.values()}) == len(found)
    for event, failed in found.items():
        assert by_id[event].ok
        assert not failed.ok
        assert failed.id < event
        assert failed.op == by_id[event].op
        assert metrics.is_call(failed)
        assert metrics.is_call(by_id[event])

    # Settled in between, it is the same.
    told = [event._replace(mends=found[event.id].id if event.id in found else None) for event in events]
    assert mended(*told, settled_until=NOON + timedelta(minutes=settled)) == {
        event: by_told for event, failed in found.items() if (by_told := told[failed.id])
    }


@given(kinds=st.lists(KINDS, max_size=20))
def test_failed_call_is_left_unmended_only_where_no_call_after_it_was_free_to_mend_it(kinds: list[Any]) -> None:
    events = [happened(number, kind.pop("op"), **kind) for number, kind in enumerate(kinds)]

    found = mended(*events)

    mending, mended_ones = set(found), {failed.id for failed in found.values()}
    for failed in (
        event for event in events if metrics.is_call(event) and not event.ok and event.id not in mended_ones
    ):
        after = [each for each in events[failed.id :] if metrics.is_call(each) and each.ok and each.op == failed.op]
        assert all(each.id in mending for each in after)


# --- figures ----------------------------------------------------------------------------------------------------------


def test_figures_tell_of_every_step() -> None:
    events = [
        happened(1, "", type="search", result_count=0),
        happened(2, "", type="search", result_count=4),
        happened(3, type="help"),
        happened(4, "onto.tusk", type="help", ok=False, reason="unknown_path"),
        happened(5, "onto.tusk.update", ok=False, reason="unknown_op", tool_name=""),
        happened(6, **BAD),
        happened(7),
        happened(8, dry_run=True),
    ]

    assert of(*events) == {
        "searches": 2,
        "misses": 1,
        "helps": 1,
        "unknown_names": 2,
        "calls": 3,
        "failed": 2,
        "mended": 1,
    }


def test_same_call_is_a_loop_from_the_third_time_on() -> None:
    same, other = [happened(number, digest="a") for number in range(5)], happened(6, digest="b")

    assert of(*same[:2], other) == {"calls": 3}
    assert of(*same, other) == {"calls": 6, "repeats": 3}
    assert of(*(happened(number) for number in range(5))) == {"calls": 5}  # what has no digest is no loop


def test_turn_is_told_under_what_its_last_call_was_served() -> None:
    first = happened(1, release="r1", surface="legacy", cohort="", model="gpt", subject="ana", session="s1")
    last = happened(2, release="r2", surface="gateway", cohort="dev", model="claude", subject="ana", session="s1")

    turn = metrics.compute_turn([first, last], {})

    assert (turn.time, turn.release, turn.surface, turn.cohort, turn.model) == (
        *(first.time, "r2", "gateway", "dev"),
        "claude",
    )
    assert (turn.subject, turn.session, turn.turn) == ("ana", "s1", "t1")
