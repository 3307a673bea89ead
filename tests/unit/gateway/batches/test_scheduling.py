"""Parsing a batch, and deciding which of its entries run next."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.batches import scheduling
from gateway.batches.scheduling import EntryState
from gateway.contracts.errors import InvalidRequestError

FAILED = "dependency_failed"
LIST = {"type": "exec", "op": "onto.task.list"}


def parse_errors(body: Any) -> list[tuple[str, str]]:
    with pytest.raises(InvalidRequestError) as error:
        scheduling.parse_batch(body)
    assert error.value.reason == "malformed_call"
    return [(each.path, each.code) for each in error.value.field_errors]


def test_parse_batch_reads_entries_with_their_dependencies() -> None:
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
        ({"ops": [LIST], "mode": "fast"}, "/mode", "enum"),
        ({"ops": [LIST], "stop_on_error": "true"}, "/stop_on_error", "type"),
        ({"ops": [LIST], "more": 1}, "/more", "unknown_argument"),
        ({"ops": [LIST, 1]}, "/ops/1", "type"),
        ({"ops": [{"op": "x"}]}, "/ops/0/type", "required"),
        ({"ops": [{"type": "batch"}]}, "/ops/0/type", "enum"),
        ({"ops": [{**LIST, "args": "{}"}]}, "/ops/0/args", "type"),
        ({"ops": [{**LIST, "argz": {}}]}, "/ops/0/argz", "unknown_argument"),
        ({"ops": [{**LIST, "depends_on": [0]}]}, "/ops/0/depends_on/0", "not_earlier"),
        ({"ops": [LIST, {**LIST, "depends_on": [1]}]}, "/ops/1/depends_on/0", "not_earlier"),
        ({"ops": [{**LIST, "depends_on": [-1]}]}, "/ops/0/depends_on/0", "minimum"),
        ({"ops": [{**LIST, "args": {"a": {"$result": "0#/x"}}}]}, "/ops/0/args/a", "not_earlier"),
        ({"ops": [LIST, {**LIST, "args": {"a": {"$result": "7#/x"}}}]}, "/ops/1/args/a", "not_earlier"),
        ({"ops": [LIST, {**LIST, "args": {"a": {"$result": "0#/x", "b": 1}}}]}, "/ops/1/args/a", "reference"),
        ({"ops": [LIST, {**LIST, "args": {"a": [{"$result": "0#"}] * 51}}]}, "/ops/1/args", "references"),
    ],
)
def test_malformed_batch_is_refused_with_field_errors(body: Any, path: str, code: str) -> None:
    assert (path, code) in parse_errors(body)


def test_parse_batch_reports_all_errors_at_once() -> None:
    assert parse_errors({"ops": [{"type": "exec"}, LIST, {**LIST, "args": 1}]}) == [
        ("/ops/0/op", "required"),
        ("/ops/2/args", "type"),
    ]


def test_parse_batch_checks_entries_and_the_batch() -> None:
    errors = parse_errors({"ops": [{**LIST, "args": "{}"}, {"type": "x"}, 3], "mode": "fast"})

    assert sorted(errors) == [("/mode", "enum"), ("/ops/0/args", "type"), ("/ops/1/type", "enum"), ("/ops/2", "type")]


def make(index: int, state: str = "pending", outcome: str = "", needs: tuple[int, ...] = ()) -> EntryState:
    return EntryState(index, state, outcome, needs)


def make_done(index: int, outcome: str = "succeeded", needs: tuple[int, ...] = ()) -> EntryState:
    return make(index, "done", outcome, needs)


@pytest.mark.parametrize(
    ("mode", "stop", "states", "runnable", "closed"),
    [
        ("sequential", False, [make(0), make(1)], [0], {}),
        ("sequential", False, [make(0, "running"), make(1)], [], {}),
        ("sequential", False, [make_done(0, "failed"), make(1)], [1], {}),
        ("sequential", True, [make_done(0, "failed"), make(1), make(2)], [], {1: "skipped", 2: "skipped"}),
        ("sequential", False, [make_done(0, "failed"), make(1, needs=(0,)), make(2)], [2], {1: FAILED}),
        ("parallel", False, [make(0), make(1), make(2, needs=(0,))], [0, 1], {}),
        ("parallel", False, [make_done(0), make(1, "running"), make(2, needs=(0,)), make(3, needs=(0, 1))], [2], {}),
        ("parallel", False, [make_done(0, "failed"), make(1, needs=(0,)), make(2, needs=(1,))], [],
            {1: FAILED, 2: FAILED}),
        ("parallel", True, [make_done(0, "failed"), make(1, "running"), make(2)], [], {2: "skipped"}),
        ("parallel", True, [make_done(0, "skipped"), make(1)], [1], {}),
        ("sequential", False, [make_done(0), make(1, "lost"), make(2)], [1], {}),
        ("sequential", True, [make_done(0, "failed"), make(1, "lost"), make(2)], [1], {2: "skipped"}),
        ("parallel", True, [make_done(0, "failed"), make(1, "lost"), make(2)], [1], {2: "skipped"}),
        ("parallel", False, [make_done(0), make(1, "lost"), make(2), make(3, needs=(1,))], [1, 2], {}),
    ],
)  # fmt: skip
def test_decide_next_returns_runnable_and_closed_entries(
    mode: str, stop: bool, states: list[EntryState], runnable: list[int], closed: dict[int, str]
) -> None:
    decision = scheduling.decide_next(states, mode=mode, stop_on_error=stop)

    assert (decision.runnable, decision.to_close) == (runnable, closed)


@given(st.data(), st.sampled_from(["sequential", "parallel"]), st.booleans())
def test_every_batch_ends(data: st.DataObject, mode: str, stop: bool) -> None:
    size = data.draw(st.integers(1, 8))
    needs = [tuple(data.draw(st.sets(st.integers(0, index - 1)))) if index else () for index in range(size)]
    states = [make(index, needs=needs[index]) for index in range(size)]
    for _ in range(3 * size):
        decision = scheduling.decide_next(states, mode=mode, stop_on_error=stop)
        for index in decision.to_close:
            states[index] = make_done(index, "skipped", needs[index])
        for index in decision.runnable[:1]:
            assert all(states[need].outcome == "succeeded" for need in needs[index])
            states[index] = make_done(index, data.draw(st.sampled_from(["succeeded", "failed"])), needs[index])
    assert all(each.state == "done" for each in states)
