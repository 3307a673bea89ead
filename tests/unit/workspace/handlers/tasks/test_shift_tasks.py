"""Moving the dates of many tasks at once."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from core.handler_contract import InvalidArgs, NotFound, OpOutcome
from tests.support.loops import for_each
from tests.support.rows.factories import MADE_AT, MembershipFactory, ProfileFactory, ProjectFactory, TaskFactory
from tests.support.values.handler_calls import AT, call_handler
from workspace.handlers.tasks import shift_tasks
from workspace.models import CalendarEvent, Project, Task

DUE = datetime(2026, 3, 20, 9, 0, tzinfo=UTC)


def shift(days: int, **args: Any) -> OpOutcome:
    return call_handler("shift_onto_tasks", days=days, **args)


def test_dates_move_and_everything_else_stays(project: Project) -> None:
    task = TaskFactory(project=project, title="Report", start_at=DUE - timedelta(days=2), due_at=DUE, priority=2)
    dateless = TaskFactory(project=project)

    outcome = shift(3, project_id=str(project.pk))

    task.refresh_from_db()
    assert (task.start_at, task.due_at, task.priority) == (DUE + timedelta(days=1), DUE + timedelta(days=3), 2)
    assert task.updated_at == AT
    assert CalendarEvent.objects.get(task_event_kind="due").end_at == task.due_at
    assert (outcome.changed_ids, shift(1, due_after="2030-01-01").changed_ids) == ((str(task.pk),), ())
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
        "message": "Moved the dates of 1 task 3 days later; tasks has the new ones. "
        "Milestones, plans and other events keep theirs.",
    }


def test_local_time_stays_the_same_when_the_clocks_change(project: Project) -> None:
    ProfileFactory(subject="owner", time_zone="Europe/Berlin")
    task = TaskFactory(project=project, due_at=datetime(2026, 3, 28, 8, 0, tzinfo=UTC))  # 9:00; summer from 29 March on

    outcome = shift(1, task_ids=[str(task.pk)])

    assert outcome.result["tasks"][0]["due_at"] == "2026-03-29T09:00:00+02:00"


@for_each(
    "args, titles",
    [
        ({"due_before": "2026-03-20"}, ["Soon", "Late"]),
        ({"due_after": "2026-03-21"}, ["Later"]),
        ({"overdue": True}, ["Late"]),
        ({"state_key": ["done"]}, ["Done"]),
    ],
    undone=True,
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
    assert outcome.result["message"].endswith("1 of them recurs, so all later occurrences also move.")


def test_tasks_that_the_subject_cannot_change_stay(project: Project) -> None:
    others = ProjectFactory(created_by="someone")
    MembershipFactory(project=others, subject="owner")
    task = TaskFactory(project=others, due_at=DUE)

    outcome = shift(1, due_after="2026-03-01")

    expected = ([], "No task with a date matches, so nothing changed.")
    assert (outcome.result["tasks"], outcome.result["message"]) == expected
    assert outcome.warnings[0].startswith("1 task is left out: you can see but not change")
    assert Task.objects.get(pk=task.pk).due_at == DUE


@for_each(
    "days, start_at, due_at",
    [
        # 2:30 does not exist on 29 March and becomes 3:30, which is after 3:15.
        (1, "2026-03-28T02:30:00+01:00", "2026-03-28T03:15:00+01:00"),
        (-1, "2026-03-30T02:30:00+02:00", "2026-03-30T03:15:00+02:00"),
        # 2:45 and, half an hour later, 2:15: the clocks go back on 25 October.
        (1, "2026-10-25T02:45:00+02:00", "2026-10-25T02:15:00+01:00"),
        (-7, "2026-10-25T02:45:00+02:00", "2026-10-25T02:15:00+01:00"),
    ],
    undone=True,
)
def test_task_is_never_due_before_it_starts_when_the_clocks_change(
    project: Project, days: int, start_at: str, due_at: str
) -> None:
    ProfileFactory(subject="owner", time_zone="Europe/Berlin")
    dates = {"start_at": datetime.fromisoformat(start_at), "due_at": datetime.fromisoformat(due_at)}
    task = TaskFactory(project=project, **dates)

    shift(days, task_ids=[str(task.pk)])

    task.refresh_from_db()
    assert task.due_at == task.start_at
    assert task.start_at.date() == (dates["start_at"] + timedelta(days=days)).date()


@for_each("args", [{}, {"state_key": []}, {"overdue": False}], undone=True)
def test_call_without_a_filter_or_days_is_refused(project: Project, args: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgs, match="Say which tasks: send one or more of task_ids, project_id"):
        shift(1, **args)
    with pytest.raises(InvalidArgs, match="days is 0"):
        shift(0, project_id=str(project.pk), **args)


def test_overdue_false_filters_nothing(project: Project) -> None:
    for due_at in (DUE, AT - timedelta(days=1)):
        TaskFactory(project=project, due_at=due_at)

    assert shift(1, project_id=str(project.pk), overdue=False).result["total"] == 2


def test_empty_task_ids_choose_no_task(project: Project) -> None:
    TaskFactory(project=project, due_at=DUE)

    assert shift(1, project_id=str(project.pk), task_ids=[]).result["total"] == 0


def test_task_ids_may_be_in_capitals_and_repeated(project: Project) -> None:
    task = TaskFactory(project=project, due_at=DUE)

    shift(1, task_ids=[str(task.pk).upper(), str(task.pk)])

    task.refresh_from_db()
    assert task.due_at == DUE + timedelta(days=1)


def test_ids_that_the_other_filters_leave_out_are_named(project: Project) -> None:
    here = TaskFactory(project=project, due_at=DUE)
    elsewhere, done = (TaskFactory(project=ProjectFactory(), due_at=DUE) for _ in range(2))
    ids = [str(task.pk) for task in (here, elsewhere)]

    with pytest.raises(InvalidArgs) as in_other_project:
        shift(1, project_id=str(project.pk), task_ids=ids)
    with pytest.raises(InvalidArgs) as in_other_state:
        shift(1, state_key=["blocked"], task_ids=[str(done.pk)])

    [error] = in_other_project.value.field_errors
    assert (error.path, error.code) == ("/task_ids", "other_project")
    assert error.message == f"Not in the project of project_id: {elsewhere.pk}. Leave out project_id, or these ids."
    [error] = in_other_state.value.field_errors
    assert error.message == f"The other filters leave these out: {done.pk}. Leave out the filters, or these ids."
    assert Task.objects.get(pk=here.pk).due_at == DUE


def test_unknown_ids_are_refused(project: Project) -> None:
    hidden = TaskFactory(project=ProjectFactory(created_by="someone"), due_at=DUE)
    mine = TaskFactory(project=project, due_at=DUE)

    for filters in ({}, {"project_id": str(project.pk)}):  # the error does not tell in which project it is
        with pytest.raises(NotFound, match="1 of task_ids is not a task that you can see") as unknown:
            shift(1, task_ids=[str(mine.pk), str(hidden.pk).upper()], **filters)
        assert [(error.path, error.code) for error in unknown.value.field_errors] == [("/task_ids/1", "not_found")]
        assert str(hidden.pk) not in str(unknown.value.field_errors)
    with pytest.raises(NotFound, match="No project that you can see"):
        shift(1, project_id=str(hidden.project_id))


def test_too_many_tasks_and_impossible_dates_are_refused(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    TaskFactory(project=project, title="Far", due_at=datetime(9999, 12, 1, tzinfo=UTC))
    with pytest.raises(InvalidArgs, match="due_at of “Far” would be outside the years 1 to 9999"):
        shift(60, project_id=str(project.pk))

    monkeypatch.setattr(shift_tasks, "MAX_TASKS", 0)
    with pytest.raises(InvalidArgs, match="More than 0 tasks match"):
        shift(1, project_id=str(project.pk))


def follow_advice(days: int, filters: dict[str, Any]) -> int:
    """Shift the tasks with as many calls as the errors ask for, and return the number of calls that moved some."""
    try:
        shift(days, **filters)
    except InvalidArgs as error:
        pattern = r"first this call with (\w+) (\S+), then this call with (\w+) (\S+) instead"
        [(first, first_value, then, then_value)] = re.findall(pattern, str(error))
        return follow_advice(days, filters | {first: first_value}) + follow_advice(days, filters | {then: then_value})
    return 1


@for_each("days", [3, 1, -1, -3])
@for_each("filters", [{}, {"due_after": "2026-03-20", "due_before": "2026-04-01"}], undone=True)
def test_advice_for_too_many_tasks_moves_each_task_once(
    project: Project, monkeypatch: pytest.MonkeyPatch, days: int, filters: dict[str, Any]
) -> None:
    monkeypatch.setattr(shift_tasks, "MAX_TASKS", 3)
    numbers = [0, 0, 0, 1, 2, 2, 3, 4]
    tasks = [TaskFactory(project=project, due_at=DUE + timedelta(days=number)) for number in numbers]

    calls = follow_advice(days, {"project_id": str(project.pk), **filters})

    moved = {task.pk: task.due_at for task in Task.objects.all()}
    assert [moved[task.pk] - task.due_at for task in tasks] == [timedelta(days=days)] * len(tasks)
    assert calls <= 4


def test_advice_for_tasks_without_a_due_date_is_to_send_their_ids(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shift_tasks, "MAX_TASKS", 3)
    for number in range(2):
        TaskFactory(project=project, due_at=DUE + timedelta(days=number))
        TaskFactory(project=project, start_at=DUE)

    with pytest.raises(InvalidArgs, match="2 of them have no due_at, so neither call moves them; send their task_ids"):
        shift(1, project_id=str(project.pk))

    assert follow_advice(1, {"project_id": str(project.pk)}) == 2
    assert set(Task.objects.exclude(due_at=None).values_list("due_at", flat=True)) == {
        DUE + timedelta(days=number) for number in (1, 2)
    }


def test_advice_for_too_many_tasks_of_one_due_date_is_to_choose_sets(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shift_tasks, "MAX_TASKS", 2)
    for _ in range(3):
        TaskFactory(project=project, due_at=DUE)

    for days in (1, -1):
        with pytest.raises(InvalidArgs, match="one call per project_id or per state_key, or send task_ids, each once"):
            shift(days, project_id=str(project.pk))


def test_tasks_that_recur_can_be_left_out(project: Project) -> None:
    TaskFactory(project=project, title="Once", due_at=DUE)
    TaskFactory(project=project, title="Weekly", due_at=DUE, recurrence="weekly")

    outcome = shift(1, project_id=str(project.pk), recurring="skip")

    assert [row["title"] for row in outcome.result["tasks"]] == ["Once"]
    assert "recur" not in outcome.result["message"]
