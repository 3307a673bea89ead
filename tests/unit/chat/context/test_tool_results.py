"""The answers of a turn's calls fit their budget, stay JSON, and say what is missing."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chat.context import budgets
from chat.context.shortening.columns import drop_empty_members
from chat.context.tool_results import fit_results
from core.text import token_budget
from tests.support.cpu_budget import examples

META = {"trace_id": "tr_1", "latency_ms": 1.5, "warnings": [], "operation": {"entity": "task", "action": "list"}}
KEY_COLUMNS = ("id", "title", "state_key", "due_at")


def _list_tasks(count: int, *, text: str = "Hero line, three benefits.", **more: Any) -> dict[str, Any]:
    rows = [
        {
            "id": f"id-{number}",
            "title": f"Task {number}",
            "state_key": "todo",
            "due_at": "2026-12-01",
            "created_at": "2026-11-01T10:00:00Z",
            "description_preview": text,
        }
        for number in range(count)
    ]
    return {"op": "onto.task.list", "ok": True, "result": {"tasks": rows, **more}, "meta": META}


def _create_task(number: int = 1, **more: Any) -> dict[str, Any]:
    task = {"id": f"new-{number}", "title": f"Order the worktop {number}", "description": "word " * 300}
    operation = {"entity": "task", "action": "create", "entity_id": task["id"], "entity_name": task["title"]}
    result = {"task": task, "message": "Created.", **more}
    return {"op": "onto.task.create", "ok": True, "result": result, "meta": {**META, "operation": operation}}


def _get_document(content: str, **more: Any) -> dict[str, Any]:
    document = {"id": "d-1", "title": "Tone guide", "content": content, **more}
    return {"op": "onto.document.get", "ok": True, "result": {"document": document}, "meta": META}


def _fit(*answers: Any, budget: int = budgets.TOOL_RESULTS, seen: int = 0) -> list[Any]:
    texts = fit_results(answers, budget=budget, seen=seen)
    assert sum(map(token_budget.count, texts)) <= budget
    return [json.loads(text) for text in texts]


def test_fit_results_passes_an_ordinary_list_with_its_warnings_only() -> None:
    answer = _list_tasks(20, total=57, has_more=True, next_cursor="abc")
    [shown] = _fit(answer, budget=2_500)
    assert shown == {name: answer[name] for name in ("op", "ok", "result")}
    [warned] = _fit({**answer, "meta": {**META, "warnings": ["Read status as state_key."]}}, budget=2_500)
    assert warned["meta"] == {"warnings": ["Read status as state_key."]}


def test_fit_results_takes_columns_out_before_any_row() -> None:
    answer = _list_tasks(50, text="word " * 40, total=120, has_more=True, next_cursor="abc")
    [shown] = _fit(answer, budget=2_500)
    rows = [{name: row[name] for name in row if name != "description_preview"} for row in answer["result"]["tasks"]]
    assert shown["result"] == {**answer["result"], "tasks": rows}  # with its cursor, which goes on after the last row
    assert shown["shown"] == "without description_preview, which a get of one row has"
    [shorter] = _fit(answer, budget=2_000)
    assert shorter["result"]["tasks"] == [{name: row[name] for name in KEY_COLUMNS} for row in rows]


def test_fit_results_takes_the_currency_of_amounts_out_last() -> None:
    orders = [{"id": f"o-{n}", "note": "word " * 20, "total": 12.5, "currency": "EUR"} for n in range(20)]

    [shown] = _fit({"op": "shop.order.list", "ok": True, "result": {"orders": orders}}, budget=700)

    assert shown["result"]["orders"][0] == {"id": "o-0", "total": 12.5, "currency": "EUR"}


def test_fit_results_drops_whole_rows_with_a_cursor_that_would_skip_them_and_says_how_to_read_on() -> None:
    [shown] = _fit(_list_tasks(50, total=120, has_more=False, next_cursor="abc"), budget=400)
    rows = shown["result"]["tasks"]
    assert 1 < len(rows) < 50
    assert rows == [{name: row[name] for name in KEY_COLUMNS} for row in _list_tasks(len(rows))["result"]["tasks"]]
    assert shown["shown"].startswith(f"{len(rows)} of 120; to read on, send limit {len(rows)}, then its next_cursor")
    assert ("next_cursor" in shown["result"], shown["result"]["has_more"]) == (False, True)


def test_fit_results_removes_the_cursor_of_the_gateway_that_would_skip_rows() -> None:
    answer = _list_tasks(50)
    answer["meta"] = {**META, "next_cursor": "abc"}
    [shown] = _fit(answer, budget=400)
    assert "meta" not in shown or "next_cursor" not in shown["meta"]
    assert "max_tokens and its cursor" in shown["shown"]


def test_fit_results_replaces_a_long_text_by_as_much_of_it_as_fits() -> None:
    content = "Keep it under 150 words. " * 800
    [shown] = _fit(_get_document(content))
    beginning, _, marker = shown["result"]["document"]["content"].partition("…")
    assert content.startswith(beginning)
    assert len(beginning) > 3_000
    assert marker.endswith("of 20,000 characters]")
    assert shown["shown"].endswith("of 20,000 characters; ask for this text alone")
    # The gateway had truncated it before: the offset is corrected.
    truncated = {"content": {"shown": 20_000, "length": 50_000, "next_offset": 25_000}}
    entry = _fit(_get_document(content, truncated=truncated))[0]["result"]["document"]["truncated"]["content"]
    assert entry["next_offset"] == 5_000 + entry["shown"]
    assert entry["shown"] < 20_000


def test_fit_results_cuts_the_text_of_one_row_before_it_takes_rows_of_a_list_beside_it() -> None:
    links = [{"id": f"l-{number}", "title": f"Link {number}"} for number in range(3)]
    [shown] = _fit(_get_document("word " * 3_000, links=links), budget=500)
    document = shown["result"]["document"]
    assert document["links"] == links
    assert document["content"].endswith("of 15,000 characters]")


def test_fit_results_gives_new_answers_room_first_in_equal_shares_and_then_the_newest() -> None:
    first, second, third, fourth = _fit(*[_list_tasks(20)] * 4, budget=2_800, seen=2)
    assert len(third["result"]["tasks"]) == len(fourth["result"]["tasks"]) == 20
    assert {*second["result"]["tasks"][0]} >= {"id", "title"}
    assert first["result"]["tasks"] == [f"id-{number}" for number in range(20)]
    nothing = _list_tasks(0, total=0, message="No tasks match.")
    shown, *_ = _fit(nothing, *[_list_tasks(40)] * 3, budget=1_400, seen=3)
    assert shown["result"] == nothing["result"]


def test_fit_results_keeps_room_for_a_new_answer_beside_many_small_ones() -> None:
    updates = [_create_task(number, note="its title, " * 20) for number in range(20)]
    *_, newest = _fit(*updates, _list_tasks(20), seen=20)
    assert len(newest["result"]["tasks"]) >= 10


@pytest.mark.parametrize(("budget", "keys"), [(1_150, {"id", "title"}), (750, None)])
def test_fit_results_never_takes_the_ids_of_an_answer_that_was_seen(budget: int, keys: set[str] | None) -> None:
    first, *_ = _fit(_list_tasks(40), _create_task(), budget=budget, seen=1)
    rows = first["result"]["tasks"]
    ids = [f"id-{number}" for number in range(40)]
    assert rows == ids if keys is None else [row["id"] for row in rows] == ids
    assert keys is None or all(set(row) == keys for row in rows)


@pytest.mark.parametrize("is_batch", [False, True])
def test_fit_results_keeps_the_outcome_of_every_write_and_never_asks_to_repeat_one(is_batch: bool) -> None:
    creates = [_create_task(number) for number in range(12)]
    entries = [{"index": number, "type": "exec", **each} for number, each in enumerate(creates)]
    answers = [{"batch_id": "b", "ok": True, "results": entries}] if is_batch else creates
    shown = _fit(*answers, _list_tasks(50), budget=1_100)
    written = shown[0]["results"] if is_batch else shown[:12]
    tasks = [each["result"]["task"] if "result" in each else each for each in written]
    assert [each["op"] for each in written] == ["onto.task.create"] * 12
    assert [task["id"] for task in tasks] == [f"new-{number}" for number in range(12)]
    assert all("worktop" in (task.get("title") or task["name"]) for task in tasks)
    assert "again" not in json.dumps(written)
    assert "nothing" not in json.dumps(written)


def test_fit_results_keeps_what_a_create_made() -> None:
    tasks = [{"id": f"t-{number}", "title": f"Step {number}", "description": "word " * 50} for number in range(9)]
    [created] = _fit(_create_task(1, tasks=tasks), budget=400)
    assert [row["id"] for row in created["result"]["tasks"]] == [row["id"] for row in tasks]


def test_fit_results_names_the_row_of_a_write_whose_result_has_no_row() -> None:
    order = {"op": "shop.order.create", "ok": True, "result": {"text": "word " * 500}}
    order["meta"] = {"operation": {"action": "create", "entity": "order", "entity_id": "41", "entity_name": "Lamps"}}
    shown, *_ = _fit(*[order] * 30, _list_tasks(50), budget=1_100)
    assert (shown["op"], shown["ok"], shown["id"], shown["name"]) == ("shop.order.create", True, "41", "Lamps")


def _make_error(count: int = 20, **details: Any) -> dict[str, Any]:
    fields = [{"path": f"/field_{number}", "message": "It must be one of these. " * 5} for number in range(count)]
    error = {"code": "VALIDATION_ERROR", "message": "The args are invalid.", "help_path": "onto.task.update"}
    details = {"reason": "invalid_args", "field_errors": fields, **details}
    return {"op": "onto.task.update", "ok": False, "error": {**error, "details": details}}


def test_fit_results_keeps_an_error_whole_while_errors_fit() -> None:
    error = _make_error()
    assert _fit(error, _list_tasks(100))[0] == error


def test_fit_results_shortens_the_oldest_errors_first_and_keeps_the_corrected_call() -> None:
    correction = {"op": "onto.task.update", "args": {"task_id": "t-1", "state_key": "done"}}
    first, *_, last = _fit(*[_make_error(15, retry_with=correction)] * 4)
    assert first["error"] == {
        "code": "VALIDATION_ERROR",
        "help_path": "onto.task.update",
        "message": "The args are invalid.",
        "details": {"reason": "invalid_args", "retry_with": correction},
    }
    assert last == _make_error(15, retry_with=correction)


def test_fit_results_says_of_very_many_answers_at_least_whether_they_succeeded() -> None:
    entries = [{"index": number, **_make_error()} for number in range(20)]
    batch = {"batch_id": "b", "ok": False, "results": entries}
    shown = _fit(*[_list_tasks(20)] * 20, *[batch] * 20)
    assert [each["ok"] for each in shown] == [True] * 20 + [False] * 20
    assert shown[20]["counts"] == {"onto.task.update": {"failed": 20}}


def test_fit_results_shares_the_room_of_a_batch_and_keeps_its_errors() -> None:
    error = {"index": 1, "op": "onto.task.get", "ok": False, "error": {"code": "NOT_FOUND", "message": "No task."}}
    entries = [{"index": 0, **_list_tasks(50)}, error, {"index": 2, **_list_tasks(2)}, {"index": 3, **_list_tasks(50)}]
    [shown] = _fit({"batch_id": "b", "ok": False, "results": entries}, budget=1_400)
    large, failed, small, other = shown["results"]
    assert failed == error
    assert len(small["result"]["tasks"]) == 2
    assert abs(len(large["result"]["tasks"]) - len(other["result"]["tasks"])) <= 2
    assert len(large["result"]["tasks"]) > 5


@pytest.mark.parametrize(
    "answer",
    [
        {"path": "onto", "type": "group", "items": [{"path": f"onto.{n}", "summary": "List tasks"} for n in range(90)]},
        [{"tool": f"tool_{number}", "summary": "List tasks of one project"} for number in range(90)],
    ],
)
def test_fit_results_shortens_help_too(answer: Any) -> None:
    [shown] = _fit(answer, budget=300)
    assert 5 < len(shown["items"]) < 90
    assert shown["shown"].startswith(f"{len(shown['items'])} of 90; for the rest ask for less at once")


_SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
_LONG_TEXTS = st.builds(lambda text, times: text * times, st.text(min_size=1, max_size=20), st.integers(1, 400))
_VALUES = st.recursive(
    _SCALARS | _LONG_TEXTS,
    lambda inner: st.lists(inner, max_size=30) | st.dictionaries(st.text(max_size=30) | _LONG_TEXTS, inner, max_size=8),
    max_leaves=15,
)
_RESULTS = st.dictionaries(st.sampled_from(("tasks", "project", "message", "total", "next_cursor", "id")), _VALUES)


@settings(max_examples=examples(30))
@given(results=st.lists(_RESULTS, min_size=1, max_size=4), budget=st.integers(300, 1_700))
def test_fit_results_of_any_results_are_json_within_the_budget_and_name_their_op(
    results: list[dict[str, Any]], budget: int
) -> None:
    answers = [{"op": f"op.{number}", "ok": True, "result": result} for number, result in enumerate(results)]
    shown = _fit(*answers, budget=budget)
    assert [(each["op"], each["ok"]) for each in shown] == [(each["op"], True) for each in answers]
    for each, answer in zip(shown, answers, strict=True):
        assert each in (answer, drop_empty_members(answer)) or each["shown"]


@settings(max_examples=examples(60))
@given(count=st.integers(2, 60), length=st.integers(0, 300), budget=st.integers(150, 1_700))
def test_fit_results_of_any_list_show_its_first_rows(count: int, length: int, budget: int) -> None:
    [shown] = _fit(_list_tasks(count, text="word " * length), budget=budget)
    rows = shown["result"]["tasks"]
    assert [row["id"] for row in rows] == [f"id-{number}" for number in range(len(rows))]
    assert rows
    if len(rows) < count:
        assert f"{len(rows)} of {count}" in shown["shown"]


_WRITES = st.builds(lambda number, more: _create_task(number, **more), st.integers(1, 99), _RESULTS)
_LISTS = st.builds(_list_tasks, st.integers(0, 50), text=_LONG_TEXTS)


@settings(max_examples=examples(40))
@given(answers=st.lists(_WRITES | _LISTS, min_size=1, max_size=12), budget=st.integers(1_700, 6_500), data=st.data())
def test_fit_results_of_any_writes_and_lists_keep_outcomes_and_the_ids_that_were_seen(
    answers: list[Any], budget: int, data: st.DataObject
) -> None:
    seen = data.draw(st.integers(0, len(answers)))
    for index, (shown, answer) in enumerate(zip(_fit(*answers, budget=budget, seen=seen), answers, strict=True)):
        text = json.dumps(shown)
        assert (shown["op"], shown["ok"]) == (answer["op"], True)
        if answer["op"] == "onto.task.create":
            assert answer["meta"]["operation"]["entity_id"] in text
            assert "again" not in shown.get("shown", "")
        elif (
            index < seen
            and sum(len(each["result"]["tasks"]) for each in answers if "message" not in each["result"]) < 150
        ):
            assert all(f'"{row["id"]}"' in text for row in answer["result"]["tasks"])


_ERRORS = st.builds(
    lambda op, message, details, base: {"op": op, "ok": False, "error": {**base, "message": message, **details}},
    _LONG_TEXTS | st.none(),
    _LONG_TEXTS | st.none() | st.integers(),
    st.dictionaries(st.sampled_from(("details", "help_path", "code")), _VALUES, max_size=3),
    st.sampled_from(({}, {"code": "VALIDATION_ERROR", "details": {"reason": "x", "retry_with": {"op": "a" * 900}}})),
)
_ANSWERS = st.builds(lambda result: {"op": "a.b", "ok": True, "result": result}, _RESULTS) | _ERRORS
_BATCHES = st.builds(lambda each: {"batch_id": "b", "ok": False, "results": each}, st.lists(_ANSWERS, max_size=5))


@settings(max_examples=examples(15))
@given(answers=st.lists(_ANSWERS | _BATCHES, min_size=1, max_size=8), times=st.integers(1, 5))
def test_fit_results_of_any_answers_and_errors_are_json_within_the_budget(answers: list[Any], times: int) -> None:
    shown = _fit(*answers * times)
    assert [each["ok"] for each in shown] == [each["ok"] for each in answers] * times
