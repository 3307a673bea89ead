"""Moving the dates of many tasks at once."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.factories import MADE_AT, MembershipFactory, ProfileFactory, ProjectFactory, TaskFactory
from tests.support.handler_calls import AT, call_handler
from workspace.contract import OpOutcome
from workspace.errors import InvalidArgs, NotFound
from workspace.handlers.tasks import shift_tasks
from workspace.models import CalendarEvent, Project, Task

DUE = datetime(2026, 3, 20, 9, 0, tzinfo=UTC)


@pytest.fixture
def project(db: None) -> Project:
    made: Project = ProjectFactory()
    return made


def shift(days: int, **args: Any) -> OpOutcome:
    return call_handler("shift_onto_tasks", days=days, **args)


def test_dates_move_and_everything_else_stays(project: Project) -> None:
    task = TaskFactory(project=project, title="Report", start_at=DUE - timedelta(days=2), due_at=DUE, priority=2)
    dateless = TaskFactory(project=project)

    outcome = shift(3, project_id=str(project.pk))

    task.refresh_from_db()
    assert (task.start_at, task.due_at, task.priority) == (DUE + timedelta(days=1), DUE + timedelta(days=3), 2)
    assert task.updated_at == AT
    assert Task.objects.get(pk=dateless.pk).updated_at == MADE_AT
    assert outcome.result == {
        "tasks": [
            {
                "id": str(task.pk),
                "title": "Report",
                "start_at": "2026-03-21T09:00:00Z",
                "due_at": "2026-03-23T09:00:00Z",
            }
        ],
        "total": 1,
        "message": "Moved the dates of 1 task 3 days later; tasks has the new ones.",
    }


def test_calendar_moves_along(project: Project) -> None:
    TaskFactory(project=project, due_at=DUE)
    shift(1, project_id=str(project.pk))

    assert CalendarEvent.objects.get(deleted_at=None).end_at == DUE + timedelta(days=1)


def test_local_time_stays_the_same_when_the_clocks_change(project: Project) -> None:
    ProfileFactory(subject="owner", time_zone="Europe/Berlin")
    task = TaskFactory(project=project, due_at=datetime(2026, 3, 28, 8, 0, tzinfo=UTC))  # 9:00; summer from 29 March on

    outcome = shift(1, task_ids=[str(task.pk)])

    assert outcome.result["tasks"][0]["due_at"] == "2026-03-29T09:00:00+02:00"


@pytest.mark.parametrize(
    ("args", "titles"),
    [
        ({"due_before": "2026-03-21"}, ["Soon", "Late"]),
        ({"due_after": "2026-03-21"}, ["Later"]),
        ({"overdue": True}, ["Late"]),
        ({"state_key": ["done"]}, ["Done"]),
    ],
)
def test_filters_choose_the_tasks(project: Project, args: dict[str, Any], titles: list[str]) -> None:
    TaskFactory(project=project, title="Soon", due_at=DUE)
    TaskFactory(project=project, title="Late", due_at=AT - timedelta(days=1))
    TaskFactory(project=project, title="Later", due_at=DUE + timedelta(days=5))
    TaskFactory(project=project, title="Done", due_at=DUE, state_key="done")

    moved = shift(-1, **args).result["tasks"]

    assert {row["title"] for row in moved} == set(titles)


def test_recurring_task_moves_with_its_end(project: Project) -> None:
    task = TaskFactory(project=project, due_at=DUE, recurrence="weekly", recurrence_until=DUE + timedelta(weeks=4))

    outcome = shift(7, task_ids=[str(task.pk)])

    task.refresh_from_db()
    assert task.recurrence_until == DUE + timedelta(weeks=5)
    assert outcome.result["message"].endswith("1 of them recurs, so all later ones move, too.")


def test_tasks_that_the_subject_cannot_change_stay(project: Project) -> None:
    others = ProjectFactory(created_by="someone")
    MembershipFactory(project=others, subject="owner")
    task = TaskFactory(project=others, due_at=DUE)

    outcome = shift(1, due_after="2026-03-01")

    assert (outcome.result["tasks"], outcome.result["message"]) == (
        [],
        "No task with a date matches, so nothing changed.",
    )
    assert outcome.warnings[0].startswith("1 task is left out: you can see but not change")
    assert Task.objects.get(pk=task.pk).due_at == DUE


@pytest.mark.parametrize("args", [{}, {"task_ids": [], "state_key": []}])
def test_call_without_a_filter_is_refused(project: Project, args: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgs, match="Say which tasks: send one or more of task_ids, project_id"):
        shift(1, **args)


def test_no_days_are_refused(project: Project) -> None:
    with pytest.raises(InvalidArgs, match="days is 0"):
        shift(0, project_id=str(project.pk))


def test_unknown_ids_are_refused(project: Project) -> None:
    hidden = TaskFactory(project=ProjectFactory(created_by="someone"), due_at=DUE)
    mine = TaskFactory(project=project, due_at=DUE)

    with pytest.raises(NotFound, match="1 of task_ids name no task"):
        shift(1, task_ids=[str(hidden.pk), str(mine.pk)])
    with pytest.raises(NotFound, match="No project that you can see"):
        shift(1, project_id=str(hidden.project_id))


def test_too_many_tasks_and_impossible_dates_are_refused(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    TaskFactory(project=project, title="Far", due_at=datetime(9999, 12, 1, tzinfo=UTC))
    with pytest.raises(InvalidArgs, match="due_at of “Far” would be outside the years 1 to 9999"):
        shift(60, project_id=str(project.pk))

    monkeypatch.setattr(shift_tasks, "MAX_TASKS", 0)
    with pytest.raises(InvalidArgs, match="More than 0 tasks match"):
        shift(1, project_id=str(project.pk))
