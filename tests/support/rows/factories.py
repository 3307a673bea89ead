"""Factories of workspace rows. Times are fixed. The owner of a project is its member."""

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import factory
from django.db.models import Model
from factory.django import DjangoModelFactory

from workspace.models import (
    CalendarEvent,
    Document,
    Edge,
    Goal,
    GoalState,
    MemberRole,
    Membership,
    Milestone,
    MilestoneState,
    Plan,
    PlanState,
    Profile,
    Project,
    ProjectCalendar,
    Requirement,
    Risk,
    RiskState,
    Task,
    TaskState,
)

MADE_AT = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


def updated_at_if_state(state: str) -> Any:
    """Return the time of the last update if the row is in this state, else None."""
    return factory.LazyAttribute(lambda row: row.updated_at if getattr(row, "state_key", None) == state else None)


class MembershipFactory(DjangoModelFactory[Membership]):
    class Meta:
        model = Membership

    project = factory.SubFactory("tests.support.rows.factories.ProjectFactory")
    subject = factory.Sequence(lambda n: f"subject-{n}")
    role = MemberRole.VIEWER
    created_at = MADE_AT


class ProjectFactory(DjangoModelFactory[Project]):
    """`created_by` is its owner."""

    class Meta:
        model = Project
        skip_postgeneration_save = True

    name = factory.Sequence(lambda n: f"Project {n}")
    type_key = "project.business.launch"
    created_by = "owner"
    created_at = MADE_AT
    updated_at = MADE_AT
    members = factory.RelatedFactory(
        MembershipFactory, "project", subject=factory.SelfAttribute("project.created_by"), role=MemberRole.OWNER
    )


class ProfileFactory(DjangoModelFactory[Profile]):
    class Meta:
        model = Profile

    subject = factory.Sequence(lambda n: f"subject-{n}")
    time_zone = "Europe/Berlin"
    created_at = MADE_AT
    updated_at = MADE_AT


Row = TypeVar("Row", bound=Model)


class RowOfProjectFactory(DjangoModelFactory[Row]):
    """The columns that all rows of a project have. Rows are made by the owner of their project."""

    class Meta:
        abstract = True

    project = factory.SubFactory(ProjectFactory)
    created_by = factory.SelfAttribute("project.created_by")
    created_at = MADE_AT
    updated_at = MADE_AT


class TaskFactory(RowOfProjectFactory[Task]):
    class Meta:
        model = Task

    title = factory.Sequence(lambda n: f"Task {n}")
    completed_at = updated_at_if_state(TaskState.DONE)


class DocumentFactory(RowOfProjectFactory[Document]):
    class Meta:
        model = Document

    title = factory.Sequence(lambda n: f"Document {n}")


class GoalFactory(RowOfProjectFactory[Goal]):
    class Meta:
        model = Goal

    name = factory.Sequence(lambda n: f"Goal {n}")
    completed_at = updated_at_if_state(GoalState.ACHIEVED)


class PlanFactory(RowOfProjectFactory[Plan]):
    class Meta:
        model = Plan

    name = factory.Sequence(lambda n: f"Plan {n}")
    completed_at = updated_at_if_state(PlanState.COMPLETED)


class MilestoneFactory(RowOfProjectFactory[Milestone]):
    class Meta:
        model = Milestone

    title = factory.Sequence(lambda n: f"Milestone {n}")
    completed_at = updated_at_if_state(MilestoneState.COMPLETED)


class RiskFactory(RowOfProjectFactory[Risk]):
    class Meta:
        model = Risk

    title = factory.Sequence(lambda n: f"Risk {n}")
    mitigated_at = updated_at_if_state(RiskState.MITIGATED)


class RequirementFactory(RowOfProjectFactory[Requirement]):
    class Meta:
        model = Requirement

    text = factory.Sequence(lambda n: f"Requirement {n}")


class ProjectCalendarFactory(RowOfProjectFactory[ProjectCalendar]):
    class Meta:
        model = ProjectCalendar

    name = factory.Sequence(lambda n: f"Calendar {n}")


class EdgeFactory(DjangoModelFactory[Edge]):
    """An edge between two tasks that need not exist, because edges have no foreign keys."""

    class Meta:
        model = Edge

    project = factory.SubFactory(ProjectFactory)
    src_kind = "task"
    src_id = factory.LazyFunction(uuid.uuid4)
    rel = "depends_on"
    dst_kind = "task"
    dst_id = factory.LazyFunction(uuid.uuid4)
    created_by = factory.SelfAttribute("project.created_by")
    created_at = MADE_AT


class EventFactory(DjangoModelFactory[CalendarEvent]):
    """An event of a project, or of a subject's own calendar with project=None and a subject. Whole-day with dates."""

    class Meta:
        model = CalendarEvent

    project = factory.SubFactory(ProjectFactory)
    title = factory.Sequence(lambda n: f"Event {n}")
    start_at = factory.LazyAttribute(lambda row: None if getattr(row, "start_date", None) else MADE_AT)
    end_at = factory.LazyAttribute(lambda row: row.start_at and row.start_at + timedelta(hours=1))
    created_by = "owner"
    created_at = MADE_AT
    updated_at = MADE_AT
