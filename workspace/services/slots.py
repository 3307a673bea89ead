"""Free time slots: working hours minus busy time. Pure arithmetic on time spans."""

from collections.abc import Collection, Iterable, Iterator
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from workspace.models import week
from workspace.models.week import Week
from workspace.services import times
from workspace.services.recurrence import Span

_DAY = timedelta(days=1)


def free(hours: Iterable[Span], busy: Iterable[Span], *, least: timedelta) -> list[Span]:
    """Return the parts of the hours that are not busy and at least `min_length` long, in order.

    Each slot is as long as possible: it ends at busy time or at the end of the hours.
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
    """Return the spans in order, with overlapping and adjacent ones merged and empty ones removed."""
    whole: list[Span] = []
    for begin, end in sorted(span for span in spans if span[0] < span[1]):
        if whole and begin <= whole[-1][1]:
            whole[-1] = whole[-1][0], max(end, whole[-1][1])
        else:
            whole.append((begin, end))
    return whole


def working(hours: Week, *, zone: ZoneInfo, after: datetime, before: datetime) -> Iterator[Span]:
    """Yield the working hours between two moments in UTC. The hours are local times of the zone."""
    for day in _days(after.astimezone(zone).date(), before.astimezone(zone).date()):
        for begin, end in week.spans(hours, day.weekday()):
            start, stop = (_moment(day, minutes, zone) for minutes in (begin, end))
            yield max(start, after), min(stop, before)


def preferring(hours: Week, preferred: Collection[int], *, days_off: bool) -> Week:
    """Return a week with only the preferred hours (9 is 9:00 to 10:00), on working days and, if asked, on days off."""
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
