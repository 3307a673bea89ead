"""Calendar events for the dates of tasks, synchronised in both directions.

A task's row alone determines its events. A start date is a short event that begins at it; a due date is a short event
that ends at it. A start and a due date within ten hours become one event from start to due. A done task keeps the
events that had started by then.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast
from uuid import UUID

from workspace.errors import FieldError
from workspace.models import CalendarEvent, CalendarEventQuerySet, Entity, Task, TaskEventKind, TaskState
from workspace.models.calendar_event import EARLIEST, LATEST, LONGEST_TITLE
from workspace.services import profiles

ALONE = timedelta(minutes=30)  # length of the event of a single date
ONE_RANGE = timedelta(hours=10)  # dates no further apart become one event

START, DUE, RANGE = TaskEventKind.START, TaskEventKind.DUE, TaskEventKind.RANGE

DATES = {START: ("start_at",), DUE: ("due_at",), RANGE: ("start_at", "due_at")}  # task dates of each event kind
PREFIXES = {START: "Start: ", DUE: "Due: ", RANGE: ""}

# The task columns that its events depend on.
TOLD = frozenset({"title", "state_key", "start_at", "due_at", "recurrence", "recurrence_until"})

# Those of them that determine the times.
PLANNED = TOLD - {"title", "state_key"}

# The event columns that are derived from the task.
FOLLOWING = (
    *("project", "task_event_kind", "title", "start_at", "end_at", "recurrence", "recurrence_until", "props"),
    "updated_at",
)


@dataclass(frozen=True, slots=True)
class Shown:
    """An event that a task's dates require."""

    kind: TaskEventKind
    start_at: datetime
    end_at: datetime


def wanted(task: Task) -> list[Shown]:
    """Return the events that a task should have."""
    shown = []
    with suppress(OverflowError):  # half an hour before the year 1
        shown = list(_shown(task.start_at, task.due_at))
    ended = task.completed_at if task.state_key == TaskState.DONE else None
    return [
        each
        for each in shown
        if each.start_at >= EARLIEST and each.end_at <= LATEST and (ended is None or each.start_at <= ended)
    ]


def problems(row: Entity, sent: Mapping[str, Any]) -> list[FieldError]:
    """Return an error if a sent date puts the task's start after its last recurrence, where no calendar shows it."""
    task = cast("Task", row)
    name = "start_at" if task.start_at else "due_at"
    first = getattr(task, name)
    if sent.keys().isdisjoint(PLANNED) or not (first and task.recurrence_until and first > task.recurrence_until):
        return []
    culprit = name if sent.get("recurrence_until") is None else "recurrence_until"
    message = f"{name} is after recurrence_until; send a later recurrence_until, null for no end, or an earlier {name}."
    return [FieldError(path=f"/{culprit}", code="out_of_order", message=message)]


def of(task: Task) -> CalendarEventQuerySet:
    """Return the events that show the dates of a task."""
    return CalendarEvent.objects.filter(task=task, deleted_at=None).exclude(task_event_kind="")


def follow(row: Entity, changed: Collection[str], *, by: str, at: datetime) -> None:
    """Update the events of a task if a changed column affects them. `by` is the acting subject."""
    if not TOLD.isdisjoint(changed):
        sync([row], by=by, at=at)


def add(rows: Sequence[Entity], *, by: str, at: datetime) -> None:
    """Create the events of new tasks in one insert, in the time zone of `by`, the acting subject."""
    tasks = cast("Sequence[Task]", rows)
    _save([_new(task, shown, by=by, at=at) for task in tasks for shown in wanted(task)], [], [], by=by, at=at)


def sync(rows: Sequence[Entity], *, by: str, at: datetime) -> None:
    """Create, update and delete the events of existing tasks to match their dates, in a constant number of queries.

    The caller must have locked the tasks. New events take the time zone of `by`, the acting subject.
    """
    tasks = cast("Sequence[Task]", rows)
    kept: dict[UUID, dict[str, CalendarEvent]] = {task.pk: {} for task in tasks}
    for event in CalendarEvent.objects.filter(task__in=list(kept), deleted_at=None).exclude(task_event_kind=""):
        kept[cast("UUID", event.task_id)][event.task_event_kind] = event
    new: list[CalendarEvent] = []
    changed: list[CalendarEvent] = []
    for task in tasks:
        for shown, row in _paired(wanted(task), kept[task.pk]):
            if row is None:
                new.append(_new(task, shown, by=by, at=at))
            elif not _says(row, task, shown):
                changed.append(_said(row, task, shown, at=at))
    gone = [event.pk for unneeded in kept.values() for event in unneeded.values()]
    _save(new, changed, gone, by=by, at=at)


