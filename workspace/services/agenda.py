"""Calendar events in a time range: single events and the occurrences of recurring ones.

Occurrences are computed and sorted in memory, because the database cannot expand recurrence rules. Their number is
therefore limited, and complete rows are read only for the occurrences on the page.
"""

import base64
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db.models import BooleanField, ExpressionWrapper, Q

from workspace.errors import FieldError, Invalid, invalid
from workspace.models import CalendarEvent, CalendarEventQuerySet
from workspace.services import recurrence, times, wallclock

MOST = 2_000  # occurrences in one list; a person has fewer in a year
LONGEST = timedelta(days=366)  # of the time range, and of an event

_COLUMNS = ("id", "start_at", "end_at", "start_date", "end_date", "time_zone", "recurrence", "recurrence_until")


@dataclass(frozen=True, slots=True)
class Span:
    """A time range in a time zone. All-day events take the days of that zone."""

    start: datetime
    end: datetime
    zone: ZoneInfo

    @property
    def days(self) -> tuple[date, date]:
        """The first and last day, inclusive."""
        last = self.end - timedelta(microseconds=1)
        return self.start.astimezone(self.zone).date(), last.astimezone(self.zone).date()


@dataclass(frozen=True, slots=True, order=True)
class Time:
    """One occurrence of an event, ordered by start. `days` are the first and last day of an all-day event."""

    start: datetime
    id: UUID
    end: datetime
    days: tuple[date, date] | None = None


@dataclass(frozen=True, slots=True)
class Position:
    """The last occurrence on a page, and the time range, which must stay the same on the next page."""

    start: datetime
    end: datetime
    last: datetime
    id: UUID


def times_of(found: CalendarEventQuerySet, span: Span) -> list[Time]:
    """Return the occurrences in a time range, earliest first, in one query. Raises InvalidArgs if there are too many.

    Includes occurrences that started before the range and continue into it, with their own start.
    """
    rows = list(found.filter(_touching(span)).order_by().values(*_COLUMNS)[: MOST + 1])
    together: list[Time] = []
    for row in rows:
        together += _times(row, span)
        if len(rows) > MOST or len(together) > MOST:
            message = f"This time range has more than {MOST:,} events; send an earlier time_max."
            raise invalid([FieldError(path="/time_max", code="too_many", message=message)])
    return sorted(together)


def page(together: Sequence[Time], *, after: Position | None, limit: int) -> tuple[list[Time], bool]:
    """Return the occurrences on one page, and whether there are more."""
    left = [each for each in together if after is None or (each.start, each.id) > (after.last, after.id)]
    return left[:limit], len(left) > limit


def rows(shown: Sequence[Time]) -> dict[UUID, CalendarEvent]:
    """Return the events of the occurrences by id, with the fields of a list row, in one query."""
    has_text = ExpressionWrapper(~Q(description=""), output_field=BooleanField())
    found = CalendarEvent.objects.filter(pk__in={each.id for each in shown}).with_context()
    return {row.pk: row for row in found.annotate(has_description=has_text).defer("description", "props")}


def encode(position: Position, *, mark: str) -> str:
    """Return the position as an opaque cursor (base64url without padding). `mark` identifies the list."""
    moments = [times.write(each) for each in (position.start, position.end, position.last)]
    text = json.dumps([mark, *moments, position.id.hex], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode(cursor: str, *, mark: str) -> Position:
    """Return the position of a cursor. Raises InvalidArgs unless the cursor belongs to the list with this mark."""
    try:
        _, *moments, id = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        start, end, last = map(times.read, moments)
        position = Position(start, end, last, UUID(hex=id))
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise _malformed() from error
    if encode(position, mark=mark) != cursor or not timedelta() < end - start <= LONGEST:
        raise _malformed()
    return position


def _touching(span: Span) -> Q:
    """Return a filter for events that may occur in a time range, including active recurring ones."""
    first, last = span.days
    timed = Q(start_at__lt=span.end) & (Q(end_at__gt=span.start) | ~Q(recurrence=""))
    all_day = Q(start_date__lte=last) & (Q(end_date__gte=first) | ~Q(recurrence=""))
    going_on = Q(recurrence_until=None) | Q(recurrence_until__gte=span.start - LONGEST)
    return (timed | all_day) & going_on


def _times(row: dict[str, Any], span: Span) -> Iterator[Time]:
    zone, until = ZoneInfo(row["time_zone"]), row["recurrence_until"]
    if row["start_date"] is None:
        first = (row["start_at"], row["end_at"])
        for start, end in recurrence.spans(
            row["recurrence"], first=first, zone=zone, after=span.start, before=span.end, until=until
        ):
            yield Time(start, row["id"], end)
        return
    length, (begin, last) = row["end_date"] - row["start_date"], span.days
    for day in recurrence.days(
        row["recurrence"],
        first=row["start_date"],
        after=begin - length,
        before=last + timedelta(days=1),
        until=until and until.astimezone(zone).date(),
    ):
        start = wallclock.beginning(day, span.zone)
        end = wallclock.beginning(day + length + timedelta(days=1), span.zone)
        yield Time(start, row["id"], end, days=(day, day + length))


def _malformed() -> Invalid:
    message = (
        "cursor does not belong to this list; send next_cursor of the previous page unchanged with the same filters, "
        "or leave it out."
    )
    return invalid([FieldError(path="/cursor", code="malformed_cursor", message=message)])
