"""Read a day of a week, month, quarter or year in words, such as "end of next week" or "Q1 2027"."""

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import date, timedelta

from dateutil.relativedelta import relativedelta

START, END = "start", "end"  # which end of a range of time an argument is

_FRIDAY, _WEDNESDAY, _SATURDAY = 4, 2, 5
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_PART_BY_WORD = {
    **dict.fromkeys(("first day", "beginning", "start", "early"), START),
    **dict.fromkeys(("mid", "middle"), "middle"),
    **dict.fromkeys(("last day", "end", "late", "close"), END),
}
_PERIOD = re.compile(
    rf"(?:(?:in|during|for|within|from) )?(?:(?P<part>{'|'.join(_PART_BY_WORD)})(?:[ -]of|[ -]in)?[ -])?"
    r"(?:(?:(?P<which>this|next|last|previous|current|following) )?(?P<unit>weekend|week|month|quarter|year)"
    rf"|(?P<month>{'|'.join(_MONTHS)})[a-z]{{0,6}}(?: (?P<year_of_month>[0-9]{{4}}))?"
    r"|q(?P<quarter>[1-4])(?:[ /](?P<year_of_quarter>[0-9]{4}))?)"
)
_OFFSETS = {"next": 1, "following": 1, "last": -1, "previous": -1}
_START_NAMES = ("_min", "_after", "_since", "_from")
_END_NAMES = ("_max", "_before", "_until", "_to")


@dataclass(frozen=True, slots=True)
class _CalendarPeriod:
    first: date
    last: date
    middle: date
    working_end: date  # the last day on which people work: of a week, Friday


def get_range_end(name: str) -> str:
    """Return which end of a range of time an argument is, judged by its name; empty if it is none."""
    return START if name.endswith(_START_NAMES) else END if name.endswith(_END_NAMES) else ""


def find_day(text: str, today: date, *, range_end: str = "") -> date | None:
    """Return the day that a part of a week, month, quarter or year means; None if the text is not about one.

    The end of a week is its Friday; as the end of a range, its Sunday. A whole period, such as "next week", is a day
    only as one end of a range. A month or quarter without a year is the next one that is not over.
    """
    found = _PERIOD.fullmatch(text)
    if found is None:
        return None
    part = _PART_BY_WORD.get(found["part"] or "", range_end)
    if not part and found["unit"] != "weekend":
        return None
    try:
        period = _find_period(found, today)
    except (ValueError, OverflowError):  # a year that no date has
        return None
    if part == "middle":
        return period.middle
    if part == END:
        is_open = range_end or period.working_end < today
        return period.last if is_open else period.working_end
    return period.first


def _find_period(found: re.Match[str], today: date) -> _CalendarPeriod:
    if found["month"]:
        return _build_months(_find_month(_MONTHS.index(found["month"]) + 1, found["year_of_month"], today, 1), 1)
    if found["quarter"]:
        return _build_months(_find_month(int(found["quarter"]) * 3 - 2, found["year_of_quarter"], today, 3), 3)
    count = _OFFSETS.get(found["which"] or "", 0)
    if found["unit"] in ("week", "weekend"):
        monday = today - timedelta(days=today.weekday()) + timedelta(weeks=count)
        sunday = monday + timedelta(days=6)
        if found["unit"] == "weekend":
            saturday = monday + timedelta(days=_SATURDAY)
            return _CalendarPeriod(saturday, sunday, saturday, sunday)
        return _CalendarPeriod(monday, sunday, monday + timedelta(days=_WEDNESDAY), monday + timedelta(days=_FRIDAY))
    months = {"month": 1, "quarter": 3, "year": 12}[found["unit"]]
    first_month = (today.month - 1) // months * months + 1
    return _build_months(date(today.year, first_month, 1) + relativedelta(months=count * months), months)


def _find_month(month: int, year: str | None, today: date, length: int) -> date:
    """Return the first day of a month; without a year, of the next one whose period of `length` months is not over."""
    first = date(int(year) if year else today.year, month, 1)
    return first if year or first + relativedelta(months=length) > today else first + relativedelta(years=1)


def _build_months(first: date, count: int) -> _CalendarPeriod:
    last_month = first + relativedelta(months=count - 1)
    last = last_month.replace(day=monthrange(last_month.year, last_month.month)[1])
    return _CalendarPeriod(first, last, first + (last - first) // 2, last)
