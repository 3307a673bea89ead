"""A part of a recurring task: one occurrence, or one and all later ones, as the task's event shows them.

An occurrence that is changed becomes a separate task, with the links of the series.
"""

import itertools
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import cast
from uuid import uuid4
from zoneinfo import ZoneInfo

from django.db.models import Q

from workspace.models import CalendarEvent, Edge, Recurrence, Task
from workspace.services.calendar import task_events
from workspace.services.calendar.series import SeriesPart
from workspace.services.time import recurrence

_SAVED_COLUMNS = ("start_at", "due_at", "recurrence_until", "skipped_occurrences")


def find_event(task: Task) -> CalendarEvent | None:
    """Return the event that shows when the task occurs: that of its start, or else that of its due date."""
    events = task_events.filter_task_events(task).order_by("start_at")
    return events.with_context().first()


def remove_part(task: Task, event: CalendarEvent, part: SeriesPart, *, by: str, at: datetime) -> bool:
    """Take the part that one of the task's events shows out of the series, and save the task and its events.

    Return whether an occurrence is left. If none is, the task is deleted.
    """
    is_left = True
    number = _find_number(event, part)
    if part.following:
        start = _get_start(task, cast("datetime", task.start_at or event.start_at), event, number)
        task.recurrence_until = start - timedelta(seconds=1)
    else:
        task.skipped_occurrences = sorted({*task.skipped_occurrences, number})
        is_left = _begin_later(task, event)
    task.updated_at, task.deleted_at = at, None if is_left else at
    task.save(update_fields=[*_SAVED_COLUMNS, "updated_at", "deleted_at"])
    task_events.sync_events([task], by=by, at=at, is_renumbered=True)
    return is_left


def split_off(task: Task, event: CalendarEvent, part: SeriesPart, *, by: str, at: datetime) -> tuple[Task, bool]:
    """Take the part out of the series. Return it as a new task with events and links, and whether any other is left."""
    number = _find_number(event, part)
    new = _build_task(task, event, number, is_series=part.following)
    own_events = list(task_events.filter_task_events(task))
    is_left = remove_part(task, event, part, by=by, at=at)
    new.created_by, new.created_at, new.updated_at = by, at, at
    new.save(force_insert=True)
    _copy_edges(task, new, by=by, at=at)
    task_events.sync_events([new], by=by, at=at, zone=ZoneInfo(event.time_zone))
    _copy_event_fields(own_events, event, new)
    return new, is_left


def _begin_later(task: Task, event: CalendarEvent) -> bool:
    """Let the series begin with its first occurrence that is not skipped, so that its dates are those of the next one.

    It stays as it is if it would recur on other days from there: monthly from the 31st. Return whether any is left.
    """
    number = next(number for number in itertools.count() if number not in task.skipped_occurrences)
    dates, zone = _get_dates(task, event, number), ZoneInfo(event.time_zone)
    if task.recurrence_until is not None and cast("datetime", dates[0] or dates[1]) > task.recurrence_until:
        return False
    old_days, days = ([each and each.astimezone(zone).day for each in some] for some in (_get_own_dates(task), dates))
    if task.recurrence != Recurrence.MONTHLY or old_days == days:
        task.start_at, task.due_at = dates
        task.skipped_occurrences = [each - number for each in task.skipped_occurrences if each > number]
    return True


def _get_own_dates(task: Task) -> tuple[datetime | None, datetime | None]:
    return task.start_at, task.due_at


def _build_task(task: Task, event: CalendarEvent, number: int, *, is_series: bool) -> Task:
    new = Task.objects.get(pk=task.pk)
    new.pk, new.skipped_occurrences = uuid4(), []
    new.start_at, new.due_at = _get_dates(task, event, number)
    if is_series:
        new.skipped_occurrences = [each - number for each in task.skipped_occurrences if each > number]
    else:
        new.recurrence, new.recurrence_until = "", None
    return new


def _get_dates(task: Task, event: CalendarEvent, number: int) -> tuple[datetime | None, datetime | None]:
    """Return the start and the due date of an occurrence."""
    start = task.start_at and _get_start(task, task.start_at, event, number)
    if not (start and task.start_at and task.due_at):
        return start, task.due_at and _get_start(task, task.due_at, event, number)
    length = task.due_at - task.start_at
    due = _get_start(task, task.due_at, event, number)
    # One event of both is always as long. Days that a month lacks may bring the due date before the start.
    return start, start + length if length <= task_events.MAX_RANGE or due < start else due


def _copy_edges(task: Task, new: Task, *, by: str, at: datetime) -> None:
    edges = list(Edge.objects.filter(Q(src_id=task.pk) | Q(dst_id=task.pk), deleted_at=None))
    for edge in edges:
        edge.pk, edge.created_by, edge.created_at = uuid4(), by, at
        edge.src_id, edge.dst_id = (new.pk if end == task.pk else end for end in (edge.src_id, edge.dst_id))
    Edge.objects.bulk_create(edges, batch_size=500)


def _copy_event_fields(events: Sequence[CalendarEvent], event: CalendarEvent, new: Task) -> None:
    """Copy the fields that only events have to those of a new task: from the same kind, or else from `event`."""
    by_kind = {each.task_event_kind: each for each in events}
    for copy in task_events.filter_task_events(new):
        source = by_kind.get(copy.task_event_kind, event)
        for name in ("description", "location", "attendees"):
            setattr(copy, name, getattr(source, name))
        copy.props = source.props | copy.props
        copy.save(update_fields=["description", "location", "attendees", "props"])


def _find_number(event: CalendarEvent, part: SeriesPart) -> int:
    return recurrence.find_number(
        event.recurrence,
        first=cast("datetime", event.start_at),
        zone=ZoneInfo(event.time_zone),
        start=cast("datetime", part.start),
    )


def _get_start(task: Task, first: datetime, event: CalendarEvent, number: int) -> datetime:
    return recurrence.get_start(task.recurrence, first=first, zone=ZoneInfo(event.time_zone), number=number)
