"""List events in a range, from the calendars that a user sees.

Occurrences are computed and sorted in memory, because the database cannot expand recurrence rules. Their number is
therefore limited, and complete rows are read only for the occurrences on the page.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db.models import BooleanField, ExpressionWrapper, Q

from core.handler_contract import ArgumentError, InvalidArgs, build_invalid_args
from core.text import lists
from workspace.models import CalendarEvent, CalendarEventQuerySet
from workspace.services.time import recurrence, times

MAX_OCCURRENCES = 2_000  # occurrences in one list; a person has fewer in a year
MAX_LENGTH = timedelta(days=366)  # of the time range, and of an event
_CURSOR = struct.Struct(">4s3q16s")  # the mark of the list, three moments in microseconds, and an id
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_COLUMNS = tuple("id start_at end_at start_date end_date time_zone recurrence recurrence_until excluded_starts".split())
USER, PROJECT, BY_ID = "user", "project", "calendar_id"
UNUSED_PROJECT_WARNING = "Ignored project_id: calendar_scope or calendar_id selects other calendars."


@dataclass(frozen=True, slots=True)
class TimeRange:
    """A time range in a time zone. All-day events take the days of that zone."""

    start: datetime
    end: datetime
    zone: ZoneInfo

    @property
    def day_range(self) -> tuple[date, date]:
        """The first and last day, inclusive."""
        last = self.end - timedelta(microseconds=1)
        return self.start.astimezone(self.zone).date(), last.astimezone(self.zone).date()


@dataclass(frozen=True, slots=True, order=True)
class Occurrence:
    """One occurrence of an event, ordered by start. `days` are the first and last day of an all-day event."""

    start: datetime
    id: UUID
    end: datetime
    days: tuple[date, date] | None = None


@dataclass(frozen=True, slots=True)
class OccurrencePosition:
    """The last occurrence on a page, and the time range, which must stay the same on the next page."""

    start: datetime
    end: datetime
    last: datetime
    id: UUID


def list_occurrences(queryset: CalendarEventQuerySet, span: TimeRange) -> list[Occurrence]:
    """Return the occurrences in a time range, earliest first, in one query. Raises InvalidArgs if there are too many.

    Includes occurrences that started before the range and continue into it, with their own start.
    """
    rows = list(queryset.filter(_filter_candidates(span)).order_by().values(*_COLUMNS)[: MAX_OCCURRENCES + 1])
    occurrences: list[Occurrence] = []
    for row in rows:
        occurrences += _expand_row(row, span)
        if len(rows) > MAX_OCCURRENCES or len(occurrences) > MAX_OCCURRENCES:
            message = (
                f"This time range has more than {MAX_OCCURRENCES:,} occurrences of events; send an earlier time_max."
            )
            raise build_invalid_args([ArgumentError(path="/time_max", code="too_many", message=message)])
    return sorted(occurrences)


def is_excluded(start: datetime | date, excluded_starts: Sequence[str]) -> bool:
    """Return whether the occurrence with this start was cancelled or moved away."""
    return bool(excluded_starts) and format_start(start) in excluded_starts


def format_start(start: datetime | date) -> str:
    """Return the start of an occurrence as events store it: in UTC, or as a date."""
    return times.format_time(start) if isinstance(start, datetime) else start.isoformat()


def slice_page(
    occurrences: Sequence[Occurrence], *, after: OccurrencePosition | None, limit: int
) -> tuple[list[Occurrence], bool]:
    """Return the occurrences on one page, and whether there are more."""
    remaining = [
        occurrence
        for occurrence in occurrences
        if after is None or (occurrence.start, occurrence.id) > (after.last, after.id)
    ]
    return remaining[:limit], len(remaining) > limit


def load_events(occurrences: Sequence[Occurrence], *, is_complete: bool = False) -> dict[UUID, CalendarEvent]:
    """Return the events of the occurrences by id, with the fields of a list row or with all, in one query."""
    has_text = ExpressionWrapper(~Q(description=""), output_field=BooleanField())
    queryset = CalendarEvent.objects.filter(pk__in={occurrence.id for occurrence in occurrences}).with_context()
    unread = () if is_complete else ("description", "props")
    return {row.pk: row for row in queryset.annotate(has_description=has_text).defer(*unread)}


def encode_cursor(position: OccurrencePosition, *, mark: str) -> str:
    """Return the position as an opaque cursor. `mark` identifies the list."""
    moments = [(moment - _EPOCH) // _MICROSECOND for moment in (position.start, position.end, position.last)]
    return lists.encode_bytes(_CURSOR.pack(bytes.fromhex(mark), *moments, position.id.bytes))


def decode_cursor(cursor: str, *, mark: str) -> OccurrencePosition:
    """Return the position of a cursor. Raises InvalidArgs unless the cursor belongs to the list with this mark."""
    try:
        _, *moments, id = _CURSOR.unpack(lists.decode_bytes(cursor))
        start, end, last = (_EPOCH + moment * _MICROSECOND for moment in moments)
        position = OccurrencePosition(start, end, last, UUID(bytes=id))
    except (ValueError, OverflowError, struct.error) as error:
        raise _build_cursor_error() from error
    if encode_cursor(position, mark=mark) != cursor or not timedelta() < end - start <= MAX_LENGTH:
        raise _build_cursor_error()
    return position


def _filter_candidates(span: TimeRange) -> Q:
    """Return a filter for events that may occur in a time range, including active recurring ones."""
    first, last = span.day_range
    timed = Q(start_at__lt=span.end) & (Q(end_at__gt=span.start) | ~Q(recurrence=""))
    all_day = Q(start_date__lte=last) & (Q(end_date__gte=first) | ~Q(recurrence=""))
    not_ended = Q(recurrence_until=None) | Q(recurrence_until__gte=span.start - MAX_LENGTH)
    return (timed | all_day) & not_ended


def _expand_row(row: dict[str, Any], span: TimeRange) -> Iterator[Occurrence]:
    zone, until = ZoneInfo(row["time_zone"]), row["recurrence_until"]
    if row["start_date"] is None:
        first = (row["start_at"], row["end_at"])
        for start, end in recurrence.list_occurrences(
            row["recurrence"], first=first, zone=zone, after=span.start, before=span.end, until=until
        ):
            if not is_excluded(start, row["excluded_starts"]):
                yield Occurrence(start, row["id"], end)
        return
    length, (begin, last) = row["end_date"] - row["start_date"], span.day_range
    for day in recurrence.list_days(
        row["recurrence"],
        first=row["start_date"],
        after=begin - length,
        before=last + timedelta(days=1),
        until=until and until.astimezone(zone).date(),
    ):
        if is_excluded(day, row["excluded_starts"]):
            continue
        start = times.get_day_start(day, span.zone)
        end = times.get_day_start(day + length + timedelta(days=1), span.zone)
        yield Occurrence(start, row["id"], end, days=(day, day + length))


def _build_cursor_error() -> InvalidArgs:
    message = (
        "cursor does not belong to this list; send next_cursor of the previous page unchanged with the same filters, "
        "or leave it out."
    )
    return build_invalid_args([ArgumentError(path="/cursor", code="malformed_cursor", message=message)])


@dataclass(frozen=True, slots=True)
class CalendarScope:
    """The scope from calendar_scope, project_id and calendar_id, and warnings about ignored arguments."""

    name: str
    project_id: str | None = None
    warnings: tuple[str, ...] = ()


def parse_scope(args: Mapping[str, Any]) -> CalendarScope:
    """Return the requested scope. Without calendar_scope the ids decide. Raises InvalidArgs."""
    project_id, calendar_id = args.get("project_id"), args.get("calendar_id")
    name = args.get("calendar_scope") or (BY_ID if calendar_id else PROJECT if project_id else USER)
    if name == PROJECT:
        if project_id is None:
            raise _build_missing_error(
                "project_id", "calendar_scope project requires project_id; send it, or leave the scope out."
            )
        return CalendarScope(PROJECT, project_id)
    if name == BY_ID and calendar_id is None:
        raise _build_missing_error(
            "calendar_id", "calendar_scope calendar_id needs calendar_id; send primary for the user's own."
        )
    return CalendarScope(name, warnings=(UNUSED_PROJECT_WARNING,) if project_id else ())


def _build_missing_error(name: str, message: str) -> Exception:
    return build_invalid_args([ArgumentError(path=f"/{name}", code="required", message=message)])
