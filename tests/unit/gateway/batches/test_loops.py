"""Loops: which rows they run for, what conditions hold for, the keys of rows, and errors that say what to send."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.batches import loops
from gateway.batches.references import UnresolvedReference
from gateway.contracts.request_schemas import COMPARISONS, MAX_LOOP_ROWS

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
SCALARS = st.integers(-3, 3) | st.floats(-3, 3) | st.sampled_from(["", "a", "A", "b"]) | st.booleans() | st.none()
TASKS = [{"id": "a", "state": "done", "size": 3}, {"id": "b", "state": "todo", "size": 5}, {"id": "c", "tags": ["x"]}]
ENVELOPES = {0: {"ok": True, "result": {"tasks": TASKS, "total": 3}}}


def build_loop(**more: Any) -> dict[str, Any]:
    return {"type": "exec", "op": "x", "for_each": {"$result": "0#/result/tasks"}, **more}


def build_condition(pointer: str, op: str, value: Any) -> dict[str, Any]:
    return {"pointer": pointer, "op": op, "value": value}


@pytest.mark.parametrize(
    ("condition", "chosen"),
    [
        (None, "abc"),
        (build_condition("/state", "eq", "done"), "a"),
        (build_condition("/state", "ne", "done"), "bc"),
        (build_condition("/size", "lt", 5), "a"),
        (build_condition("/size", "gt", 2.5), "ab"),
        (build_condition("/size", "gt", "2"), ""),
        (build_condition("/state", "contains", "DO"), "ab"),
        (build_condition("/tags", "contains", "x"), "c"),
        (build_condition("/id", "lt", "c"), "ab"),
        (build_condition("", "eq", TASKS[2]), "c"),
        (build_condition("/size", "eq", True), ""),
    ],
)
def test_where_chooses_rows(condition: Any, chosen: str) -> None:
    rows, all_count = loops.select_rows(build_loop(**{"where": condition} if condition else {}), ENVELOPES)

    assert "".join(row.value["id"] for row in rows) == chosen
    assert [TASKS[row.place] for row in rows] == [row.value for row in rows]
    assert all_count == 3


@given(SCALARS, SCALARS)
def test_comparisons_agree_with_each_other(value: Any, expected: Any) -> None:
    held = {op for op in COMPARISONS if loops.holds(build_condition("/value", op, expected), {"value": value})}

    assert len(held & {"eq", "lt", "gt"}) <= 1
    assert ("ne" in held) == ("eq" not in held)


@given(JSON, st.sampled_from(COMPARISONS), JSON)
def test_no_document_breaks_a_condition(document: Any, op: str, value: Any) -> None:
    assert loops.holds(build_condition("", op, value), document) in (True, False)
    assert loops.holds(build_condition("", "eq", document), document)
    assert loops.holds(build_condition("/no/such", op, value), document) == (op == "ne")


def test_rows_have_keys_that_stay_when_the_list_moves() -> None:
    rows = [{"id": 1}, {"id": 2}, {"id": 2}, "x", "x", {"name": "no id"}]

    def derive_keys(values: list[Any]) -> list[str]:
        selected, _ = loops.select_rows(build_loop(), {0: {"result": {"tasks": values}}})
        return [loops.derive_row_key("batch", 1, row) for row in selected]

    keys = derive_keys(rows)
    assert len(set(keys)) == len(rows)
    assert sorted(derive_keys(rows[::-1])) == sorted(keys)
    assert set(derive_keys([{"id": 0}, *rows])) > set(keys)


@pytest.mark.parametrize(
    ("tasks", "code", "told"),
    [
        ({"total": 3}, "not_a_list", "name a list"),
        ([1] * (MAX_LOOP_ROWS + 1), "too_many_rows", "101 rows"),
    ],
)
def test_for_each_says_why_it_has_no_rows(tasks: Any, code: str, told: str) -> None:
    with pytest.raises(UnresolvedReference, match=told) as caught:
        loops.select_rows(build_loop(), {0: {"result": {"tasks": tasks}}})

    assert caught.value.errors[0].code == code


def test_for_each_names_what_the_answer_has() -> None:
    with pytest.raises(UnresolvedReference, match=r"nothing at /result/rows; /result has tasks, total"):
        loops.select_rows(build_loop(for_each={"$result": "0#/result/rows"}), ENVELOPES)


@pytest.mark.parametrize(
    ("entry", "path", "code"),
    [
        (build_loop(for_each={"$result": "tasks"}), "/for_each", "reference"),
        (build_loop(for_each={"$result": "1#/result"}), "/for_each", "not_earlier"),
        (build_loop(args={"id": {"$item": "id"}}), "/args/id", "reference"),
        (build_loop(args={"id": {"$item": "/id", "more": 1}}), "/args/id", "reference"),
        ({"args": {"id": {"$item": "/id"}}}, "/args/id", "no_loop"),
        ({"where": build_condition("", "eq", 1)}, "/where", "no_loop"),
        ({"stop_on_error": True}, "/stop_on_error", "no_loop"),
    ],
)
def test_malformed_loops_are_told(entry: dict[str, Any], path: str, code: str) -> None:
    errors = loops.find_loop_errors(1, entry)

    assert [(error.path, error.code) for error in errors] == [(f"/ops/1{path}", code)]


def test_an_arg_that_only_looks_like_an_item_stays() -> None:
    assert loops.find_loop_errors(0, {"args": {"props": {"$item": 5}, "stop": {"$item": "a"}}}) == []
