"""When something comes again: at the same wall time of a zone, whatever its clocks do.

A time that the clocks skip moves forward by what they skip, of one that comes twice the first is taken (services/
times.py). What comes monthly on a day that a month does not have comes on that month's last day: the 31st is 30 April,
and 28 or 29 February. The first time is always one of the times, also where its rule would not have it: on a Saturday
begins what comes on weekdays, and goes on on Monday.
"""

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from itertools import dropwhile, islice, takewhile
from typing import Any
from zoneinfo import ZoneInfo

from dateutil import rrule
from dateutil.relativedelta import relativedelta

from workspace.models import Recurrence
from workspace.services import times

Span = tuple[datetime, datetime]  # from a moment to another, the second not included

MOST = 1_000  # instances that one call returns, the earliest: a daily rule over more than two years

_DAY = timedelta(days=1)
_EARLIEST = datetime.min.replace(tzinfo=UTC)
_WORKDAYS = (rrule.MO, rrule.TU, rrule.WE, rrule.TH, rrule.FR)
_EVERY_MONTH_HAS = 28  # days

# Each rule in the words of RFC 5545, and after how many days it begins anew.
RULES: dict[str, tuple[dict[str, Any], int]] = {
    Recurrence.DAILY: ({"freq": rrule.DAILY}, 1),
    Recurrence.WEEKDAYS: ({"freq": rrule.WEEKLY, "byweekday": _WORKDAYS}, 7),
    Recurrence.WEEKLY: ({"freq": rrule.WEEKLY}, 7),
    Recurrence.BIWEEKLY: ({"freq": rrule.WEEKLY, "interval": 2}, 14),
    Recurrence.MONTHLY: ({"freq": rrule.MONTHLY, "bysetpos": -1}, 0),  # months differ
}


def spans(
    rule: str, *, first: Span, zone: ZoneInfo, after: datetime, before: datetime, until: datetime | None = None
) -> list[Span]:
    """Return the instances, each as long as the first, that have a part between `after` and `before`; at most MOST.

    All moments are in UTC. `until` is the last at which one may begin. Without a rule there is but the first.
    """
    begin, end = first
    length = end - begin
    begins = _begins(rule, first=begin, zone=zone, after=after - min(length, after - _EARLIEST))
    wanted = takewhile(lambda start: start < before and (until is None or start <= until), begins)
    return list(islice((span for start in wanted if (span := (start, start + length))[1] > after), MOST))


def days(rule: str, *, first: date, after: date, before: date, until: date | None = None) -> list[date]:
    """Return the days on which something begins that takes whole days, of those from `after` to before `before`."""
    begins = _day_begins(rule, first, after)
    wanted = takewhile(lambda day: day < before and (until is None or day <= until), begins)
    return list(islice((day for day in wanted if day >= after), MOST))


def nth(rule: str, *, first: datetime, zone: ZoneInfo, number: int) -> datetime:
    """Return when the instance of a number begins, the first being 1; the last one before the year 10000 at most."""
    *_, last = islice(_begins(rule, first=first, zone=zone, after=first), number)
    return last


def _begins(rule: str, *, first: datetime, zone: ZoneInfo, after: datetime) -> Iterator[datetime]:
    """Yield the first moment, then all others from shortly before `after` on."""
    yield first
    with suppress(OverflowError, ValueError):  # beyond the years 1 to 9999 nothing comes again
        wall = first.astimezone(zone).replace(tzinfo=None)
        moments = (times.at_wall(each, zone) for each in _walls(rule, wall, after.replace(tzinfo=None)))
        yield from dropwhile(lambda each: each <= first, moments)


def _day_begins(rule: str, first: date, after: date) -> Iterator[date]:
    yield first
    walls = _walls(rule, datetime.combine(first, time()), datetime.combine(after, time()))
    yield from dropwhile(lambda day: day <= first, (wall.date() for wall in walls))


def _walls(rule: str, first: datetime, after: datetime) -> Iterator[datetime]:
    """Yield the wall times from shortly before `after` (give or take a day) on, or from the first, without end.

    The rule is begun whole rounds later, so that what began long ago costs no more than what begins now.
    """
    if not rule:
        return
    words, round_days = RULES[rule]
    start = first
    if rule == Recurrence.MONTHLY:
        months = 12 * (after.year - first.year) + after.month - first.month - 1
        start = first.replace(day=1) + relativedelta(months=max(months, 0))
        words = words | {"bymonthday": range(min(first.day, _EVERY_MONTH_HAS), first.day + 1)}
    elif (gone := (after - first) // _DAY - round_days) > 0:
        start = first + _DAY * (gone // round_days * round_days)
    part = timedelta(microseconds=first.microsecond)  # dateutil's rules know no parts of a second
    yield from (each + part for each in rrule.rrule(dtstart=start, **words))
