"""Every named constraint of the workspace refuses what it is there for, on the database itself."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, models, transaction

from tests.factories import MADE_AT, DocumentFactory, MembershipFactory, ProjectFactory, TaskFactory
from workspace.models import Membership, Project, Role, Task

LATER = MADE_AT + timedelta(days=1)

CHECKS = {
    "membership_role_known": lambda: MembershipFactory(role="boss"),
    "membership_subject_given": lambda: MembershipFactory(subject=""),
    "project_name_given": lambda: ProjectFactory(name=""),
    "project_type_key_of_project": lambda: ProjectFactory(type_key="task.execute"),
    "project_state_known": lambda: ProjectFactory(state_key="paused"),
    "project_end_not_before_start": lambda: ProjectFactory(start_at=LATER, end_at=MADE_AT),
    "project_completed_at_while_completed": lambda: ProjectFactory(state_key="active", completed_at=MADE_AT),
    "task_title_given": lambda: TaskFactory(title=""),
    "task_type_key_of_task": lambda: TaskFactory(type_key="project.business.launch"),
    "task_state_known": lambda: TaskFactory(state_key="someday"),
    "task_priority_in_range": lambda: TaskFactory(priority=6),
    "task_due_not_before_start": lambda: TaskFactory(start_at=LATER, due_at=MADE_AT),
    "task_completed_at_while_done": lambda: TaskFactory(state_key="todo", completed_at=MADE_AT),
    "document_title_given": lambda: DocumentFactory(title=""),
    "document_type_key_of_document": lambda: DocumentFactory(type_key="task.execute"),
    "document_state_known": lambda: DocumentFactory(state_key="done"),
}


@pytest.mark.parametrize(("name", "make"), CHECKS.items(), ids=CHECKS)
def test_constraint_refuses_by_its_name(db: None, name: str, make: Callable[[], models.Model]) -> None:
    with pytest.raises(IntegrityError, match=name), transaction.atomic():
        make()


def test_membership_unique_subject_refuses_a_second_row_even_after_leaving(db: None) -> None:
    left = MembershipFactory(subject="s", role=Role.VIEWER, deleted_at=MADE_AT)

    with pytest.raises(IntegrityError) as refused, transaction.atomic():
        MembershipFactory(subject="s", project=left.project, role=Role.EDITOR)

    # SQLite names the columns of a unique constraint, PostgreSQL the constraint.
    sqlite = "workspace_membership.subject, workspace_membership.project_id"
    assert (sqlite if connection.vendor == "sqlite" else "membership_unique_subject") in str(refused.value)


def test_every_constraint_is_tested_here() -> None:
    names = {c.name for model in apps.get_app_config("workspace").get_models() for c in model._meta.constraints}

    assert names == {*CHECKS, "membership_unique_subject"}


@pytest.mark.parametrize("state", ["done", "completed"])
def test_completion_without_its_time_is_refused(db: None, state: str) -> None:
    make = TaskFactory if state == "done" else ProjectFactory

    with pytest.raises(IntegrityError, match="completed_at_while"), transaction.atomic():
        make(state_key=state, completed_at=None)


@pytest.mark.parametrize("priority", [0, -1])
def test_priority_below_the_scale_is_refused(db: None, priority: int) -> None:
    with pytest.raises(IntegrityError, match="task_priority_in_range"), transaction.atomic():
        TaskFactory(priority=priority)


def test_same_start_and_end_are_allowed(db: None) -> None:
    TaskFactory(start_at=MADE_AT, due_at=MADE_AT, project__start_at=MADE_AT, project__end_at=MADE_AT)

    assert Task.objects.count() == Project.objects.count() == Membership.objects.count() == 1
