"""Rows of several subjects, each with a unique text, and which of them each subject can see."""

import itertools
import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from string import ascii_lowercase
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db import connection, models

from tests.support.rows.factories import MADE_AT
from workspace.entity_types import CALENDAR, ENTITY_TYPE_BY_NAME, EVENT, EntityType
from workspace.models import (
    EDITING_ROLES,
    CalendarEvent,
    Edge,
    MemberRole,
    Membership,
    Project,
    ProjectCalendar,
    Task,
    TaskEventKind,
)
from workspace.models.base import TagsField

OWNER, MEMBER, STRANGER = "owner", "member", "stranger"
SUBJECTS = (OWNER, MEMBER, STRANGER)
CANARY = "canary"  # the text of every row starts with it, so that a search for it can find all rows

MODELS: dict[str, type[models.Model]] = {
    **{name: kind.model for name, kind in ENTITY_TYPE_BY_NAME.items()},
    "edge": Edge,
    "event": CalendarEvent,
    "calendar": ProjectCalendar,
}
TABLES = (*MODELS.values(), Membership)

# For each project: its owner, the fields of the member's membership, and whether the project is deleted.
_PROJECTS: tuple[tuple[str, dict[str, Any], bool], ...] = (
    (OWNER, {"role": MemberRole.OWNER, "deleted_at": MADE_AT}, False),
    (OWNER, {"role": MemberRole.EDITOR}, False),
    (STRANGER, {}, False),
    (OWNER, {"role": MemberRole.EDITOR}, True),
)

Key = tuple[str, str]  # a model's label and a row's id
Snapshot = dict[Key, dict[str, Any]]


@dataclass(slots=True)
class CachedSnapshot:
    """The last snapshot of the workspace's tables, with the raw rows that it was built from."""

    raw: list[list[tuple[Any, ...]]]
    rows: Snapshot


_cached = CachedSnapshot([], {})


@dataclass(frozen=True, slots=True)
class Seed:
    """A row that the world starts with, and its unique text.

    `project` is its project, or the subject for an event in a subject's own calendar.
    """

    kind: str
    id: str
    project: str
    canary: str


def create_world() -> list[Seed]:
    """Create four projects with rows of every kind, some deleted, and return the seeds.

    The member has left the first project, is an editor in the second, and cannot see the third, which belongs to the
    stranger. The fourth is deleted.
    """
    # Fixed texts, and so fixed ids, make runs repeatable.
    canaries = map("".join, itertools.product(ascii_lowercase, repeat=3))
    seeds: list[Seed] = []
    for owner, member, deleted in _PROJECTS:
        project = _build_row(ENTITY_TYPE_BY_NAME["project"], next(canaries), deleted=deleted)
        rows = [("project", project), *_build_project_rows(project, canaries)]
        for model in TABLES:
            model._default_manager.bulk_create([row for _, row in rows if type(row) is model])
        for subject, place in ((owner, {"role": MemberRole.OWNER}), (MEMBER, member)):
            if place:
                Membership.objects.create(project=project, subject=subject, **place)
        seeds += [Seed(kind, str(row.pk), str(project.pk), str(row.props["note"])) for kind, row in rows]
    for subject in SUBJECTS:
        for deleted in (False, False, True):
            own = _build_event(next(canaries), deleted=deleted, subject=subject)
            own.save()
            seeds.append(Seed("event", str(own.pk), subject, str(own.props["note"])))
    return seeds


def _build_project_rows(project: Any, canaries: Iterator[str]) -> Iterator[tuple[str, Any]]:
    for name, kind in ENTITY_TYPE_BY_NAME.items():
        if name != "project":
            rows = [
                _build_row(kind, next(canaries), deleted=deleted, project=project) for deleted in (False, False, True)
            ]
            yield from ((name, row) for row in rows)
            ends = {"src_kind": name, "src_id": rows[0].pk, "dst_kind": name, "dst_id": rows[1].pk}
            for rel, deleted in (("references", False), (None, False), ("depends_on", True)):
                text = f"{CANARY}{next(canaries)}"
                yield (
                    "edge",
                    Edge(
                        **ends,
                        id=_build_id(text),
                        project=project,
                        rel=rel or text,
                        props={"note": text},
                        created_by=text,
                        deleted_at=MADE_AT if deleted else None,
                    ),
                )
        if name == "task":
            yield from _build_events(rows, canaries, project=project)
    for deleted in (False, True):
        yield "calendar", _build_row(CALENDAR, next(canaries), deleted=deleted, project=project, time_zone="UTC")


