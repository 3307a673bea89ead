"""Checks against rows made for the test. tests/integration/evals/test_evaluation_tasks.py has real ones."""

from datetime import UTC, date, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from benchmarks.surfaces.checks import SessionOutcome, find_problems
from benchmarks.surfaces.evaluation_tasks import EvaluationTask, ExpectedChange
from benchmarks.surfaces.relative_dates import RelativeDates
from benchmarks.surfaces.workspaces import SnapshotRow, compare_snapshots

DATES = RelativeDates(date(2026, 11, 30), ZoneInfo("Europe/Berlin"))
FIELDS = {"title": "Paint", "state_key": "todo", "due_at": None, "project": "p1", "deleted_at": None, "updated_at": 1}


def build_row(id: str = "t1", kind: str = "task", **fields: Any) -> SnapshotRow:
    values = {**FIELDS, **fields}
    return SnapshotRow(id, kind, values["title"], values)


def build_task(**fields: Any) -> EvaluationTask:
    defaults = {
        "name": "a",
        "kind": "update",
        "messages": ("Do it",),
        "place": {},
        "confirm": "decline",
        "must_confirm": False,
        "rows": (),
        "answer": (),
        "answer_lacks": (),
        "asks": False,
        "refuses": False,
    }
    return EvaluationTask(**{**defaults, **fields})


def check(
    task: EvaluationTask, before: list[SnapshotRow], after: list[SnapshotRow], answer: str = "Done.", **more: Any
) -> list[str]:
    old, new = {row.id: row for row in before}, {row.id: row for row in after}
    details = {"asked_to_confirm": False, "errors": [], **more}
    outcome = SessionOutcome(old, new, compare_snapshots(old, new), [answer], **details)
    return find_problems(task, outcome, DATES)


DONE = build_task(rows=(ExpectedChange("change", "task", "Paint", ({"state_key": "done"},)),))


def test_expected_change_passes_whatever_writes_keep_up() -> None:
    assert check(DONE, [build_row()], [build_row(state_key="done", updated_at=2)]) == []


def test_missing_wrong_and_unexpected_changes_are_problems() -> None:
    other = build_row("t2", title="Sweep")

    assert check(DONE, [build_row()], [build_row()]) == ["Missing: change task Paint"]
    assert check(DONE, [build_row()], [build_row(state_key="blocked")]) == ["change task Paint: state_key is blocked"]
    assert check(DONE, [build_row(), other], [build_row(state_key="done")]) == ["Unexpected: delete task Sweep"]
    assert check(DONE, [build_row()], [build_row(state_key="done"), other]) == ["Unexpected: create task Sweep"]


def test_other_fields_of_an_expected_row_are_a_problem() -> None:
    after = build_row(state_key="done", due_at=datetime.now(UTC), title="Paint it")

    assert check(DONE, [build_row()], [after]) == ["change task Paint: changed due_at, title, too"]


def test_soft_delete_is_a_delete() -> None:
    task = build_task(rows=(ExpectedChange("delete", "task", "Paint", ({},)),))

    assert check(task, [build_row()], [build_row(deleted_at=datetime.now(UTC))]) == []


@pytest.mark.parametrize(
    ("expected", "actual", "passes"),
    [
        ({"day": 1}, datetime(2026, 12, 1, 17, tzinfo=UTC), True),
        ({"day": 1}, datetime(2026, 11, 30, 17, tzinfo=UTC), False),
        ({"day": 1}, None, False),
        ({"day": 1, "time": "18:00"}, datetime(2026, 12, 1, 17, tzinfo=UTC), True),
        ({"day": 1, "time": "17:00"}, datetime(2026, 12, 1, 17, tzinfo=UTC), False),
        ({"contains": ["white", "blue"]}, "Walls WHITE, door blue", True),
        ({"contains": ["white", "blue"]}, "white", False),
        ({"row": "Kitchen"}, "p1", True),
        ({"row": "Garden"}, "p1", False),
        ("Call “Jo”", 'call "Jo".', True),
        (2, 3, False),
    ],
)
def test_values_are_matched_as_tasks_write_them(expected: Any, actual: Any, passes: bool) -> None:
    task = build_task(rows=(ExpectedChange("create", "task", "", ({"title": "Paint", "value": expected},)),))
    project = build_row("p1", "project", title="Kitchen")

    problems = check(task, [project], [project, build_row(value=actual)])

    assert (problems == []) is passes


def test_time_with_another_event_is_not_free() -> None:
    start, end = datetime(2026, 12, 1, 9, tzinfo=UTC), datetime(2026, 12, 1, 10, tzinfo=UTC)
    event = build_row("e1", "event", start_at=start, end_at=end, task_event_kind="", task=None)
    task = build_task(rows=(ExpectedChange("change", "task", "Paint", ({"start_at": {"is_free": 60}},)),))

    def check_start(hour: int) -> bool:
        after = build_row(start_at=datetime(2026, 12, 1, hour, tzinfo=UTC))
        return check(task, [build_row(start_at=None), event], [after, event]) == []

    assert (check_start(8), check_start(9), check_start(10), check_start(22)) == (True, False, True, False)


@pytest.mark.parametrize(
    ("fields", "answer", "problems"),
    [
        ({"answer": ("60 cm", ["14", "fourteen"])}, "It is **60 cm** wide; 14 tasks.", []),
        ({"answer": (["14", "fourteen"],)}, "There are 140 tasks.", ["The answer lacks: 14"]),
        (
            {"answer": (["14", "fourteen"],)},
            "They are due on 14 December at 14:00, 2026-12-14.",
            ["The answer lacks: 14"],
        ),
        ({"answer": (["14", "fourteen"],)}, "Dec. 14, 14.12.2026, 14/12/26: **14**", []),
        ({"answer": ("14",)}, "14/18 marked tasks", []),
        ({"answer": ({"day": 4},)}, "It is due on 4 December.", []),
        ({"answer_lacks": ("Choose",)}, "Choose one", ["The answer has: Choose"]),
        ({"asks": True}, "Which one do you mean?", []),
        ({"asks": True}, "I did it.", ["The answer asks nothing"]),
        ({"refuses": True}, "I can’t send e-mail.", []),
        ({"refuses": True}, "Sent!", ["The answer does not say that it cannot be done"]),
        ({"must_confirm": True}, "Deleted.", ["The user was not asked to agree"]),
        ({}, " ", ["There is no answer"]),
    ],
)
def test_answers_are_checked(fields: dict[str, Any], answer: str, problems: list[str]) -> None:
    assert check(build_task(**fields), [], [], answer) == problems


def test_failed_turn_is_a_problem() -> None:
    assert check(build_task(), [], [], "", errors=["The model failed."]) == ["A turn failed: The model failed."]
