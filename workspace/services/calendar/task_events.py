"""Calendar events for the dates of tasks, synchronised in both directions.

A task's row alone determines its events. A start date is a short event that begins at it; a due date is a short event
that ends at it. A start and a due date within ten hours become one event from start to due. A task that was scheduled
separately from its deadline has an event for the time that it takes, and one for the deadline. A done task keeps the
events that had started by then.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast
from uuid import UUID
from zoneinfo import ZoneInfo

from core.handler_contract import ArgumentError
from workspace.models import CalendarEvent, CalendarEventQuerySet, Entity, Task, TaskEventKind, TaskState
from workspace.models.calendar_event import EARLIEST, LATEST, MAX_TITLE_LENGTH
from workspace.services import access
from workspace.services.time import recurrence, times

SINGLE_DATE_LENGTH = timedelta(minutes=30)  # length of the event of a single date
MAX_RANGE = timedelta(hours=10)  # dates no further apart become one event

START, DUE, RANGE = TaskEventKind.START, TaskEventKind.DUE, TaskEventKind.RANGE

DATES_BY_KIND = {START: ("start_at",), DUE: ("due_at",), RANGE: ("start_at", "due_at")}  # task dates of each event kind
TITLE_PREFIXES = {START: "Start: ", DUE: "Due: ", RANGE: ""}

# The task columns that its events depend on.
SHOWN_COLUMNS = frozenset(
    {"title", "state_key", "start_at", "due_at", "recurrence", "recurrence_until", "duration_minutes", "is_scheduled"}
)

# Those of them that determine when it recurs.
TIME_COLUMNS = frozenset({"start_at", "due_at", "recurrence", "recurrence_until"})

# The event columns that are derived from the task.
DERIVED_COLUMNS = tuple(
    """
    project task_event_kind title start_at end_at recurrence recurrence_until excluded_starts props updated_at
""".split()
)


@dataclass(frozen=True, slots=True)
class TaskDateEvent:
    """An event that a task's dates require."""

    kind: TaskEventKind
    start_at: datetime
    end_at: datetime


def build_required_events(task: Task) -> list[TaskDateEvent]:
    """Return the events that a task should have."""
    required = []
    with suppress(OverflowError):  # half an hour before the year 1
        required = list(_iter_required_events(task))
    completed_at = task.completed_at if task.state_key == TaskState.DONE else None
    return [
        event
        for event in required
        if event.start_at >= EARLIEST
        and event.end_at <= LATEST
        and (completed_at is None or event.start_at <= completed_at)
    ]


def check_recurrence_end(row: Entity, sent: Mapping[str, Any]) -> list[ArgumentError]:
    """Return an error if a sent date puts the task's start after its last recurrence: no calendar would show it."""
    task = cast("Task", row)
    name = "start_at" if task.start_at else "due_at"
    first = getattr(task, name)
    if sent.keys().isdisjoint(TIME_COLUMNS) or not (first and task.recurrence_until and first > task.recurrence_until):
        return []
    argument = name if sent.get("recurrence_until") is None else "recurrence_until"
    message = f"{name} is after recurrence_until; send a later recurrence_until, null for no end, or an earlier {name}."
    return [ArgumentError(path=f"/{argument}", code="out_of_order", message=message)]


def filter_task_events(task: Task) -> CalendarEventQuerySet:
    """Return the events that show the dates of a task."""
    return CalendarEvent.objects.filter(task=task, deleted_at=None).exclude(task_event_kind="")


def sync_after_change(row: Entity, changed: Collection[str], *, by: str, at: datetime) -> None:
    """Update the events of a task if a changed column affects them. `by` is the acting subject."""
    if not SHOWN_COLUMNS.isdisjoint(changed):
        sync_events([row], by=by, at=at)


def create_events(rows: Sequence[Entity], *, by: str, at: datetime) -> None:
    """Create the events of new tasks in one insert, in the time zone of `by`, the acting subject."""
    tasks = cast("Sequence[Task]", rows)
    missing = [(task, required) for task in tasks for required in build_required_events(task)]
    _insert_events(missing, by=by, at=at)


