"""Every named constraint of the workspace refuses invalid rows in the database."""

import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, models, transaction

from tests.support.loops import for_each
from tests.support.rows.factories import (
    MADE_AT,
    DocumentFactory,
    EventFactory,
    GoalFactory,
    MembershipFactory,
    MilestoneFactory,
    PlanFactory,
    ProfileFactory,
    ProjectCalendarFactory,
    ProjectFactory,
    RequirementFactory,
    RiskFactory,
    TaskFactory,
)
from workspace.models import CalendarEvent, Document, Edge, Membership, Project, Task, WriteRecord

pytestmark = pytest.mark.both_databases

LATER = MADE_AT + timedelta(days=1)
ONE_ID = uuid.UUID(int=1)

EDGE_END, OTHER_END = UUID(int=1), UUID(int=2)


def make_edge(src_kind: str = "task", rel: str = "depends_on", dst_kind: str = "task", dst: UUID = OTHER_END) -> Edge:
    project = ProjectFactory()
    return Edge.objects.create(
        project=project, src_kind=src_kind, src_id=EDGE_END, rel=rel, dst_kind=dst_kind, dst_id=dst, created_by="owner"
    )


def make_task_event(**fields: object) -> CalendarEvent:
    task = TaskFactory()
    return EventFactory(**({"task": task, "project": task.project} | fields))


CHECKS = {
    "event_title_given": lambda: EventFactory(title=""),
    "event_in_one_calendar": lambda: EventFactory(subject="owner"),
    "event_of_task_in_project": lambda: make_task_event(project=None, subject="owner"),
    "event_kind_of_task_known": lambda: EventFactory(task_event_kind="due"),
    "event_timed_or_all_day": lambda: EventFactory(
        start_date=MADE_AT.date(), end_date=MADE_AT.date(), start_at=MADE_AT
    ),
    "event_start_before_end": lambda: EventFactory(end_at=MADE_AT),
    "event_end_date_not_before_start": lambda: EventFactory(start_date=LATER.date(), end_date=MADE_AT.date()),
    "event_recurrence_known": lambda: EventFactory(recurrence="hourly"),
    "event_until_of_recurring": lambda: EventFactory(recurrence_until=LATER),
    "calendar_name_given": lambda: ProjectCalendarFactory(name=""),
    "calendar_color_known": lambda: ProjectCalendarFactory(color_id="12"),
    "membership_role_known": lambda: MembershipFactory(role="boss"),
    "membership_subject_given": lambda: MembershipFactory(subject=""),
    "write_subject_given": lambda: WriteRecord.objects.create(subject="", rows=[]),
    "profile_subject_given": lambda: ProfileFactory(subject=""),
    "profile_time_zone_given": lambda: ProfileFactory(time_zone=""),
    "edge_between_two_rows": lambda: make_edge(dst=EDGE_END),
    "edge_src_kind_known": lambda: make_edge(src_kind="metric"),
    "edge_dst_kind_known": lambda: make_edge(dst_kind="event"),
    "edge_rel_given": lambda: make_edge(rel=""),
    "project_name_given": lambda: ProjectFactory(name=""),
    "project_type_key_of_project": lambda: ProjectFactory(type_key="task.execute"),
    "project_state_known": lambda: ProjectFactory(state_key="someday"),
    "project_end_not_before_start": lambda: ProjectFactory(start_at=LATER, end_at=MADE_AT),
    "project_completed_at_while_completed": lambda: ProjectFactory(state_key="active", completed_at=MADE_AT),
    "task_title_given": lambda: TaskFactory(title=""),
    "task_type_key_of_task": lambda: TaskFactory(type_key="project.business.launch"),
    "task_state_known": lambda: TaskFactory(state_key="someday"),
    "task_priority_in_range": lambda: TaskFactory(priority=6),
    "task_due_not_before_start": lambda: TaskFactory(start_at=LATER, due_at=MADE_AT),
    "task_completed_at_while_done": lambda: TaskFactory(state_key="todo", completed_at=MADE_AT),
    "task_duration_in_range": lambda: TaskFactory(duration_minutes=0),
    "task_until_of_recurring": lambda: TaskFactory(recurrence_until=LATER),
    "task_recurrence_known": lambda: TaskFactory(recurrence="hourly"),
    "task_not_its_own_parent": lambda: TaskFactory(id=ONE_ID, parent_task_id=ONE_ID),
    "document_title_given": lambda: DocumentFactory(title=""),
    "document_type_key_of_document": lambda: DocumentFactory(type_key="task.execute"),
    "document_state_known": lambda: DocumentFactory(state_key="done"),
    "document_not_its_own_parent": lambda: DocumentFactory(id=ONE_ID, parent_id=ONE_ID),
    "goal_name_given": lambda: GoalFactory(name=""),
    "goal_type_key_of_goal": lambda: GoalFactory(type_key="plan.phase.project"),
    "goal_state_known": lambda: GoalFactory(state_key="done"),
    "goal_priority_in_range": lambda: GoalFactory(priority=6),
    "goal_completed_at_while_achieved": lambda: GoalFactory(state_key="active", completed_at=MADE_AT),
    "plan_name_given": lambda: PlanFactory(name=""),
    "plan_type_key_of_plan": lambda: PlanFactory(type_key="goal.outcome.project"),
    "plan_state_known": lambda: PlanFactory(state_key="achieved"),
    "plan_end_not_before_start": lambda: PlanFactory(start_date=LATER.date(), end_date=MADE_AT.date()),
    "plan_completed_at_while_completed": lambda: PlanFactory(state_key="draft", completed_at=MADE_AT),
    "milestone_title_given": lambda: MilestoneFactory(title=""),
    "milestone_type_key_of_kind": lambda: MilestoneFactory(type_key="goal.outcome.project"),
    "milestone_state_known": lambda: MilestoneFactory(state_key="late"),
    "milestone_stamped_while_completed": lambda: MilestoneFactory(state_key="missed", completed_at=MADE_AT),
    "risk_title_given": lambda: RiskFactory(title=""),
    "risk_type_key_of_risk": lambda: RiskFactory(type_key="requirement.default"),
    "risk_state_known": lambda: RiskFactory(state_key="done"),
    "risk_impact_known": lambda: RiskFactory(impact="severe"),
    "risk_probability_in_range": lambda: RiskFactory(probability=1.1),
    "risk_mitigated_at_while_mitigated": lambda: RiskFactory(state_key="closed", mitigated_at=MADE_AT),
    "requirement_text_given": lambda: RequirementFactory(text=""),
    "requirement_type_key_of_kind": lambda: RequirementFactory(type_key="risk.default"),
    "requirement_priority_in_range": lambda: RequirementFactory(priority=0),
}


