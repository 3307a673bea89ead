"""The answers of a turn's calls fit their budget, stay JSON, and say what is missing."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chat.context import budgets
from chat.context.tool_results import fit_results, shorten_results
from core.text import token_budget
from tests.support.cpu_budget import examples

META = {"trace_id": "tr_1", "latency_ms": 1.5, "warnings": [], "operation": {"entity": "task", "action": "list"}}


def _list_tasks(count: int, *, text: str = "Hero line, three benefits.", **more: Any) -> dict[str, Any]:
    rows = [{"id": f"id-{number}", "title": f"Task {number}", "description_preview": text} for number in range(count)]
    return {"op": "onto.task.list", "ok": True, "result": {"tasks": rows, **more}, "meta": META}


def _get_document(content: str, **more: Any) -> dict[str, Any]:
    document = {"id": "d-1", "title": "Tone guide", "content": content, **more}
    return {"op": "onto.document.get", "ok": True, "result": {"document": document}, "meta": META}


def _fit(*answers: Any, budget: int = budgets.TOOL_RESULTS) -> list[Any]:
    texts = fit_results(answers, budget=budget)
    assert sum(map(token_budget.count, texts)) <= budget
    return [json.loads(text) for text in texts]


def test_fit_results_passes_an_ordinary_list_with_its_warnings_only() -> None:
    answer = _list_tasks(20, total=57, has_more=True, next_cursor="abc")
    [shown] = _fit(answer)
    assert shown == {name: answer[name] for name in ("op", "ok", "result")}
    [warned] = _fit({**answer, "meta": {**META, "warnings": ["Read status as state_key."]}})
    assert warned["meta"] == {"warnings": ["Read status as state_key."]}


def test_fit_results_drops_whole_rows_and_a_cursor_that_would_skip_them_and_says_how_to_read_on() -> None:
    [shown] = _fit(_list_tasks(50, total=120, has_more=True, next_cursor="abc"), budget=400)
    rows = shown["result"]["tasks"]
    assert 1 < len(rows) < 50
    assert rows == _list_tasks(len(rows))["result"]["tasks"]
    assert shown["shown"] == f"{len(rows)} of 120; read on with a smaller limit ({len(rows)}) and its cursor"
    assert ("next_cursor" in shown["result"], shown["result"]["has_more"]) == (False, True)


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


def test_fit_results_cuts_a_text_in_the_only_row_left() -> None:
    [shown] = _fit(_list_tasks(5, text="word " * 3_000), budget=300)
    [row] = shown["result"]["tasks"]
    assert (row["id"], row["title"]) == ("id-0", "Task 0")
    assert row["description_preview"].endswith("of 15,000 characters]")
    assert "1 of 5" in shown["shown"]


def test_fit_results_gives_the_newest_room_first_and_keeps_small_answers_whole() -> None:
    first, second, third = _fit(*[_list_tasks(20)] * 3, budget=750)
    counts = [len(each["result"]["tasks"]) for each in (first, second, third)]
    assert counts[0] < 3 < counts[1] < counts[2] == 20
    nothing = _list_tasks(0, total=0, message="No tasks match.")
    shown, *_ = _fit(nothing, *[_list_tasks(40)] * 3, budget=900)
    assert shown["result"] == nothing["result"]


def test_fit_results_keeps_room_for_the_newest_beside_many_small_ones() -> None:
    updates = [
        _list_tasks(0, total=0, message=f"Changed the task {number}: " + "its title, " * 20) for number in range(20)
    ]
    *_, newest = _fit(*updates, _list_tasks(20))
    assert len(newest["result"]["tasks"]) >= 10


def test_fit_results_keeps_the_row_of_an_old_write() -> None:
    created = {"task": {"id": "t-9", "title": "Order the worktop", "description": "word " * 900}, "message": "Created."}
    created_answer = {"op": "onto.task.create", "ok": True, "result": created}
    written, _ = _fit(created_answer, _list_tasks(100))
    assert written["result"]["message"] == "Created."
    assert (written["result"]["task"]["id"], written["result"]["task"]["title"]) == ("t-9", "Order the worktop")
    [least] = [json.loads(text) for text in shorten_results([created_answer], budget=0)]
    assert least["result"] == {"task": {"id": "t-9", "title": "Order the worktop"}, "message": "Created."}


def _make_error(count: int = 20, **details: Any) -> dict[str, Any]:
    fields = [{"path": f"/field_{number}", "message": "It must be one of these. " * 5} for number in range(count)]
    error = {"code": "VALIDATION_ERROR", "message": "The args are invalid.", "help_path": "onto.task.update"}
    details = {"reason": "invalid_args", "field_errors": fields, **details}
    return {"op": "onto.task.update", "ok": False, "error": {**error, "details": details}}


def test_fit_results_keeps_an_error_whole_while_errors_fit() -> None:
    error = _make_error()
    assert [json.loads(text) for text in shorten_results([error], budget=100)] == [error]
    texts = fit_results([error, _list_tasks(100)])
    assert json.loads(texts[0]) == error
    assert sum(map(token_budget.count, texts)) <= budgets.TOOL_RESULTS


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
    assert shown[0] == {"ok": True, "shown": "nothing"}


def test_fit_results_shares_the_room_of_a_batch_and_keeps_its_errors() -> None:
    error = {"index": 1, "op": "onto.task.get", "ok": False, "error": {"code": "NOT_FOUND", "message": "No task."}}
    entries = [{"index": 0, **_list_tasks(50)}, error, {"index": 2, **_list_tasks(2)}, {"index": 3, **_list_tasks(50)}]
    [shown] = _fit({"batch_id": "b", "ok": False, "results": entries}, budget=900)
    large, failed, small, other = shown["results"]
    assert failed == error
    assert len(small["result"]["tasks"]) == 2
    assert abs(len(large["result"]["tasks"]) - len(other["result"]["tasks"])) <= 2
    assert len(large["result"]["tasks"]) > 5
    batch = {"batch_id": "b", "ok": False, "results": entries}
    [least] = [json.loads(text) for text in shorten_results([batch], budget=0)]
    assert least["results"][1] == error


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
    assert shown["shown"] == f"{len(shown['items'])} of 90; call again for less at once"


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
        assert each == answer or each["shown"]


@settings(max_examples=examples(60))
@given(count=st.integers(2, 60), length=st.integers(0, 300), budget=st.integers(150, 1_700))
def test_fit_results_of_any_list_show_its_first_rows(count: int, length: int, budget: int) -> None:
    [shown] = _fit(_list_tasks(count, text="word " * length), budget=budget)
    rows = shown["result"]["tasks"]
    assert [row["id"] for row in rows] == [f"id-{number}" for number in range(len(rows))]
    assert rows


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