def sync_events(
    rows: Sequence[Entity], *, by: str, at: datetime, zone: ZoneInfo | None = None, is_renumbered: bool = False
) -> None:
    """Create, update and delete the events of existing tasks to match their dates, in a constant number of queries.

    The caller must have locked the tasks. Events keep their time zone unless `zone` is given. New ones take it, or else
    that of `by`, the acting subject. When a task has moved, the same occurrences stay skipped, unless they are already
    renumbered.
    """
    tasks = cast("Sequence[Task]", rows)
    stored: dict[UUID, dict[str, CalendarEvent]] = {task.pk: {} for task in tasks}
    for event in CalendarEvent.objects.filter(task__in=list(stored), deleted_at=None).exclude(task_event_kind=""):
        stored[cast("UUID", event.task_id)][event.task_event_kind] = event
    missing: list[tuple[Task, TaskDateEvent]] = []
    changed: list[CalendarEvent] = []
    for task in tasks:
        required_events = build_required_events(task)
        has_no_dates = task.start_at is None and task.due_at is None
        if has_no_dates or any(event.recurrence != task.recurrence for event in stored[task.pk].values()):
            _forget_skipped_occurrences(task)
        elif not is_renumbered:
            _renumber_skipped_occurrences(task, stored[task.pk])
        for required, row in _pair_events(required_events, stored[task.pk]):
            if row is None:
                missing.append((task, required))
            elif not _is_current(row, task, required, zone):
                changed.append(_update_event(row, task, required, zone, at=at))
    deleted_ids = [event.pk for unused_events in stored.values() for event in unused_events.values()]
    if deleted_ids:  # first, because each date of a task has a unique event
        CalendarEvent.objects.filter(pk__in=deleted_ids).update(deleted_at=at)
    if changed:
        CalendarEvent.objects.bulk_update(changed, (*DERIVED_COLUMNS, "time_zone"), batch_size=100)
    _insert_events(missing, by=by, at=at, zone=zone)


def move_events(tasks: Iterable[UUID], *, project: UUID) -> None:
    """Move the events of tasks to another project, including deleted ones, which may be restored."""
    CalendarEvent.objects.filter(task__in=list(tasks)).update(project=project)


def get_task_dates(event: CalendarEvent, start_at: datetime, end_at: datetime) -> dict[str, datetime]:
    """Return the dates that the event's task gets if the event has these times."""
    moments = {"start_at": start_at, "due_at": end_at}
    return {name: moments[name] for name in DATES_BY_KIND[TaskEventKind(event.task_event_kind)]}


def _iter_required_events(task: Task) -> Iterator[TaskDateEvent]:
    start, due = task.start_at, task.due_at
    if start is not None and due is not None and due < start:
        return
    is_apart = _is_work_shown(task)
    if start is not None and due is not None and start < due <= start + MAX_RANGE and not is_apart:
        yield TaskDateEvent(RANGE, start, due)
        return
    if start is not None and (start != due or is_apart):
        length = timedelta(minutes=task.duration_minutes) if is_apart else SINGLE_DATE_LENGTH
        yield TaskDateEvent(START, start, start + length)
    if due is not None:
        yield TaskDateEvent(DUE, due - SINGLE_DATE_LENGTH, due)


def _is_work_shown(task: Task) -> bool:
    """Whether the event of the start shows for how long the task is worked on."""
    return task.is_scheduled and timedelta(minutes=task.duration_minutes) <= MAX_RANGE


def _pair_events(
    required: Sequence[TaskDateEvent], stored: dict[str, CalendarEvent]
) -> list[tuple[TaskDateEvent, CalendarEvent | None]]:
    """Pair each required event with a stored one, and remove that from `stored`.

    A stored event that is no longer needed is reused for a new one, so that its id stays valid.
    """
    same_kind = {event.kind: stored.pop(event.kind, None) for event in required}
    return [(event, same_kind[event.kind] or (stored.popitem()[1] if stored else None)) for event in required]


def _forget_skipped_occurrences(task: Task) -> None:
    """Forget which occurrences were skipped, because they were those of another rule."""
    if task.skipped_occurrences:
        task.skipped_occurrences = []
        Task.objects.filter(pk=task.pk).update(skipped_occurrences=[])


