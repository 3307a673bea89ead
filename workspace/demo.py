"""The demo workspace: one person's two projects, the newer shared with a colleague, in the middle of the work.

Ids are fixed, so that the catalog's examples, the README and the tests can name them. Times count from the moment of
loading, so that the demo is as fresh as the day it is first seen.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.db import models, transaction

from workspace import demo_documents, demo_tasks
from workspace.demo_documents import DemoDocument
from workspace.demo_tasks import DONE, DemoTask
from workspace.models import Document, Membership, Project, ProjectState, Role, Task

DEMO_SUBJECT = "demo-user"  # owns both projects
DEMO_COLLEAGUE = "demo-colleague"  # a viewer of the newer one

DEMO_PROJECT_ID = "0d9a4c1e-5b7f-4e2a-9c31-6f8e2b7d1a01"  # the newest
DEMO_OTHER_PROJECT_ID = "0d9a4c1e-5b7f-4e2a-9c31-6f8e2b7d1a02"  # the colleague cannot see it

_MEMBERSHIP = "3c8e5d10-9a2b-4f6c-8d71-5b40e9ac1c{:02}"
_TASK = "7e3b9f20-1c4d-4a8b-8e55-2d90c6fa3b{:02}"
_DOCUMENT = "c4a1d2e3-90ab-4cde-8f01-3b5d7e9f1a{:02}"

DEMO_TASK_ID = _TASK.format(1)  # in the newest project; no example deletes it
DEMO_TASK_TO_DELETE_ID = _TASK.format(2)
DEMO_DOCUMENT_ID = _DOCUMENT.format(1)  # in the newest project; no example deletes it
DEMO_DOCUMENT_TO_DELETE_ID = _DOCUMENT.format(2)


def load(*, at: datetime) -> dict[str, int]:
    """Add the demo rows that are not there yet and return how many of each model were added.

    A row that exists is left as it is, edited or deleted: what people did in the demo is theirs.
    """
    with transaction.atomic():
        return {
            "projects": _add(Project, _projects(at)),
            "memberships": _add(Membership, _memberships(at)),
            "tasks": _add(Task, _tasks(at)),
            "documents": _add(Document, _documents(at)),
        }


def _add(model: type[models.Model], rows: Sequence[models.Model]) -> int:
    there = set(model._default_manager.filter(pk__in=[row.pk for row in rows]).values_list("pk", flat=True))
    missing = [row for row in rows if row.pk not in there]
    # A second process may load the demo at the same moment; its rows are the same.
    model._default_manager.bulk_create(missing, ignore_conflicts=True)
    return len(missing)


def _projects(at: datetime) -> list[Project]:
    return [
        Project(
            id=UUID(DEMO_PROJECT_ID),
            name="Website relaunch",
            description="New design, new texts and faster pages for the company site, launched without losing search "
            "traffic. Done when the old site is switched off and nobody has complained for a week.",
            type_key="project.technical.website",
            state_key=ProjectState.ACTIVE,
            start_at=_clock(at, days=-20, hour=9),
            end_at=_clock(at, days=25, hour=17),
            props={"facets": {"context": "commercial", "scale": "medium", "stage": "execution"}},
            created_by=DEMO_SUBJECT,
            created_at=at - timedelta(days=20),
            updated_at=at - timedelta(hours=1),
        ),
        Project(
            id=UUID(DEMO_OTHER_PROJECT_ID),
            name="Kitchen renovation",
            description="New cabinets, worktop and wiring, within 18,000 EUR and before the holidays.",
            type_key="project.personal.home.renovation",
            state_key=ProjectState.ACTIVE,
            start_at=_clock(at, days=-45, hour=9),
            props={"budget_eur": 18000, "facets": {"context": "personal", "scale": "small", "stage": "execution"}},
            created_by=DEMO_SUBJECT,
            created_at=at - timedelta(days=60),
            updated_at=at - timedelta(hours=49),
        ),
    ]


def _memberships(at: datetime) -> list[Membership]:
    places = [
        (DEMO_PROJECT_ID, DEMO_SUBJECT, Role.OWNER),
        (DEMO_PROJECT_ID, DEMO_COLLEAGUE, Role.VIEWER),
        (DEMO_OTHER_PROJECT_ID, DEMO_SUBJECT, Role.OWNER),
    ]
    return [
        Membership(
            id=UUID(_MEMBERSHIP.format(number)), project_id=UUID(project), subject=subject, role=role, created_at=at
        )
        for number, (project, subject, role) in enumerate(places, start=1)
    ]


def _tasks(at: datetime) -> list[Task]:
    website, kitchen = demo_tasks.WEBSITE, demo_tasks.KITCHEN
    placed = [(DEMO_PROJECT_ID, task) for task in website] + [(DEMO_OTHER_PROJECT_ID, task) for task in kitchen]
    return [_task(task, project_id=project, at=at) for project, task in placed]


def _task(task: DemoTask, *, project_id: str, at: datetime) -> Task:
    touched = at - timedelta(hours=task.touched)
    return Task(
        id=UUID(_TASK.format(task.number)),
        project_id=UUID(project_id),
        title=task.title,
        description=task.description,
        type_key=task.type_key,
        state_key=task.state,
        priority=task.priority,
        start_at=None if task.start is None else _clock(at, days=task.start, hour=9),
        due_at=None if task.due is None else _clock(at, days=task.due, hour=17),
        completed_at=touched if task.state == DONE else None,
        props=task.props,
        created_by=DEMO_SUBJECT,
        created_at=touched - timedelta(days=7),
        updated_at=touched,
    )


def _documents(at: datetime) -> list[Document]:
    website, kitchen = demo_documents.WEBSITE, demo_documents.KITCHEN
    placed = [(DEMO_PROJECT_ID, each) for each in website] + [(DEMO_OTHER_PROJECT_ID, each) for each in kitchen]
    return [_document(each, project_id=project, at=at) for project, each in placed]


def _document(document: DemoDocument, *, project_id: str, at: datetime) -> Document:
    touched = at - timedelta(hours=document.touched)
    return Document(
        id=UUID(_DOCUMENT.format(document.number)),
        project_id=UUID(project_id),
        title=document.title,
        description=document.description,
        content=document.content,
        type_key=document.type_key,
        state_key=document.state,
        props=document.props,
        created_by=DEMO_SUBJECT,
        created_at=touched - timedelta(days=7),
        updated_at=touched,
    )


def _clock(at: datetime, *, days: int, hour: int) -> datetime:
    """Return that hour (UTC) so many days from now."""
    return (at + timedelta(days=days)).replace(hour=hour, minute=0, second=0, microsecond=0)
