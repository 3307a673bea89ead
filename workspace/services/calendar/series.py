"""A part of a recurring event: one occurrence, or one and all later ones.

An occurrence that is cancelled or becomes a separate event is excluded from the series. A series that is split ends
before the occurrence, and a new one goes on from there.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, NoReturn, cast
from uuid import uuid4
from zoneinfo import ZoneInfo

from core.handler_contract import ArgumentError, build_invalid_args
from workspace.models import CalendarEvent, Recurrence, TaskEventKind
from workspace.services.calendar import event_list, event_times
from workspace.services.entities.serialization import quote_name
from workspace.services.time import recurrence, times
from workspace.services.time.times import LocalTimeParser

THIS, FOLLOWING, ALL = "this", "following", "all"
ARGUMENT = "occurrence_start"
ARGUMENTS = ("scope", ARGUMENT)
OTHERS_STAY, NONE_LEFT = "the others stay.", "it was the last one, so the series is deleted."
RECURRENCE_FIELDS = ("recurrence", "recurrence_until")
SHOWN = 3  # occurrences that an error lists
_SEARCHED = timedelta(days=62)  # from where an error lists them: two occurrences of any rule
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class SeriesPart:
    """An occurrence by its start, a date for an event of whole days; with `following`, all later ones as well."""

    start: datetime | date
    following: bool

    def format_start(self, zone: ZoneInfo) -> str:
        """Return the start as text."""
        return times.format_time(self.start, zone=zone) if isinstance(self.start, datetime) else self.start.isoformat()

    def describe_part(self, title: str, zone: ZoneInfo) -> str:
        """Return the part in words, for messages."""
        what = "and all later occurrences" if self.following else "only"
        return f"the occurrence {self.format_start(zone)} {what} of {quote_name(title)}"

    def describe_removal(self, title: str, zone: ZoneInfo, *, is_left: bool = True) -> str:
        """Return the sentence that the part was deleted."""
        return f"Deleted {self.describe_part(title, zone)}; {OTHERS_STAY if is_left else NONE_LEFT}"

    def describe_split(self, title: str, zone: ZoneInfo, row: str, *, is_left: bool = True) -> str:
        """Return a sentence that the part has become a separate row, such as "the task <id>"."""
        they_are = "are" if self.following else "is"
        return f"T{self.describe_part(title, zone)[1:]} {they_are} now {row}; {OTHERS_STAY if is_left else NONE_LEFT}"


def parse_part(
    event: CalendarEvent, args: Mapping[str, Any], clock: LocalTimeParser, *, at: datetime
) -> SeriesPart | None:
    """Return the part of a series that a call is about, or None for all of it. Raises InvalidArgs."""
    scope = args.get("scope", ALL)
    if not event.recurrence:
        return None
    if scope == ALL:
        _refuse_occurrence_of_all(args)
        return None
    if args.get(ARGUMENT) is None:
        message = f"Send {ARGUMENT} with scope {scope}: the start of one of its occurrences."
        _raise_with_occurrences(event, clock, message, code="missing", near=at)
    when = cast("datetime | date", clock.parse(args, ARGUMENT))
    clock.raise_errors()
    start = find_start(event, when, clock.zone)
    if start is None:
        message = f"It has no occurrence at that {ARGUMENT}."
        _raise_with_occurrences(event, clock, message, code="no_occurrence", near=when)
    return None if scope == FOLLOWING and _is_first(event, start, clock.zone) else SeriesPart(start, scope == FOLLOWING)


def _refuse_occurrence_of_all(args: Mapping[str, Any]) -> None:
    """Raise InvalidArgs if a call names one occurrence, but does not say that it is not about all of them."""
    if args.get(ARGUMENT) is not None:
        message = (
            f"{ARGUMENT} names one occurrence: send scope this for only that one, or following for all later ones as "
            "well."
        )
        raise build_invalid_args(
            [
                ArgumentError(
                    path="/scope", code="missing", message=message, expected=[THIS, FOLLOWING], send={"scope": THIS}
                )
            ]
        )


def refuse_recurrence(args: Mapping[str, Any]) -> None:
    """Raise InvalidArgs if args for one occurrence say how it recurs."""
    if not args.keys().isdisjoint(RECURRENCE_FIELDS):
        message = "One occurrence does not recur; leave out recurrence and recurrence_until, or send another scope."
        raise build_invalid_args([ArgumentError(path="/scope", code="not_recurring", message=message)])


def build_event(event: CalendarEvent, part: SeriesPart, *, by: str, at: datetime) -> CalendarEvent:
    """Return an unsaved event with the times of the part: a single one, or a series that goes on from there."""
    new = CalendarEvent.objects.get(pk=event.pk)
    new.pk, new.created_by, new.created_at, new.updated_at = uuid4(), by, at, at
    new.project_name = event.project_name
    if isinstance(part.start, datetime):
        length = cast("datetime", event.end_at) - cast("datetime", event.start_at)
        new.start_at, new.end_at = part.start, part.start + length
    else:
        days = cast("date", event.end_date) - cast("date", event.start_date)
        new.start_date, new.end_date = part.start, part.start + days
    if part.following:
        new.excluded_starts = [text for text in event.excluded_starts if text > event_list.format_start(part.start)]
    else:
        new.recurrence, new.recurrence_until, new.excluded_starts = "", None, []
    return new


def remove_part(event: CalendarEvent, part: SeriesPart, *, at: datetime) -> None:
    """Take the part out of the series and save it."""
    event.updated_at = at
    if not part.following:
        event.excluded_starts = sorted({*event.excluded_starts, event_list.format_start(part.start)})
        event.save(update_fields=["excluded_starts", "updated_at"])
        return
    if isinstance(part.start, datetime):
        event.recurrence_until = part.start - timedelta(seconds=1)
    else:
        event.recurrence_until = event_times.to_end_moment(part.start - _DAY, ZoneInfo(event.time_zone))
    event.save(update_fields=["recurrence_until", "updated_at"])


def move_excluded_starts(event: CalendarEvent, *, before: CalendarEvent) -> None:
    """Keep the same occurrences excluded after the event was moved, and forget those before its new start.

    `before` is the event as it was. Does not save it. If the rule changed, the same days stay excluded.
    """
    if not event.recurrence:
        event.excluded_starts = []
        return
    rule = event.recurrence if event.recurrence == before.recurrence else Recurrence.DAILY
    (old_first, old_zone), (first, zone) = _get_first(before), _get_first(event)
    passed = recurrence.count_periods(rule, old_first.astimezone(old_zone).date(), first.astimezone(zone).date())
    numbers = []
    for text in event.excluded_starts:
        start = times.parse_time(f"{text}T00:00Z" if before.is_all_day else text)
        if rule == before.recurrence:
            numbers.append(recurrence.find_number(rule, first=old_first, zone=old_zone, start=start))
        else:
            numbers.append((start.astimezone(old_zone).date() - old_first.astimezone(old_zone).date()).days)
    starts = [
        recurrence.get_start(rule, first=first, zone=zone, number=number)
        for number in recurrence.renumber(numbers, passed=passed)
    ]
    event.excluded_starts = [event_list.format_start(each.date() if event.is_all_day else each) for each in starts]


def _get_first(event: CalendarEvent) -> tuple[datetime, ZoneInfo]:
    """Return the start of the first occurrence, and the zone whose local times recur; UTC for whole days."""
    if event.start_date is not None:
        return datetime.combine(event.start_date, time(), UTC), ZoneInfo("UTC")
    return cast("datetime", event.start_at), ZoneInfo(event.time_zone)


def find_start(event: CalendarEvent, when: datetime | date, zone: ZoneInfo) -> datetime | date | None:
    """Return the start of the occurrence at that time, or of the first one on that day.

    The event of a due date ends at it, so that time is also understood.
    """
    if isinstance(when, datetime) and event.is_all_day:
        when = when.astimezone(zone).date()
    to_due = timedelta()
    if event.task_event_kind == TaskEventKind.DUE:
        to_due = cast("datetime", event.end_at) - cast("datetime", event.start_at)
    return next(
        (
            start
            for start in _list_starts(event, after=_get_moment(when, zone) - _DAY, length=2 * _DAY)
            if (
                when in (start, start + to_due)
                if isinstance(when, datetime)
                else _get_day(start + to_due, zone) == when
            )
        ),
        None,
    )


def _get_moment(when: datetime | date, zone: ZoneInfo) -> datetime:
    return when if isinstance(when, datetime) else datetime(when.year, when.month, when.day, tzinfo=zone)


def _get_day(start: datetime | date, zone: ZoneInfo) -> date:
    return start.astimezone(zone).date() if isinstance(start, datetime) else start


def _is_first(event: CalendarEvent, start: datetime | date, zone: ZoneInfo) -> bool:
    """Return whether no occurrence before this one is left."""
    first = _get_moment(cast("datetime | date", event.start_at or event.start_date), zone) - _DAY
    return _list_starts(event, after=first, length=_get_moment(start, zone) - first + 2 * _DAY)[0] == start


def _list_starts(event: CalendarEvent, *, after: datetime, length: timedelta) -> list[datetime | date]:
    """Return the starts of the occurrences that are not excluded, for some time from a moment."""
    starts: list[datetime | date]
    zone, until = ZoneInfo(event.time_zone), event.recurrence_until
    if event.start_at is not None and event.end_at is not None:
        spans = recurrence.list_occurrences(
            event.recurrence,
            first=(event.start_at, event.end_at),
            zone=zone,
            after=after,
            before=after + length,
            until=until,
        )
        starts = [start for start, _ in spans]
    else:
        starts = [
            *recurrence.list_days(
                event.recurrence,
                first=cast("date", event.start_date),
                after=after.date(),
                before=(after + length).date(),
                until=until and until.astimezone(zone).date(),
            )
        ]
    return [start for start in starts if not event_list.is_excluded(start, event.excluded_starts)]


def _raise_with_occurrences(
    event: CalendarEvent, clock: LocalTimeParser, message: str, *, code: str, near: datetime | date
) -> NoReturn:
    """Raise InvalidArgs with the first occurrences from a day before that time as what to send."""
    texts = describe_next_starts(event, clock, near=near)
    hint = f" It occurs at {', '.join(texts)}." if texts else ""
    raise build_invalid_args(
        [ArgumentError(path=f"/{ARGUMENT}", code=code, message=message + hint, expected=texts or None)]
    )


def describe_next_starts(event: CalendarEvent, clock: LocalTimeParser, *, near: datetime | date) -> list[str]:
    """Return the starts of the first occurrences from a day before that time, as what to send."""
    first = cast("datetime | date", event.start_at or event.start_date)
    after = max(_get_moment(near, clock.zone) - _DAY, _get_moment(first, clock.zone) - _DAY)
    starts = _list_starts(event, after=after, length=_SEARCHED)[:SHOWN]
    return [SeriesPart(start, following=False).format_start(clock.zone) for start in starts]