def make_document_below() -> Document:
    top = DocumentFactory()
    document: Document = DocumentFactory(project=top.project, parent=top)
    return document


def save_copy(row: models.Model) -> None:
    row.pk = None
    row._state.adding = True
    row.save()


# A row of which no copy can be saved, and its unique columns: SQLite names these, PostgreSQL the constraint.
UNIQUE: dict[str, tuple[Callable[[], Any], str]] = {
    "membership_unique_subject": (
        lambda: MembershipFactory(deleted_at=MADE_AT),
        "workspace_membership.subject, workspace_membership.project_id",
    ),
    "profile_unique_subject": (ProfileFactory, "workspace_profile.subject"),
    "edge_unique_while_alive": (make_edge, "workspace_edge.src_id, workspace_edge.rel, workspace_edge.dst_id"),
    "event_unique_of_task_date": (
        lambda: make_task_event(task_event_kind="due"),
        "workspace_calendarevent.task_id, workspace_calendarevent.task_event_kind",
    ),
    "calendar_one_of_project_while_alive": (ProjectCalendarFactory, "workspace_projectcalendar.project_id"),
    "document_place_at_root_unique": (DocumentFactory, "workspace_document.project_id, workspace_document.position"),
    "document_place_below_unique": (make_document_below, "workspace_document.parent_id, workspace_document.position"),
}


@for_each("name, make, columns", [(name, *rest) for name, rest in UNIQUE.items()], undone=True)
def test_row_is_unique_until_it_is_deleted(db: None, name: str, make: Callable[[], Any], columns: str) -> None:
    row = make()

    with pytest.raises(IntegrityError) as refused, transaction.atomic():
        save_copy(row)

    assert (columns if connection.vendor == "sqlite" else name) in str(refused.value)
    if name not in ("membership_unique_subject", "profile_unique_subject"):  # these stay unique
        type(row)._default_manager.update(deleted_at=MADE_AT)
        save_copy(row)


def test_every_constraint_has_a_test_in_this_module() -> None:
    names = {c.name for model in apps.get_app_config("workspace").get_models() for c in model._meta.constraints}

    assert names == {*CHECKS, *UNIQUE}


MORE_CHECKS = [
    ("project_completed_at_while_completed", lambda: ProjectFactory(state_key="completed")),
    ("task_completed_at_while_done", lambda: TaskFactory(state_key="done", completed_at=None)),
    ("goal_completed_at_while_achieved", lambda: GoalFactory(state_key="achieved", completed_at=None)),
    ("plan_completed_at_while", lambda: PlanFactory(state_key="completed", completed_at=None)),
    ("milestone_stamped", lambda: MilestoneFactory(state_key="completed", completed_at=None)),
    ("risk_mitigated_at_while", lambda: RiskFactory(state_key="mitigated", mitigated_at=None)),
    ("task_priority_in_range", lambda: TaskFactory(priority=0)),
    ("task_priority_in_range", lambda: TaskFactory(priority=-1)),
]


@for_each("name, make", [*CHECKS.items(), *MORE_CHECKS], undone=True)
def test_constraint_refuses_by_its_name(db: None, name: str, make: Callable[[], models.Model]) -> None:
    with pytest.raises(IntegrityError, match=name), transaction.atomic():
        make()


def test_same_start_and_end_are_allowed(db: None) -> None:
    TaskFactory(start_at=MADE_AT, due_at=MADE_AT, project__start_at=MADE_AT, project__end_at=MADE_AT)

    assert Task.objects.count() == Project.objects.count() == Membership.objects.count() == 1