def _renumber_skipped_occurrences(task: Task, stored: Mapping[str, CalendarEvent]) -> None:
    """Store which occurrences are skipped after the task has moved. `stored` are the events that show its old dates."""
    if not task.skipped_occurrences or not stored:
        return
    event = min(stored.values(), key=lambda each: cast("datetime", each.start_at))
    is_due = event.task_event_kind == DUE
    old, new = (event.end_at, task.due_at) if is_due else (event.start_at, task.start_at)
    if old is None or new is None:
        return
    zone = ZoneInfo(event.time_zone)
    passed = recurrence.count_periods(task.recurrence, old.astimezone(zone).date(), new.astimezone(zone).date())
    if passed:
        task.skipped_occurrences = recurrence.renumber(task.skipped_occurrences, passed=passed)
        Task.objects.filter(pk=task.pk).update(skipped_occurrences=task.skipped_occurrences)


def _build_columns(task: Task, required: TaskDateEvent, zone: ZoneInfo) -> dict[str, Any]:
    prefix = "" if required.kind == START and _is_work_shown(task) else TITLE_PREFIXES[required.kind]
    return {
        "project_id": task.project_id,
        "task_event_kind": required.kind.value,
        "title": prefix + task.title[: MAX_TITLE_LENGTH - len(prefix)],
        "start_at": required.start_at,
        "end_at": required.end_at,
        "recurrence": task.recurrence or "",
        "recurrence_until": _get_recurrence_end(task, required, zone),
        "excluded_starts": sorted(
            times.format_time(recurrence.get_start(task.recurrence, first=required.start_at, zone=zone, number=number))
            for number in task.skipped_occurrences
            if task.recurrence
        ),
        "time_zone": zone.key,
    }


def _get_recurrence_end(task: Task, required: TaskDateEvent, zone: ZoneInfo) -> datetime | None:
    """Return the event's recurrence end: that of the task, or when it was done.

    The task's end limits its start, so the event of the due date ends with the due date of the last start.
    """
    if not task.recurrence:
        return None
    last = task.recurrence_until
    if last and task.start_at and required.start_at > task.start_at:
        with suppress(OverflowError):  # the year 9999
            after = last + timedelta(microseconds=1)
            number = recurrence.find_number(task.recurrence, first=task.start_at, zone=zone, start=after) - 1
            last = recurrence.get_start(task.recurrence, first=required.start_at, zone=zone, number=max(number, 0))
    return min(filter(None, (last, task.completed_at)), default=None)


def _build_props(task: Task, required: TaskDateEvent) -> dict[str, str]:
    """Return the props that identify the task in external copies of the event."""
    return {
        "task_id": str(task.pk),
        "task_title": task.title,
        "task_link": f"workspace:/tasks/{task.pk}",
        "task_event_kind": required.kind.value,
    }


def _is_current(event: CalendarEvent, task: Task, required: TaskDateEvent, zone: ZoneInfo | None) -> bool:
    """Whether the event already matches the task."""
    columns = _build_columns(task, required, zone or ZoneInfo(event.time_zone))
    has_columns = all(getattr(event, name) == value for name, value in columns.items())
    return has_columns and _build_props(task, required).items() <= event.props.items()


def _update_event(
    event: CalendarEvent, task: Task, required: TaskDateEvent, zone: ZoneInfo | None, *, at: datetime
) -> CalendarEvent:
    """Update the event to match the task, and return it."""
    for name, value in _build_columns(task, required, zone or ZoneInfo(event.time_zone)).items():
        setattr(event, name, value)
    event.props = event.props | _build_props(task, required)
    event.updated_at = at
    return event


def _insert_events(
    missing: Sequence[tuple[Task, TaskDateEvent]], *, by: str, at: datetime, zone: ZoneInfo | None = None
) -> None:
    if not missing:
        return
    zone = zone or access.get_zone(by)
    new = [
        _update_event(CalendarEvent(task=task, created_by=by, created_at=at), task, required, zone, at=at)
        for task, required in missing
    ]
    CalendarEvent.objects.bulk_create(new, batch_size=500)
