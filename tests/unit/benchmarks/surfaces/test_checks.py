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


@pytest.mark.parametrize(
    ("expected", "actual", "passes"),
    [
        ({"day": 1}, datetime(2026, 12, 1, 17, tzinfo=UTC), True),
        ({"day": 1}, datetime(2026, 11, 30, 17, tzinfo=UTC), False),
        ({"day": 1, "time": "18:00"}, datetime(2026, 12, 1, 17, tzinfo=UTC), True),
        ({"day": 1, "time": "17:00"}, datetime(2026, 12, 1, 17, tzinfo=UTC), False),
        ({"contains": ["white", "blue"]}, "Walls WHITE, door blue", True),
        ({"contains": ["white", "blue"]}, "white", False),
        ({"row": "Kitchen"}, "p1", True),
        ("Call “Jo”", 'call "Jo".', True),
        (2, 3, False),
    ],
)
def test_values_are_matched_as_tasks_write_them(expected: Any, actual: Any, passes: bool) -> None:
    task = build_task(rows=(ExpectedChange("create", "task", "", ({"title": "Paint", "value": expected},)),))
    project = build_row("p1", "project", title="Kitchen")

    problems = check(task, [project], [project, build_row(value=actual)])

    assert (problems == []) is passes


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
