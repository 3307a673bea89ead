"""Free time slots: working hours minus busy time. Pure arithmetic on time spans."""

from collections.abc import Collection, Iterable, Iterator
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from workspace.models import working_week
from workspace.models.working_week import Week
from workspace.services.time import times
from workspace.services.time.recurrence import MomentSpan

_DAY = timedelta(days=1)


def find_free_slots(
    hours: Iterable[MomentSpan], busy: Iterable[MomentSpan], *, min_length: timedelta
) -> list[MomentSpan]:
    """Return the parts of the hours that are not busy and at least `min_length` long, in order.

    Each slot is as long as possible: it ends at busy time or at the end of the hours.
    """
    busy_spans = merge_spans(busy)
    slots: list[MomentSpan] = []
    index = 0
    for begin, end in merge_spans(hours):
        while index < len(busy_spans) and busy_spans[index][1] <= begin:
            index += 1
        slots += _subtract_spans(begin, end, busy_spans[index:])
    return [slot for slot in slots if slot[1] - slot[0] >= min_length]


def merge_spans(spans: Iterable[MomentSpan]) -> list[MomentSpan]:
    """Return the spans in order, with overlapping and adjacent ones merged and empty ones removed."""
    merged: list[MomentSpan] = []
    for begin, end in sorted(span for span in spans if span[0] < span[1]):
        if merged and begin <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((begin, end))
    return merged


def iter_working_spans(hours: Week, *, zone: ZoneInfo, after: datetime, before: datetime) -> Iterator[MomentSpan]:
    """Yield the working hours between two moments in UTC. The hours are local times of the zone."""
    for day in _iter_days(after.astimezone(zone).date(), before.astimezone(zone).date()):
        for begin, end in working_week.parse_spans(hours, day.weekday()):
            start, stop = (_to_moment(day, minutes, zone) for minutes in (begin, end))
            yield max(start, after), min(stop, before)


def build_preferred_week(hours: Week, preferred: Collection[int], *, include_days_off: bool) -> Week:
    """Return a week with only the preferred hours (9 is 9:00 to 10:00), on working days and, if asked, on days off."""
    spans = [f"{hour:02}:00-{hour + 1:02}:00" for hour in sorted(set(preferred))]
    return {day: spans if include_days_off or hours.get(day) else [] for day in working_week.WEEKDAYS}


def _subtract_spans(begin: datetime, end: datetime, busy_spans: Iterable[MomentSpan]) -> Iterator[MomentSpan]:
    for start, stop in busy_spans:
        if start >= end:
            break
        if begin < start:
            yield begin, start
        begin = max(begin, stop)
    if begin < end:
        yield begin, end


def _iter_days(first: date, last: date) -> Iterator[date]:
    return (first + _DAY * number for number in range((last - first).days + 1))


def _to_moment(day: date, minutes: int, zone: ZoneInfo) -> datetime:
    return times.localize(datetime.combine(day, time()) + timedelta(minutes=minutes), zone)
