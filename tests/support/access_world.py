"""A world of several subjects' rows, each with a text that stands nowhere else, and what each subject can see of it."""

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

from tests.support.factories import MADE_AT
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
from workspace.models.tags import TagsField

OWNER, MEMBER, STRANGER = "owner", "member", "stranger"
SUBJECTS = (OWNER, MEMBER, STRANGER)
CANARY = "canary"  # begins the text of every row, so that any search for it would find them all

MODELS: dict[str, type[models.Model]] = {
    **{name: kind.model for name, kind in ENTITY_TYPE_BY_NAME.items()},
    "edge": Edge,
    "event": CalendarEvent,
    "calendar": ProjectCalendar,
}
TABLES = (*MODELS.values(), Membership)

# Of each project: its owner, the member's place in it, and whether it is deleted.
_PROJECTS: tuple[tuple[str, dict[str, Any], bool], ...] = (
    (OWNER, {"role": MemberRole.OWNER, "deleted_at": MADE_AT}, False),
    (OWNER, {"role": MemberRole.EDITOR}, False),
    (STRANGER, {}, False),
    (OWNER, {"role": MemberRole.EDITOR}, True),
)

Key = tuple[str, str]  # a model's label and a row's id
Snapshot = dict[Key, dict[str, Any]]


@dataclass(slots=True)
class Look:
    """The workspace's tables when they were last looked at, as the database told them and as a snapshot."""

    raw: list[list[tuple[Any, ...]]]
    rows: Snapshot


_last = Look([], {})


@dataclass(frozen=True, slots=True)
class Seed:
    """A row as the world began with it: its kind, its id, its place, and the text that no other row has.

    Its place is its project, or the subject in whose own calendar it is.
    """

    kind: str
    id: str
    project: str
    canary: str


def build() -> list[Seed]:
    """Make three projects with two rows of every kind each, the second deleted, and return the seeds.

    One is the owner's alone since the member left, one shared with the member, one the stranger's; and one of the
    owner's is deleted.
    """
    canaries = map("".join, itertools.product(ascii_lowercase, repeat=3))  # fixed, as the ids are: runs must repeat
    seeds: list[Seed] = []
    for owner, member, deleted in _PROJECTS:
        project = _row(ENTITY_TYPE_BY_NAME["project"], next(canaries), deleted=deleted)
        made = [("project", project), *_inside(project, canaries)]
        for model in TABLES:
            model._default_manager.bulk_create([row for _, row in made if type(row) is model])
        for subject, place in ((owner, {"role": MemberRole.OWNER}), (MEMBER, member)):
            if place:
                Membership.objects.create(project=project, subject=subject, **place)
        seeds += [Seed(kind, str(row.pk), str(project.pk), str(row.props["note"])) for kind, row in made]
    for subject in SUBJECTS:
        for deleted in (False, False, True):
            own = _event(next(canaries), deleted=deleted, subject=subject)
            own.save()
            seeds.append(Seed("event", str(own.pk), subject, str(own.props["note"])))
    return seeds


def _inside(project: Any, canaries: Iterator[str]) -> Iterator[tuple[str, Any]]:
    for name, kind in ENTITY_TYPE_BY_NAME.items():
        if name != "project":
            rows = [_row(kind, next(canaries), deleted=deleted, project=project) for deleted in (False, False, True)]
            yield from ((name, row) for row in rows)
            ends = {"src_kind": name, "src_id": rows[0].pk, "dst_kind": name, "dst_id": rows[1].pk}
            for rel, deleted in (("references", False), (None, False), ("depends_on", True)):
                text = f"{CANARY}{next(canaries)}"
                yield (
                    "edge",
                    Edge(
                        **ends,
                        id=_id_of(text),
                        project=project,
                        rel=rel or text,
                        props={"note": text},
                        created_by=text,
                        deleted_at=MADE_AT if deleted else None,
                    ),
                )
        if name == "task":
            yield from _events(rows, canaries, project=project)
    for deleted in (False, True):
        yield "calendar", _row(CALENDAR, next(canaries), deleted=deleted, project=project, time_zone="UTC")


