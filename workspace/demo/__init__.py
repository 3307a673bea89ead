"""The demo workspace: the current projects of one person, some shared with a colleague.

Ids are fixed, so that the catalog's examples, the README and the tests can refer to them. Times are relative to the
moment of loading, so that the demo looks current whenever it is loaded. The rows are in the other modules of this
package, one per kind.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import models, transaction

from workspace.demo import documents, edges, events, planning, profiles, projects, risks, tasks
from workspace.demo.projects import DEMO_COLLEAGUE, DEMO_SUBJECT, DEMO_SUBJECTS
from workspace.demo.rows import KITCHEN, PHOTO_BOOK, WEBSITE, DemoRow, get_demo_id
from workspace.entity_types import CALENDAR, DOCUMENT, ENTITY_TYPE_BY_NAME, EVENT, PROJECT, TASK, EntityType
from workspace.models import Document, Edge, Membership, Profile, Task
from workspace.services.calendar import task_events
from workspace.services.documents import tree
from workspace.services.entities import changes

__all__ = [
    "DEMO_COLLEAGUE",
    "DEMO_DOCUMENT_ID",
    "DEMO_DOCUMENT_TO_DELETE_ID",
    "DEMO_OTHER_PROJECT_ID",
    "DEMO_PROJECT_ID",
    "DEMO_PROJECT_TO_DELETE_ID",
    "DEMO_SUBJECT",
    "DEMO_SUBJECTS",
    "DEMO_TASK_ID",
    "DEMO_TASK_TO_DELETE_ID",
    "load",
    "load_and_describe",
]

DEMO_PROJECT_ID = get_demo_id("project", WEBSITE)  # the newest
DEMO_OTHER_PROJECT_ID = get_demo_id("project", KITCHEN)  # the colleague cannot see it
DEMO_PROJECT_TO_DELETE_ID = get_demo_id("project", PHOTO_BOOK)

# In the newest project. Examples that delete use number 2, never number 1.
DEMO_TASK_ID, DEMO_TASK_TO_DELETE_ID = get_demo_id("task", 1), get_demo_id("task", 2)
DEMO_DOCUMENT_ID, DEMO_DOCUMENT_TO_DELETE_ID = get_demo_id("document", 1), get_demo_id("document", 2)

# The rows of each kind that belongs to a project, by project number.
IN_PROJECTS: Mapping[str, Mapping[int, Sequence[DemoRow]]] = {
    "task": tasks.ROWS,
    "document": documents.ROWS,
    "goal": planning.GOAL_ROWS,
    "plan": planning.PLAN_ROWS,
    "milestone": planning.MILESTONE_ROWS,
    "risk": risks.RISK_ROWS,
    "requirement": risks.REQUIREMENT_ROWS,
}
DAYS_FROM_CREATION_TO_UPDATE = 7  # days between the creation and the last update of a row in a project


def load(*, at: datetime) -> dict[str, int]:
    """Add the missing demo rows and return how many of each model were added.

    Existing rows are left unchanged, even if edited or deleted, so that people keep their work in the demo.
    """
    with transaction.atomic():
        added = {
            "projects": _add_missing(_build_projects(at)),
            "memberships": _add_missing(_build_memberships(at)),
            "profiles": _add_missing(_build_profiles(at)),
            **{
                ENTITY_TYPE_BY_NAME[name].plural: _add_missing(
                    _build_rows_of_kind(ENTITY_TYPE_BY_NAME[name], placed, at)
                )
                for name, placed in IN_PROJECTS.items()
            },
            EVENT.plural: _add_missing([*_build_rows(EVENT, events.IN_PROJECTS, at), *_build_own_events(at)]),
            CALENDAR.plural: _add_missing(_build_rows(CALENDAR, events.CALENDARS, at)),
            "edges": _add_missing(_build_edges(at)),
        }
        _create_date_events(added[TASK.plural], at=at)
        return {name: len(rows) for name, rows in added.items()}


def load_and_describe(at: datetime) -> str:
    """Add the missing demo rows, and return a sentence that says how many."""
    added = load(at=at)
    if not any(added.values()):
        return "The demo workspace exists; nothing was changed."
    counts = ", ".join(f"{number} {name if number > 1 else name[:-1]}" for name, number in added.items() if number)
    return f"Added to the demo workspace of {DEMO_SUBJECT}: {counts}."


def _add_missing(rows: Sequence[models.Model]) -> list[models.Model]:
    manager = type(rows[0])._default_manager
    existing_ids = set(manager.filter(pk__in=[row.pk for row in rows]).values_list("pk", flat=True))
    missing = [row for row in rows if row.pk not in existing_ids]
    # Another process may load the demo at the same time; its rows are the same.
    manager.bulk_create(missing, ignore_conflicts=True)
    return missing


def _create_date_events(added: Sequence[Any], *, at: datetime) -> None:
    """Create the calendar events that show the dates of the added tasks."""
    for subject in {task.created_by for task in added}:
        tasks: list[Task] = [task for task in added if task.created_by == subject]
        task_events.create_events(tasks, by=subject, at=at)


def _build_projects(at: datetime) -> list[models.Model]:
    return [
        _build_row(PROJECT, row, at=at, by=projects.OWNERS[row.number], days=projects.DAYS_FROM_CREATION[row.number])
        for row in projects.ROWS
    ]


def _build_rows_of_kind(kind: EntityType, placed: Mapping[int, Sequence[DemoRow]], at: datetime) -> list[models.Model]:
    return _place_in_trees(_build_rows(kind, placed, at)) if kind is DOCUMENT else _build_rows(kind, placed, at)


def _place_in_trees(rows: Sequence[Any]) -> list[models.Model]:
    """Set the documents' parents; a document whose parent was deleted goes to the root.

    Locks the trees first: a document moved at the same time could take a position, so that a demo document and those
    below it could not be added.
    """
    for project_id in sorted({row.project_id for row in rows}):
        tree.lock_tree(project_id)
    queryset = Document.objects.filter(pk__in=[row.pk for row in rows])
    deleted = set(queryset.exclude(deleted_at=None).values_list("pk", flat=True))
    parents = {
        UUID(get_demo_id("document", number)): UUID(get_demo_id("document", on))
        for number, on in documents.PARENTS.items()
    }
    for row in rows:
        parent_id = parents.get(row.pk)
        row.parent_id = None if parent_id in deleted else parent_id
    return list(rows)


def _build_rows(kind: EntityType, placed: Mapping[int, Sequence[DemoRow]], at: datetime) -> list[models.Model]:
    return [
        _build_row(
            kind,
            row,
            at=at,
            by=projects.OWNERS[project],
            days=DAYS_FROM_CREATION_TO_UPDATE,
            project_id=UUID(get_demo_id("project", project)),
        )
        for project, rows in placed.items()
        for row in rows
    ]


def _build_own_events(at: datetime) -> list[models.Model]:
    return [
        _build_row(EVENT, row, at=at, by=subject, days=DAYS_FROM_CREATION_TO_UPDATE, subject=subject)
        for subject, rows in events.OWN_EVENTS.items()
        for row in rows
    ]


def _build_row(kind: EntityType, row: DemoRow, *, at: datetime, by: str, days: int, **place: Any) -> models.Model:
    """Return the unsaved model of a demo row, with its timestamps relative to `at`."""
    updated_at = at - timedelta(hours=row.touched)
    instance = kind.model(
        id=UUID(get_demo_id(kind.name, row.number)),
        created_by=by,
        created_at=updated_at - timedelta(days=days),
        updated_at=updated_at,
        **place,
        **row.resolve_columns(at),
    )
    changes.update_completion_stamp(instance, kind=kind, at=updated_at)
    return instance


def _build_memberships(at: datetime) -> list[models.Model]:
    return [
        Membership(
            id=UUID(get_demo_id("membership", number)),
            project_id=UUID(get_demo_id("project", project)),
            subject=subject,
            role=role,
            created_at=at,
        )
        for number, project, subject, role in projects.MEMBERSHIPS
    ]


def _build_profiles(at: datetime) -> list[models.Model]:
    return [
        Profile(
            id=UUID(get_demo_id("profile", number)),
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


def _build_edges(at: datetime) -> list[models.Model]:
    return [
        Edge(
            id=UUID(get_demo_id("edge", number)),
            project_id=UUID(get_demo_id("project", project)),
            src_kind=source[0],
            src_id=UUID(get_demo_id(*source)),
            rel=rel,
            dst_kind=destination[0],
            dst_id=UUID(get_demo_id(*destination)),
            created_by=projects.OWNERS[project],
            created_at=at,
        )
        for project, joined in edges.ROWS.items()
        for number, source, rel, destination in joined
    ]
