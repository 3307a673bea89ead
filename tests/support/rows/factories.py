"""Factories of workspace rows. Times are fixed. The owner of a project is its member."""

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


class TaskFactory(DjangoModelFactory[Task]):
    class Meta:
        model = Task

    project = factory.SubFactory(ProjectFactory)
    title = factory.Sequence(lambda n: f"Task {n}")
    created_by = factory.SelfAttribute("project.created_by")
    created_at = MADE_AT
    updated_at = MADE_AT
    completed_at = updated_at_if_state(TaskState.DONE)


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
    completed_at = updated_at_if_state(GoalState.ACHIEVED)


class PlanFactory(DjangoModelFactory[Plan]):
    class Meta:
        model = Plan

    project = factory.SubFactory(ProjectFactory)
    name = factory.Sequence(lambda n: f"Plan {n}")
    created_by = factory.SelfAttribute("project.created_by")
    created_at = MADE_AT
    updated_at = MADE_AT
    completed_at = updated_at_if_state(PlanState.COMPLETED)


class MilestoneFactory(DjangoModelFactory[Milestone]):
    class Meta:
        model = Milestone

    project = factory.SubFactory(ProjectFactory)
    title = factory.Sequence(lambda n: f"Milestone {n}")
    created_by = factory.SelfAttribute("project.created_by")
    created_at = MADE_AT
    updated_at = MADE_AT
    completed_at = updated_at_if_state(MilestoneState.COMPLETED)


class RiskFactory(DjangoModelFactory[Risk]):
    class Meta:
        model = Risk

    project = factory.SubFactory(ProjectFactory)
    title = factory.Sequence(lambda n: f"Risk {n}")
    created_by = factory.SelfAttribute("project.created_by")
    created_at = MADE_AT
    updated_at = MADE_AT
    mitigated_at = updated_at_if_state(RiskState.MITIGATED)


class RequirementFactory(DjangoModelFactory[Requirement]):
    class Meta:
        model = Requirement

    project = factory.SubFactory(ProjectFactory)
    text = factory.Sequence(lambda n: f"Requirement {n}")
    created_by = factory.SelfAttribute("project.created_by")
    created_at = MADE_AT
    updated_at = MADE_AT


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


class ProjectCalendarFactory(DjangoModelFactory[ProjectCalendar]):
    class Meta:
        model = ProjectCalendar

    project = factory.SubFactory(ProjectFactory)
    name = factory.Sequence(lambda n: f"Calendar {n}")
    created_by = factory.SelfAttribute("project.created_by")
    created_at = MADE_AT
    updated_at = MADE_AT
