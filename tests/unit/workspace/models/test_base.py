"""Who can see and change which rows: the filters per row, and that they agree with the policy."""

import pytest
from django.core.exceptions import ValidationError

from tests.support.loops import for_each
from tests.support.rows.factories import (
    MADE_AT,
    DocumentFactory,
    GoalFactory,
    MembershipFactory,
    MilestoneFactory,
    PlanFactory,
    ProjectFactory,
    TaskFactory,
)
from workspace.entity_types import DOCUMENT, GOAL, MILESTONE, PLAN, PROJECT, TASK, EntityType
from workspace.models import MemberRole, Task
from workspace.services import access

KINDS = for_each("kind", [PROJECT, TASK, DOCUMENT, GOAL, PLAN, MILESTONE])


@pytest.fixture
def task(db: None) -> Task:
    task: Task = TaskFactory()
    for make in (DocumentFactory, GoalFactory, PlanFactory, MilestoneFactory):
        make(project=task.project)
    for role in (MemberRole.EDITOR, MemberRole.VIEWER):
        MembershipFactory(project=task.project, subject=role.value, role=role)
    MembershipFactory(project=task.project, subject="left", role=MemberRole.OWNER, deleted_at=MADE_AT)
    ProjectFactory(created_by="stranger")
    return task


def get_id(kind: EntityType, task: Task) -> object:
    return task.project_id if kind is PROJECT else kind.get_rows().get(project=task.project).pk


@KINDS
@for_each(
    "subject, visible, changeable",
    [
        ("owner", True, True),
        ("editor", True, True),
        ("viewer", True, False),
        ("left", False, False),  # a removed membership
        ("stranger", False, False),  # a member of another project
        ("OWNER", False, False),  # subjects are opaque: case matters
        ("", False, False),  # a call without a subject
    ],
    undone=True,
)
def test_visibility_filters_follow_membership(
    task: Task, kind: EntityType, subject: str, visible: bool, changeable: bool
) -> None:
    id = get_id(kind, task)

    assert kind.get_rows().visible_to(subject).filter(pk=id).exists() is visible
    assert kind.get_rows().changeable_by(subject).filter(pk=id).exists() is changeable


@KINDS
@for_each("role", MemberRole, undone=True)
def test_visibility_filters_agree_with_the_policy(task: Task, kind: EntityType, role: MemberRole) -> None:
    id = get_id(kind, task)

    row = kind.get_rows().visible_to(role.value).get(pk=id)

    assert row.subject_role == role
    assert kind.get_rows().changeable_by(role.value).filter(pk=id).exists() is access.check_change(role=role).allowed


@for_each("props", [None, [], [1], "text", 5], undone=True)
def test_form_refuses_props_that_are_not_an_object(task: Task, props: object) -> None:
    task.props = props

    with pytest.raises(ValidationError, match="JSON object"):
        task.full_clean()
