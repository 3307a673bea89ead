"""Free time: the hours in which somebody can be asked, minus what is in the way. Arithmetic on spans, without a row."""

from collections.abc import Collection, Iterable, Iterator
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from workspace.models import week
from workspace.models.week import Week
from workspace.services import times
from workspace.services.recurrence import Span

_DAY = timedelta(days=1)


def free(hours: Iterable[Span], busy: Iterable[Span], *, least: timedelta) -> list[Span]:
    """Return all that is left of the hours without the busy time, in order, where it is as long as is needed.

    Each slot is as long as can be: before and after it lies busy time, or no working hour.
    """
    taken = joined(busy)
    slots: list[Span] = []
    at = 0
    for begin, end in joined(hours):
        while at < len(taken) and taken[at][1] <= begin:
            at += 1
        slots += _left(begin, end, taken[at:])
    return [slot for slot in slots if slot[1] - slot[0] >= least]


def joined(spans: Iterable[Span]) -> list[Span]:
    """Return the same time in as few spans as can be, in order: those that touch are one, those of no length none."""
    whole: list[Span] = []
    for begin, end in sorted(span for span in spans if span[0] < span[1]):
        if whole and begin <= whole[-1][1]:
            whole[-1] = whole[-1][0], max(end, whole[-1][1])
        else:
            whole.append((begin, end))
    return whole


def working(hours: Week, *, zone: ZoneInfo, after: datetime, before: datetime) -> Iterator[Span]:
    """Yield the working hours between two moments, in UTC: wall time of the zone, whatever its clocks do that day."""
    for day in _days(after.astimezone(zone).date(), before.astimezone(zone).date()):
        for begin, end in week.spans(hours, day.weekday()):
            start, stop = (_moment(day, minutes, zone) for minutes in (begin, end))
            yield max(start, after), min(stop, before)


def preferring(hours: Week, preferred: Collection[int], *, days_off: bool) -> Week:
    """Return a week of these hours of the day (9 is 9:00 to 10:00) on working days and, if wanted, on days off."""
    spans = [f"{hour:02}:00-{hour + 1:02}:00" for hour in sorted(set(preferred))]
    return {day: spans if days_off or hours.get(day) else [] for day in week.WEEKDAYS}


def _left(begin: datetime, end: datetime, taken: Iterable[Span]) -> Iterator[Span]:
    for start, stop in taken:
        if start >= end:
            break
        if begin < start:
            yield begin, start
        begin = max(begin, stop)
    if begin < end:
        yield begin, end


def _days(first: date, last: date) -> Iterator[date]:
    return (first + _DAY * number for number in range((last - first).days + 1))


def _moment(day: date, minutes: int, zone: ZoneInfo) -> datetime:
    return times.at_wall(datetime.combine(day, time()) + timedelta(minutes=minutes), zone)
