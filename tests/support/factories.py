"""Rows for tests. Times are fixed; a project has its owner as a member."""

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import factory
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


def when(state: str) -> Any:
    """Stamp a row in this state with its last update, and no other."""
    return factory.LazyAttribute(lambda row: row.updated_at if getattr(row, "state_key", None) == state else None)


class MembershipFactory(DjangoModelFactory[Membership]):
    class Meta:
        model = Membership

    project = factory.SubFactory("tests.support.factories.ProjectFactory")
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


class TaskFactory(DjangoModelFactory[Task]):
    class Meta:
        model = Task

    project = factory.SubFactory(ProjectFactory)
    title = factory.Sequence(lambda n: f"Task {n}")
    created_by = factory.SelfAttribute("project.created_by")
    created_at = MADE_AT
    updated_at = MADE_AT
    completed_at = when(TaskState.DONE)


class DocumentFactory(DjangoModelFactory[Document]):
    class Meta:
        model = Document

    project = factory.SubFactory(ProjectFactory)
    title = factory.Sequence(lambda n: f"Document {n}")
    created_by = factory.SelfAttribute("project.created_by")
    created_at = MADE_AT
    updated_at = MADE_AT


class GoalFactory(DjangoModelFactory[Goal]):
    class Meta:
        model = Goal

    project = factory.SubFactory(ProjectFactory)
    name = factory.Sequence(lambda n: f"Goal {n}")
    created_by = factory.SelfAttribute("project.created_by")
    created_at = MADE_AT
    updated_at = MADE_AT
    completed_at = when(GoalState.ACHIEVED)


class PlanFactory(DjangoModelFactory[Plan]):
    class Meta:
        model = Plan

    project = factory.SubFactory(ProjectFactory)
    name = factory.Sequence(lambda n: f"Plan {n}")
    created_by = factory.SelfAttribute("project.created_by")
    created_at = MADE_AT
    updated_at = MADE_AT
    completed_at = when(PlanState.COMPLETED)


class MilestoneFactory(DjangoModelFactory[Milestone]):
    class Meta:
        model = Milestone

    project = factory.SubFactory(ProjectFactory)
    title = factory.Sequence(lambda n: f"Milestone {n}")
    created_by = factory.SelfAttribute("project.created_by")
    created_at = MADE_AT
    updated_at = MADE_AT
    completed_at = when(MilestoneState.COMPLETED)


class RiskFactory(DjangoModelFactory[Risk]):
    class Meta:
        model = Risk

    project = factory.SubFactory(ProjectFactory)
    title = factory.Sequence(lambda n: f"Risk {n}")
    created_by = factory.SelfAttribute("project.created_by")
    created_at = MADE_AT
    updated_at = MADE_AT
    mitigated_at = when(RiskState.MITIGATED)


class RequirementFactory(DjangoModelFactory[Requirement]):
    class Meta:
        model = Requirement

    project = factory.SubFactory(ProjectFactory)
    text = factory.Sequence(lambda n: f"Requirement {n}")
    created_by = factory.SelfAttribute("project.created_by")
    created_at = MADE_AT
    updated_at = MADE_AT


class EdgeFactory(DjangoModelFactory[Edge]):
    """Between two tasks that need not exist: no foreign key holds the ends."""

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
    """In a project's calendar, or with project=None and a subject in that subject's own; for whole days with dates."""

    class Meta:
        model = CalendarEvent

    project = factory.SubFactory(ProjectFactory)
    title = factory.Sequence(lambda n: f"Event {n}")
    start_at = factory.LazyAttribute(lambda row: None if getattr(row, "start_date", None) else MADE_AT)
    end_at = factory.LazyAttribute(lambda row: row.start_at and row.start_at + timedelta(hours=1))
    created_by = "owner"
    created_at = MADE_AT
    updated_at = MADE_AT


class ProjectCalendarFactory(DjangoModelFactory[ProjectCalendar]):
    class Meta:
        model = ProjectCalendar

    project = factory.SubFactory(ProjectFactory)
    name = factory.Sequence(lambda n: f"Calendar {n}")
    created_by = factory.SelfAttribute("project.created_by")
    created_at = MADE_AT
    updated_at = MADE_AT
