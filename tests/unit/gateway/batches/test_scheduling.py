"""What a batch may hold, and what may run next in it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.batches import scheduling
from gateway.batches.scheduling import EntryState
from gateway.contracts.errors import InvalidRequestError

FAILED = "dependency_failed"
LIST = {"type": "exec", "op": "onto.task.list"}


def wrong(body: Any) -> list[tuple[str, str]]:
    with pytest.raises(InvalidRequestError) as refused:
        scheduling.parse_batch(body)
    assert refused.value.reason == "malformed_call"
    return [(error.path, error.code) for error in refused.value.field_errors]


def test_entries_are_read_with_what_they_need() -> None:
    entry = {**LIST, "args": {"a": {"$result": "0#/result"}, "b": [{"$result": "1#"}]}, "depends_on": [1]}
    plan = scheduling.parse_batch({"ops": [{"type": "help", "path": "onto"}, LIST, entry], "mode": "parallel"})

    assert [each.needs for each in plan.entries] == [[], [], [0, 1]]
    assert [each.name for each in plan.entries] == ["onto", "onto.task.list", "onto.task.list"]
    assert plan.entries[2].body == {"op": "onto.task.list", "args": entry["args"]}
    assert (plan.mode, plan.stop_on_error, plan.key) == ("parallel", False, None)


@pytest.mark.parametrize(
    ("body", "path", "code"),
    [
        ({}, "/ops", "required"),
        ({"ops": []}, "/ops", "minItems"),
        ({"ops": [LIST] * 51}, "/ops", "maxItems"),
        ({"ops": {}}, "/ops", "type"),
        ({"ops": [LIST], "mode": "fast"}, "/mode", "enum"),
        ({"ops": [LIST], "stop_on_error": "true"}, "/stop_on_error", "type"),
        ({"ops": [LIST], "more": 1}, "/more", "unknown_argument"),
        ({"ops": [LIST, 1]}, "/ops/1", "type"),
        ({"ops": [{"op": "x"}]}, "/ops/0/type", "required"),
        ({"ops": [{"type": "batch"}]}, "/ops/0/type", "enum"),
        ({"ops": [{"type": ["help"]}]}, "/ops/0/type", "type"),
        ({"ops": [{"type": "exec"}]}, "/ops/0/op", "required"),
        ({"ops": [LIST, {"type": "exec", "op": 3}]}, "/ops/1/op", "type"),
        ({"ops": [{**LIST, "args": "{}"}]}, "/ops/0/args", "type"),
        ({"ops": [{**LIST, "argz": {}}]}, "/ops/0/argz", "unknown_argument"),
        ({"ops": [{"type": "help", "op": "x"}]}, "/ops/0/op", "unknown_argument"),
        ({"ops": [{**LIST, "depends_on": [0]}]}, "/ops/0/depends_on/0", "not_earlier"),
        ({"ops": [LIST, {**LIST, "depends_on": [1]}]}, "/ops/1/depends_on/0", "not_earlier"),
        ({"ops": [{**LIST, "depends_on": [-1]}]}, "/ops/0/depends_on/0", "minimum"),
        ({"ops": [{**LIST, "depends_on": 0}]}, "/ops/0/depends_on", "type"),
        ({"ops": [{**LIST, "args": {"a": {"$result": "0#/x"}}}]}, "/ops/0/args/a", "not_earlier"),
        ({"ops": [LIST, {**LIST, "args": {"a": {"$result": "7#/x"}}}]}, "/ops/1/args/a", "not_earlier"),
        ({"ops": [LIST, {**LIST, "args": {"a": {"$result": "0/x"}}}]}, "/ops/1/args/a", "reference"),
        ({"ops": [LIST, {**LIST, "args": {"a": {"$result": "0#/x", "b": 1}}}]}, "/ops/1/args/a", "reference"),
        ({"ops": [LIST, {**LIST, "args": {"a": [{"$result": "0#"}] * 51}}]}, "/ops/1/args", "references"),
    ],
)
def test_a_wrong_form_refuses_the_whole_batch(body: Any, path: str, code: str) -> None:
    assert (path, code) in wrong(body)


def test_all_that_is_wrong_is_told_at_once() -> None:
    assert wrong({"ops": [{"type": "exec"}, LIST, {**LIST, "args": 1}]}) == [
        ("/ops/0/op", "required"),
        ("/ops/2/args", "type"),
    ]


def test_entries_are_checked_beside_the_batch_itself() -> None:
    found = wrong({"ops": [{**LIST, "args": "{}"}, {"type": "x"}, 3], "mode": "fast"})

    assert sorted(found) == [("/mode", "enum"), ("/ops/0/args", "type"), ("/ops/1/type", "enum"), ("/ops/2", "type")]


def at(index: int, state: str = "pending", outcome: str = "", needs: tuple[int, ...] = ()) -> EntryState:
    return EntryState(index, state, outcome, needs)


def ended(index: int, outcome: str = "succeeded", needs: tuple[int, ...] = ()) -> EntryState:
    return at(index, "done", outcome, needs)


@pytest.mark.parametrize(
    ("mode", "stop", "standings", "runnable", "closed"),
    [
        ("sequential", False, [at(0), at(1)], [0], {}),
        ("sequential", False, [at(0, "running"), at(1)], [], {}),
        ("sequential", False, [ended(0, "failed"), at(1)], [1], {}),
        ("sequential", True, [ended(0, "failed"), at(1), at(2)], [], {1: "skipped", 2: "skipped"}),
        ("sequential", False, [ended(0, "failed"), at(1, needs=(0,)), at(2)], [2], {1: FAILED}),
        ("parallel", False, [at(0), at(1), at(2, needs=(0,))], [0, 1], {}),
        ("parallel", False, [ended(0), at(1, "running"), at(2, needs=(0,)), at(3, needs=(0, 1))], [2], {}),
        ("parallel", False, [ended(0, "failed"), at(1, needs=(0,)), at(2, needs=(1,))], [], {1: FAILED, 2: FAILED}),
        ("parallel", True, [ended(0, "failed"), at(1, "running"), at(2)], [], {2: "skipped"}),
        ("parallel", True, [ended(0, "skipped"), at(1)], [1], {}),
        ("parallel", False, [ended(0), ended(1)], [], {}),
        ("sequential", False, [ended(0), at(1, "lost"), at(2)], [1], {}),
        ("sequential", True, [ended(0, "failed"), at(1, "lost"), at(2)], [1], {2: "skipped"}),
        ("parallel", True, [ended(0, "failed"), at(1, "lost"), at(2)], [1], {2: "skipped"}),
        ("parallel", False, [ended(0), at(1, "lost"), at(2), at(3, needs=(1,))], [1, 2], {}),
    ],
)  # fmt: skip
def test_what_may_run_next(
    mode: str, stop: bool, standings: list[EntryState], runnable: list[int], closed: dict[int, str]
) -> None:
    found = scheduling.decide_next(standings, mode=mode, stop_on_error=stop)

    assert (found.runnable, found.to_close) == (runnable, closed)


@given(st.data(), st.sampled_from(["sequential", "parallel"]), st.booleans())
def test_every_batch_comes_to_its_end(data: st.DataObject, mode: str, stop: bool) -> None:
    size = data.draw(st.integers(1, 8))
    needs = [tuple(data.draw(st.sets(st.integers(0, index - 1)))) if index else () for index in range(size)]
    standings = [at(index, needs=needs[index]) for index in range(size)]
    for _ in range(3 * size):
        found = scheduling.decide_next(standings, mode=mode, stop_on_error=stop)
        for index in found.to_close:
            standings[index] = ended(index, "skipped", needs[index])
        for index in found.runnable[:1]:
            assert all(standings[need].outcome == "succeeded" for need in needs[index])
            standings[index] = ended(index, data.draw(st.sampled_from(["succeeded", "failed"])), needs[index])
    assert all(each.state == "done" for each in standings)
