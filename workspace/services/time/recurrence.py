"""Expand recurrence rules: occurrences have the same local time in a zone, across daylight saving changes.

A local time that the clocks skip moves forward by the gap, and the first of two ambiguous times is used (RFC 5545,
section 3.3.5). A monthly rule on a day that a month lacks uses that month's last day: the 31st becomes 30 April. The
first occurrence always counts, even if the rule excludes it: a weekday rule that starts on a Saturday continues on
Monday.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from itertools import dropwhile, islice, takewhile
from typing import Any
from zoneinfo import ZoneInfo

from dateutil import rrule
from dateutil.relativedelta import relativedelta

from workspace.models import Recurrence
from workspace.services.time import times

MomentSpan = tuple[datetime, datetime]  # start and end, end exclusive

MAX_OCCURRENCES = 1_000  # occurrences that one call returns, the earliest; a daily rule over more than two years

_DAY = timedelta(days=1)
_EARLIEST = datetime.min.replace(tzinfo=UTC)
_LATEST = datetime.max.replace(tzinfo=UTC)
_WORKDAYS = (rrule.MO, rrule.TU, rrule.WE, rrule.TH, rrule.FR)
_SHORTEST_MONTH_DAYS = 28  # days

# Each rule as RFC 5545 rule parts, and its period in days.
RULES: dict[str, tuple[dict[str, Any], int]] = {
    Recurrence.DAILY: ({"freq": rrule.DAILY}, 1),
    Recurrence.WEEKDAYS: ({"freq": rrule.WEEKLY, "byweekday": _WORKDAYS}, 7),
    Recurrence.WEEKLY: ({"freq": rrule.WEEKLY}, 7),
    Recurrence.BIWEEKLY: ({"freq": rrule.WEEKLY, "interval": 2}, 14),
    Recurrence.MONTHLY: ({"freq": rrule.MONTHLY, "bysetpos": -1}, 0),  # months differ
}


def list_occurrences(
    rule: str, *, first: MomentSpan, zone: ZoneInfo, after: datetime, before: datetime, until: datetime | None = None
) -> list[MomentSpan]:
    """Return at most MAX_OCCURRENCES occurrences that overlap the time from `after` to `before`.

    All times are in UTC. Each is as long as the first. No occurrence starts after `until`. Without a rule
    there is only the first.
    """
    begin, end = first
    length = end - begin
    starts = _iter_starts(rule, first=begin, zone=zone, after=after - min(length, after - _EARLIEST))
    starts_in_window = takewhile(lambda start: start < before and (until is None or start <= until), starts)
    return list(
        islice((span for start in starts_in_window if (span := (start, start + length))[1] > after), MAX_OCCURRENCES)
    )


def list_days(rule: str, *, first: date, after: date, before: date, until: date | None = None) -> list[date]:
    """Return the start days of an all-day event, from `after` (inclusive) to `before` (exclusive)."""
    starts = _iter_start_days(rule, first, after)
    days_in_window = takewhile(lambda day: day < before and (until is None or day <= until), starts)
    return list(islice((day for day in days_in_window if day >= after), MAX_OCCURRENCES))


def get_nth_start(rule: str, *, first: datetime, zone: ZoneInfo, number: int) -> datetime:
    """Return the start of occurrence `number`, counted from 1, or the last start before the year 10000."""
    *_, last = islice(_iter_starts(rule, first=first, zone=zone, after=first), number)
    return last


def get_start(rule: str, *, first: datetime, zone: ZoneInfo, number: int) -> datetime:
    """Return the start of occurrence `number`, counted from 0, without expanding those before it.

    After the year 9999 it is the latest time there is.
    """
    if number == 0:
        return first
    try:
        return times.localize(_get_local_start(rule, first.astimezone(zone).replace(tzinfo=None), number), zone)
    except (OverflowError, ValueError):
        return _LATEST


def find_number(rule: str, *, first: datetime, zone: ZoneInfo, start: datetime) -> int:
    """Return the number of the first occurrence that does not start before `start`, counted from 0."""
    days = max((start - first).days, 0) + 2  # no rule has more than one occurrence a day
    return bisect_left(range(days), start, key=lambda number: get_start(rule, first=first, zone=zone, number=number))


def count_periods(rule: str, old: date, new: date) -> int:
    """Return by how many whole periods of a rule a series moves if its first day changes; negative if it is earlier.

    Within a period, each occurrence moves along: from Tuesdays to Thursdays. A whole period leaves occurrences out.
    """
    if rule == Recurrence.MONTHLY:
        moved = relativedelta(new, old)
        return 12 * moved.years + moved.months
    if rule == Recurrence.WEEKDAYS:
        return _count_workdays(new) - _count_workdays(old) + _is_weekend(old) - _is_weekend(new)
    return int((new - old).days / RULES[rule][1])  # towards zero


def renumber(numbers: Iterable[int], *, passed: int) -> list[int]:
    """Return the numbers of cancelled occurrences after a series has moved by whole periods, without those passed.

    The occurrence that was moved to is no longer cancelled: the caller wants the series to begin there.
    """
    first = 1 if passed > 0 else 0
    return [number - passed for number in numbers if number - passed >= first]


def _count_workdays(day: date) -> int:
    """Return how many days from Monday to Friday there are before a day, from year 1, which began on a Monday."""
    weeks, weekday = divmod(day.toordinal() - 1, 7)
    return len(_WORKDAYS) * weeks + min(weekday, len(_WORKDAYS))


def _is_weekend(day: date) -> bool:
    return day.weekday() >= len(_WORKDAYS)


def _get_local_start(rule: str, first: datetime, number: int) -> datetime:
    if rule == Recurrence.MONTHLY:
        return first + relativedelta(months=number)
    if rule != Recurrence.WEEKDAYS:
        return first + _DAY * (RULES[rule][1] * number)
    if first.weekday() >= len(_WORKDAYS):  # the first counts even on a weekend, and Monday is next
        first += _DAY * (7 - first.weekday())
        number -= 1
    weeks, weekday = divmod(first.weekday() + number, len(_WORKDAYS))
    return first + _DAY * (7 * weeks + weekday - first.weekday())


def _iter_starts(rule: str, *, first: datetime, zone: ZoneInfo, after: datetime) -> Iterator[datetime]:
    """Yield the first start, then all other starts from shortly before `after`."""
    yield first
    with suppress(OverflowError, ValueError):  # no occurrences outside the years 1 to 9999
        wall = first.astimezone(zone).replace(tzinfo=None)
        moments = (
            times.localize(moment, zone) for moment in _iter_local_starts(rule, wall, after.replace(tzinfo=None))
        )
        yield from dropwhile(lambda moment: moment <= first, moments)


def _iter_start_days(rule: str, first: date, after: date) -> Iterator[date]:
    yield first
    walls = _iter_local_starts(rule, datetime.combine(first, time()), datetime.combine(after, time()))
    yield from dropwhile(lambda day: day <= first, (wall.date() for wall in walls))


def _iter_local_starts(rule: str, first: datetime, after: datetime) -> Iterator[datetime]:
    """Yield local start times without end, from about a day before `after` or from the first.

    Skips whole periods of the rule, so that an old event costs no more than a new one.
    """
    if not rule:
        return
    rule_parts, period_days = RULES[rule]
    start = first
    if rule == Recurrence.MONTHLY:
        months = 12 * (after.year - first.year) + after.month - first.month - 1
        start = first.replace(day=1) + relativedelta(months=max(months, 0))
        rule_parts = rule_parts | {"bymonthday": range(min(first.day, _SHORTEST_MONTH_DAYS), first.day + 1)}
    elif (elapsed_days := (after - first) // _DAY - period_days) > 0:
        start = first + _DAY * (elapsed_days // period_days * period_days)
    fraction = timedelta(microseconds=first.microsecond)  # dateutil rules drop fractions of a second
    yield from (local_start + fraction for local_start in rrule.rrule(dtstart=start, **rule_parts))
