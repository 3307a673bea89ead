import uuid

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django.fixtures import DjangoAssertNumQueries

from core.handler_contract import Forbidden, NotFound
from tests.support.loops import for_each
from tests.support.rows.factories import MADE_AT, MembershipFactory, ProjectFactory, TaskFactory
from workspace.entity_types import PROJECT, TASK
from workspace.models import MemberRole, Project, Task
from workspace.services import access

pytestmark = pytest.mark.both_databases


@pytest.fixture
def task(db: None) -> Task:
    task: Task = TaskFactory()
    MembershipFactory(project=task.project, subject="viewer", role=MemberRole.VIEWER)
    return task


def test_visible_row_is_read_with_its_context_in_one_query(
    task: Task, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(1):
        row = access.get_visible_row(TASK, subject="viewer", id=str(task.pk).upper())
    with django_assert_num_queries(1):
        project = access.get_visible_row(PROJECT, subject="viewer", id=str(task.project_id))

    assert (row.pk, row.project_name, row.subject_role) == (task.pk, task.project.name, "viewer")
    assert (project.task_count, project.completed_task_count) == (1, 0)


def test_missing_deleted_and_foreign_rows_are_refused_alike(task: Task) -> None:
    foreign = TaskFactory(project__created_by="someone else")
    deleted = TaskFactory(project=task.project, deleted_at=MADE_AT)
    buried = TaskFactory(project=ProjectFactory(deleted_at=MADE_AT))

    messages = set()
    for id in (uuid.uuid4(), foreign.pk, deleted.pk, buried.pk):
        with pytest.raises(NotFound) as refused:
            access.get_visible_row(TASK, subject="owner", id=str(id))
        messages.add((refused.value.message, refused.value.reason, tuple(refused.value.field_errors)))

    assert messages == {
        (
            "No task that you can see has this task_id; find its id with onto.task.list or onto.task.search.",
            "not_found",
            (),
        )
    }


def test_viewer_cannot_change_a_row(task: Task) -> None:
    for change in (
        lambda: access.lock_changeable_row(TASK, subject="viewer", id=str(task.pk)),
        lambda: access.lock_changeable_row(PROJECT, subject="viewer", id=str(task.project_id)),
        lambda: access.get_changeable_project(subject="viewer", id=str(task.project_id)),
    ):
        with pytest.raises(Forbidden) as refused:
            change()
        assert refused.value.reason == "viewer_may_not_change"


@pytest.mark.parametrize("kind", [TASK, PROJECT], ids=["task", "project"])
def test_changeable_row_is_locked_on_postgresql_without_blocking_inserts(task: Task, kind: access.EntityType) -> None:
    id = str(task.pk if kind is TASK else task.project_id)

    with CaptureQueriesContext(connection) as queries:
        access.lock_changeable_row(kind, subject="owner", id=id)

    [query] = queries
    lock = f'FOR NO KEY UPDATE OF "{kind.model._meta.db_table}"'
    assert query["sql"].endswith(lock) is (connection.vendor == "postgresql")


def test_require_project_accepts_only_members(task: Task) -> None:
    access.require_project(subject="viewer", id=str(task.project_id))

    with pytest.raises(NotFound, match="project_id"):
        access.require_project(subject="stranger", id=str(task.project_id))
    Project.objects.update(deleted_at=MADE_AT)
    with pytest.raises(NotFound, match="project_id"):
        access.require_project(subject="owner", id=str(task.project_id))


@for_each(
    "role, view, change",
    [
        (MemberRole.OWNER, (True, "member"), (True, "owner_may_change")),
        (MemberRole.EDITOR, (True, "member"), (True, "editor_may_change")),
        (MemberRole.VIEWER, (True, "member"), (False, "viewer_may_not_change")),  # sees everything, changes nothing
        (None, (False, "not_a_member"), (False, "not_a_member")),  # a stranger sees nothing
        ("boss", (False, "not_a_member"), (False, "not_a_member")),  # an unknown role counts as no role
    ],
)
def test_policy_depends_on_the_role(role: str | None, view: tuple[bool, str], change: tuple[bool, str]) -> None:
    assert access.check_view(role=role) == access.RoleDecision(*view)
    assert access.check_change(role=role) == access.RoleDecision(*change)


@for_each(
    "role, reason",
    [
        (MemberRole.EDITOR, "only_owner_may_delete"),  # an editor may change everything, but not delete the project
        (MemberRole.VIEWER, "only_owner_may_delete"),
        (None, "not_a_member"),
        ("boss", "not_a_member"),
    ],
)
def test_only_an_owner_can_delete_a_project(role: str | None, reason: str) -> None:
    assert access.check_delete_project(role=MemberRole.OWNER) == access.RoleDecision(True, "owner_may_delete")
    assert access.check_delete_project(role=role) == access.RoleDecision(False, reason)