def _build_events(tasks: list[Any], canaries: Iterator[str], *, project: Any) -> Iterator[tuple[str, Any]]:
    """Yield events of a project: three of its own, one deleted, one of a task, one of a deleted task."""
    for deleted in (False, False, True):
        yield "event", _build_event(next(canaries), deleted=deleted, project=project)
    active_task, _, deleted_task = tasks
    for task, kind in ((active_task, TaskEventKind.START), (deleted_task, TaskEventKind.DUE)):
        yield "event", _build_event(next(canaries), deleted=False, project=project, task=task, task_event_kind=kind)


def _build_event(letters: str, *, deleted: bool, **place: Any) -> CalendarEvent:
    times = {"start_at": MADE_AT, "end_at": MADE_AT + timedelta(minutes=30)}
    details = {"subject": "", "time_zone": "UTC", "attendees": [f"{CANARY}{letters}"]}
    event: CalendarEvent = _build_row(EVENT, letters, deleted=deleted, **(times | details | place))
    return event


def _build_row(kind: EntityType, letters: str, *, deleted: bool, **place: Any) -> Any:
    """Return a row that contains the text in its props and in every text column."""
    text = f"{CANARY}{letters}"
    columns: dict[str, Any] = {
        "id": _build_id(text),
        "props": {"note": text},
        "created_at": MADE_AT,
        "updated_at": MADE_AT,
    }
    for field in kind.model._meta.concrete_fields:
        if field.name == "type_key":
            columns["type_key"] = f"{_get_type_prefix(kind)}.{text}"
        elif isinstance(field, TagsField):
            columns[field.name] = [text]
        elif isinstance(field, models.CharField | models.TextField) and not field.choices:
            columns[field.name] = f"# {text}" if field.name == "content" else text  # a heading
    return kind.model(**(columns | place), deleted_at=MADE_AT if deleted else None)


def _build_id(text: str) -> uuid.UUID:
    return uuid.uuid5(uuid.NAMESPACE_OID, text)


def _get_type_prefix(kind: EntityType) -> str:
    default = kind.model._meta.get_field("type_key")
    assert isinstance(default, models.Field)
    return ".".join(default.default.split(".")[:2]) if default.has_default() else "project.business"


def take_snapshot() -> Snapshot:
    """Return every row of the workspace, by model and id. Do not change it: it may be returned again."""
    with connection.cursor() as cursor:
        raw = [cursor.execute(f'SELECT * FROM "{model._meta.db_table}"').fetchall() for model in TABLES]  # noqa: S608
    if raw != _cached.raw:  # building values takes ten times as long as reading rows
        _cached.raw = raw
        _cached.rows = {
            (model._meta.label, str(values["id"])): values
            for model in TABLES
            for values in model._default_manager.values()
        }
    return _cached.rows


def find_visible_projects(subject: str, *, changing: bool = False) -> set[Any]:
    """Return the projects that a subject sees, or may change, and its own name for its own calendar.

    Only memberships decide this.
    """
    roles = EDITING_ROLES if changing else tuple(MemberRole)
    places = Membership.objects.filter(subject=subject, deleted_at=None, role__in=roles, project__deleted_at=None)
    return {subject, *places.values_list("project_id", flat=True)}


def get_project(key: Key, values: dict[str, Any]) -> Any:
    """Return the project id of a row, or the subject for an event in a subject's own calendar."""
    return values["id"] if key[0] == Project._meta.label else values["project_id"] or values["subject"]


def find_visible_ids(rows: Snapshot, projects: set[Any]) -> set[str]:
    """Return the ids of the rows in these projects that are not deleted. An event is deleted with its task."""
    return {
        key[1]
        for key, values in rows.items()
        if values["deleted_at"] is None and get_project(key, values) in projects and not _has_deleted_task(rows, values)
    }


def _has_deleted_task(rows: Snapshot, values: dict[str, Any]) -> bool:
    task = rows.get((Task._meta.label, str(values.get("task_id"))))
    return task is not None and task["deleted_at"] is not None


def erase_other_rows(*, keeping: set[Any], also: set[str]) -> None:
    """Delete the rows of all projects except `keeping`, and the rows in `also`, without a trace."""
    projects = [each for each in keeping if isinstance(each, uuid.UUID)]
    for model in reversed(TABLES):
        rows = model._default_manager.all()
        if model is Project:
            gone = models.Q(pk__in=also) | ~models.Q(pk__in=projects)
        elif model is CalendarEvent:
            own = models.Q(project=None, subject__in=keeping - set(projects))
            gone = models.Q(pk__in=also) | models.Q(task__in=also) | ~(own | models.Q(project_id__in=projects))
        else:
            gone = models.Q(pk__in=also) | ~models.Q(project_id__in=projects)
        rows.filter(gone)._raw_delete(rows.db)


def dump_json(values: Any) -> str:
    """Return values as JSON text, to search it for canaries."""
    return json.dumps(values, cls=DjangoJSONEncoder, default=str)