def move(tasks: Iterable[UUID], *, project: UUID) -> None:
    """Move the events of tasks to another project, including deleted ones, which may be restored."""
    CalendarEvent.objects.filter(task__in=list(tasks)).update(project=project)


def meant(event: CalendarEvent, start_at: datetime, end_at: datetime) -> dict[str, datetime]:
    """Return the dates that the event's task gets if the event has these times."""
    moments = {"start_at": start_at, "due_at": end_at}
    return {name: moments[name] for name in DATES[TaskEventKind(event.task_event_kind)]}


def _shown(start: datetime | None, due: datetime | None) -> Iterator[Shown]:
    if start is not None and due is not None and due < start:
        return
    if start is not None and due is not None and start < due <= start + ONE_RANGE:
        yield Shown(RANGE, start, due)
        return
    if start is not None and start != due:
        yield Shown(START, start, start + ALONE)
    if due is not None:
        yield Shown(DUE, due - ALONE, due)


def _paired(shown: Sequence[Shown], kept: dict[str, CalendarEvent]) -> list[tuple[Shown, CalendarEvent | None]]:
    """Pair each required event with a stored one, and remove that from `stored`.

    A stored event that is no longer needed is reused for a new one, so that its id stays valid.
    """
    own = {each.kind: kept.pop(each.kind, None) for each in shown}
    return [(each, own[each.kind] or (kept.popitem()[1] if kept else None)) for each in shown]


def _columns(task: Task, shown: Shown) -> dict[str, Any]:
    prefix = PREFIXES[shown.kind]
    return {
        "project_id": task.project_id,
        "task_event_kind": shown.kind.value,
        "title": prefix + task.title[: LONGEST_TITLE - len(prefix)],
        "start_at": shown.start_at,
        "end_at": shown.end_at,
        "recurrence": task.recurrence or "",
        "recurrence_until": _until(task, shown),
    }


def _until(task: Task, shown: Shown) -> datetime | None:
    """Return the event's recurrence end: that of the task, or when it was done.

    The task's end limits its start, so the event of the due date gets a correspondingly later end.
    """
    if not task.recurrence:
        return None
    last = task.recurrence_until
    if last and task.start_at and shown.start_at > task.start_at:
        with suppress(OverflowError):  # the year 9999
            last += shown.start_at - task.start_at
    return min(filter(None, (last, task.completed_at)), default=None)


def _props(task: Task, shown: Shown) -> dict[str, str]:
    """Return the props that identify the task in external copies of the event."""
    return {
        "task_id": str(task.pk),
        "task_title": task.title,
        "task_link": f"workspace:/tasks/{task.pk}",
        "task_event_kind": shown.kind.value,
    }


def _says(event: CalendarEvent, task: Task, shown: Shown) -> bool:
    """Whether the event already matches the task."""
    columns = all(getattr(event, name) == value for name, value in _columns(task, shown).items())
    return columns and _props(task, shown).items() <= event.props.items()


def _new(task: Task, shown: Shown, *, by: str, at: datetime) -> CalendarEvent:
    return _said(CalendarEvent(task=task, created_by=by, created_at=at), task, shown, at=at)


def _said(event: CalendarEvent, task: Task, shown: Shown, *, at: datetime) -> CalendarEvent:
    """Update the event to match the task, and return it."""
    for name, value in _columns(task, shown).items():
        setattr(event, name, value)
    event.props = event.props | _props(task, shown)
    event.updated_at = at
    return event


def _save(new: list[CalendarEvent], changed: list[CalendarEvent], gone: list[UUID], *, by: str, at: datetime) -> None:
    if gone:  # first, because each date of a task has a unique event
        CalendarEvent.objects.filter(pk__in=gone).update(deleted_at=at)
    if changed:
        CalendarEvent.objects.bulk_update(changed, FOLLOWING, batch_size=100)
    if new:
        zone = profiles.zone(by).key
        for event in new:
            event.time_zone = zone
        CalendarEvent.objects.bulk_create(new, batch_size=500)
