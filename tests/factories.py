"""Rows for tests. Times are fixed; a project has its owner as a member."""

from datetime import UTC, datetime

import factory
from factory.django import DjangoModelFactory

from workspace.models import Document, Membership, Project, Role, Task, TaskState

MADE_AT = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


class MembershipFactory(DjangoModelFactory[Membership]):
    class Meta:
        model = Membership

    project = factory.SubFactory("tests.factories.ProjectFactory")
    subject = factory.Sequence(lambda n: f"subject-{n}")
    role = Role.VIEWER
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
        MembershipFactory, "project", subject=factory.SelfAttribute("project.created_by"), role=Role.OWNER
    )


class TaskFactory(DjangoModelFactory[Task]):
    """A task of state done was completed when it was updated."""

    class Meta:
        model = Task

    project = factory.SubFactory(ProjectFactory)
    title = factory.Sequence(lambda n: f"Task {n}")
    created_by = factory.SelfAttribute("project.created_by")
    created_at = MADE_AT
    updated_at = MADE_AT
    completed_at = factory.LazyAttribute(
        lambda task: task.updated_at if getattr(task, "state_key", None) == TaskState.DONE else None
    )


class DocumentFactory(DjangoModelFactory[Document]):
    class Meta:
        model = Document

    project = factory.SubFactory(ProjectFactory)
    title = factory.Sequence(lambda n: f"Document {n}")
    created_by = factory.SelfAttribute("project.created_by")
    created_at = MADE_AT
    updated_at = MADE_AT