def _events(tasks: list[Any], canaries: Iterator[str], *, project: Any) -> Iterator[tuple[str, Any]]:
    """Yield events of a project: two of its own, one deleted, one of a task's date, one of a deleted task."""
    for deleted in (False, False, True):
        yield "event", _event(next(canaries), deleted=deleted, project=project)
    alive, _, gone = tasks
    for task, kind in ((alive, TaskEventKind.START), (gone, TaskEventKind.DUE)):
        yield "event", _event(next(canaries), deleted=False, project=project, task=task, task_event_kind=kind)


def _event(letters: str, *, deleted: bool, **place: Any) -> CalendarEvent:
    moments = {"start_at": MADE_AT, "end_at": MADE_AT + timedelta(minutes=30)}
    more = {"subject": "", "time_zone": "UTC", "attendees": [f"{CANARY}{letters}"]}
    event: CalendarEvent = _row(EVENT, letters, deleted=deleted, **(moments | more | place))
    return event


def _row(kind: EntityType, letters: str, *, deleted: bool, **place: Any) -> Any:
    """Return a row whose every column of text, and its props, hold the text."""
    text = f"{CANARY}{letters}"
    columns: dict[str, Any] = {
        "id": _id_of(text),
        "props": {"note": text},
        "created_at": MADE_AT,
        "updated_at": MADE_AT,
    }
    for field in kind.model._meta.concrete_fields:
        if field.name == "type_key":
            columns["type_key"] = f"{_type_of(kind)}.{text}"
        elif isinstance(field, TagsField):
            columns[field.name] = [text]
        elif isinstance(field, models.CharField | models.TextField) and not field.choices:
            columns[field.name] = f"# {text}" if field.name == "content" else text  # a heading, to be read by
    return kind.model(**(columns | place), deleted_at=MADE_AT if deleted else None)


def _id_of(text: str) -> uuid.UUID:
    return uuid.uuid5(uuid.NAMESPACE_OID, text)


def _type_of(kind: EntityType) -> str:
    default = kind.model._meta.get_field("type_key")
    assert isinstance(default, models.Field)
    return ".".join(default.default.split(".")[:2]) if default.has_default() else "project.business"


def snapshot() -> Snapshot:
    """Return every row of the workspace, by model and id; not to be changed, for it may be returned again."""
    with connection.cursor() as cursor:
        raw = [cursor.execute(f'SELECT * FROM "{model._meta.db_table}"').fetchall() for model in TABLES]  # noqa: S608
    if raw != _last.raw:  # values take ten times as long as the rows, which are mostly those of the last look
        _last.raw = raw
        _last.rows = {
            (model._meta.label, str(values["id"])): values
            for model in TABLES
            for values in model._default_manager.values()
        }
    return _last.rows


def project_ids(subject: str, *, changing: bool = False) -> set[Any]:
    """Return the places that a subject sees, or may change: its projects, from nothing but its memberships, and its
    own calendar, under its name."""
    roles = EDITING_ROLES if changing else tuple(MemberRole)
    places = Membership.objects.filter(subject=subject, deleted_at=None, role__in=roles, project__deleted_at=None)
    return {subject, *places.values_list("project_id", flat=True)}


def project_of(key: Key, values: dict[str, Any]) -> Any:
    """Return the id of the project that a row is, or lies in; of an event in a subject's own calendar the subject."""
    return values["id"] if key[0] == Project._meta.label else values["project_id"] or values["subject"]


def visible(rows: Snapshot, projects: set[Any]) -> set[str]:
    """Return the ids of the rows that somebody sees who sees these places; an event goes with its task."""
    return {
        key[1]
        for key, values in rows.items()
        if values["deleted_at"] is None
        and project_of(key, values) in projects
        and not _is_of_a_deleted_task(rows, values)
    }


def _is_of_a_deleted_task(rows: Snapshot, values: dict[str, Any]) -> bool:
    task = rows.get((Task._meta.label, str(values.get("task_id"))))
    return task is not None and task["deleted_at"] is not None


def erase(*, keeping: set[Any], also: set[str]) -> None:
    """Delete, as if they had never been, all projects but these with all that is in them, and the rows named also."""
    projects = [place for place in keeping if isinstance(place, uuid.UUID)]
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


def written(values: Any) -> str:
    """Return values as one text, in which a canary would be seen."""
    return json.dumps(values, cls=DjangoJSONEncoder, default=str)
