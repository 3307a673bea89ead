"""The demo workspace: what one person has on, alone and with a colleague, in the middle of the work.

Ids are fixed, so that the catalog's examples, the README and the tests can name them. Times count from the moment of
loading, so that the demo is as fresh as the day it is first seen. What the rows say lies in the modules beside this
one, a kind each.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import models, transaction

from workspace.demo import (
    documents,
    edges,
    events,
    goals,
    milestones,
    plans,
    profiles,
    projects,
    requirements,
    risks,
    tasks,
)
from workspace.demo.projects import DEMO_COLLEAGUE, DEMO_SUBJECT
from workspace.demo.rows import KITCHEN, PHOTO_BOOK, WEBSITE, DemoRow, id_of
from workspace.kinds import CALENDAR, DOCUMENT, EVENT, KINDS, PROJECT, TASK, Kind
from workspace.models import Document, Edge, Membership, Profile, Task
from workspace.services import changes, task_events, tree

__all__ = [
    "DEMO_COLLEAGUE",
    "DEMO_DOCUMENT_ID",
    "DEMO_DOCUMENT_TO_DELETE_ID",
    "DEMO_OTHER_PROJECT_ID",
    "DEMO_PROJECT_ID",
    "DEMO_PROJECT_TO_DELETE_ID",
    "DEMO_SUBJECT",
    "DEMO_TASK_ID",
    "DEMO_TASK_TO_DELETE_ID",
    "load",
]

DEMO_PROJECT_ID = id_of("project", WEBSITE)  # the newest
DEMO_OTHER_PROJECT_ID = id_of("project", KITCHEN)  # the colleague cannot see it
DEMO_PROJECT_TO_DELETE_ID = id_of("project", PHOTO_BOOK)

# In the newest project. No example deletes number 1, those that delete take number 2.
DEMO_TASK_ID, DEMO_TASK_TO_DELETE_ID = id_of("task", 1), id_of("task", 2)
DEMO_DOCUMENT_ID, DEMO_DOCUMENT_TO_DELETE_ID = id_of("document", 1), id_of("document", 2)

# The rows of each kind that lies in projects, by the number of the project.
IN_PROJECTS: Mapping[str, Mapping[int, Sequence[DemoRow]]] = {
    "task": tasks.ROWS,
    "document": documents.ROWS,
    "goal": goals.ROWS,
    "plan": plans.ROWS,
    "milestone": milestones.ROWS,
    "risk": risks.ROWS,
    "requirement": requirements.ROWS,
}
DAYS_BEFORE_TOUCHED = 7  # how old a row in a project was when it was last touched


def load(*, at: datetime) -> dict[str, int]:
    """Add the demo rows that are not there yet and return how many of each model were added.

    A row that exists is left as it is, edited or deleted: what people did in the demo is theirs.
    """
    with transaction.atomic():
        added = {
            "projects": _add(_projects(at)),
            "memberships": _add(_memberships(at)),
            "profiles": _add(_profiles(at)),
            **{KINDS[name].plural: _add(_inside(KINDS[name], placed, at)) for name, placed in IN_PROJECTS.items()},
            EVENT.plural: _add([*_rows(EVENT, events.IN_PROJECTS, at), *_own_events(at)]),
            CALENDAR.plural: _add(_rows(CALENDAR, events.CALENDARS, at)),
            "edges": _add(_edges(at)),
        }
        _show_dates(added[TASK.plural], at=at)
        return {name: len(rows) for name, rows in added.items()}


def _add(rows: Sequence[models.Model]) -> list[models.Model]:
    manager = type(rows[0])._default_manager
    there = set(manager.filter(pk__in=[row.pk for row in rows]).values_list("pk", flat=True))
    missing = [row for row in rows if row.pk not in there]
    # A second process may load the demo at the same moment; its rows are the same.
    manager.bulk_create(missing, ignore_conflicts=True)
    return missing


def _show_dates(added: Sequence[Any], *, at: datetime) -> None:
    """Give the tasks that were added the events that their dates are."""
    for subject in {task.created_by for task in added}:
        tasks: list[Task] = [task for task in added if task.created_by == subject]
        task_events.add(tasks, by=subject, at=at)


def _projects(at: datetime) -> list[models.Model]:
    return [
        _row(PROJECT, row, at=at, by=projects.OWNERS[row.number], days=projects.AGES[row.number])
        for row in projects.ROWS
    ]


def _inside(kind: Kind, placed: Mapping[int, Sequence[DemoRow]], at: datetime) -> list[models.Model]:
    return _in_trees(_rows(kind, placed, at)) if kind is DOCUMENT else _rows(kind, placed, at)


def _in_trees(rows: Sequence[Any]) -> list[models.Model]:
    """Put documents under others, those at the root whose parent people have deleted.

    The trees are held: what takes a place meanwhile would keep a document from being added, and those below it.
    """
    for project_id in sorted({row.project_id for row in rows}):
        tree.hold(project_id)
    ours = Document.objects.filter(pk__in=[row.pk for row in rows])
    deleted = set(ours.exclude(deleted_at=None).values_list("pk", flat=True))
    parents = {UUID(id_of("document", number)): UUID(id_of("document", on)) for number, on in documents.UNDER.items()}
    for row in rows:
        parent_id = parents.get(row.pk)
        row.parent_id = None if parent_id in deleted else parent_id
    return list(rows)


def _rows(kind: Kind, placed: Mapping[int, Sequence[DemoRow]], at: datetime) -> list[models.Model]:
    return [
        _row(
            kind,
            row,
            at=at,
            by=projects.OWNERS[project],
            days=DAYS_BEFORE_TOUCHED,
            project_id=UUID(id_of("project", project)),
        )
        for project, rows in placed.items()
        for row in rows
    ]


def _own_events(at: datetime) -> list[models.Model]:
    return [
        _row(EVENT, row, at=at, by=subject, days=DAYS_BEFORE_TOUCHED, subject=subject)
        for subject, rows in events.OWN.items()
        for row in rows
    ]


def _row(kind: Kind, row: DemoRow, *, at: datetime, by: str, days: int, **place: Any) -> models.Model:
    """Return the row as its subject left it, stamped where its work has ended."""
    touched = at - timedelta(hours=row.touched)
    made = kind.model(
        id=UUID(id_of(kind.name, row.number)),
        created_by=by,
        created_at=touched - timedelta(days=days),
        updated_at=touched,
        **place,
        **row.values(at),
    )
    changes.stamp(made, kind=kind, at=touched)
    return made


def _memberships(at: datetime) -> list[models.Model]:
    return [
        Membership(
            id=UUID(id_of("membership", number)),
            project_id=UUID(id_of("project", project)),
            subject=subject,
            role=role,
            created_at=at,
        )
        for number, project, subject, role in projects.MEMBERS
    ]


def _profiles(at: datetime) -> list[models.Model]:
    return [
        Profile(
            id=UUID(id_of("profile", number)),
            subject=subject,
            name=name,
            time_zone=time_zone,
            working_hours=working_hours,
            preferences=preferences,
            created_at=at,
            updated_at=at,
        )
        for number, subject, name, time_zone, working_hours, preferences in profiles.ROWS
    ]


def _edges(at: datetime) -> list[models.Model]:
    return [
        Edge(
            id=UUID(id_of("edge", number)),
            project_id=UUID(id_of("project", project)),
            src_kind=source[0],
            src_id=UUID(id_of(*source)),
            rel=rel,
            dst_kind=destination[0],
            dst_id=UUID(id_of(*destination)),
            created_by=projects.OWNERS[project],
            created_at=at,
        )
        for project, joined in edges.ROWS.items()
        for number, source, rel, destination in joined
    ]
