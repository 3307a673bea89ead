"""Dates and times as people write them, such as "next friday" or "25/12/2026", for the corrected call of an error."""

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import parsedatetime
from dateutil import parser as date_parser
from dateutil.relativedelta import relativedelta

from gateway.arguments import periods

MAX_TEXT_LENGTH = 60  # characters; a longer text is not a date
DATE_FORMATS = frozenset(("date", "date-time", "iso-date-time", "iso-date-or-date-time"))
_DAY_FORMATS = frozenset(("date", "iso-date-or-date-time"))
TIME_FORMATS = DATE_FORMATS - {"date"}
MOMENT_FORMATS = TIME_FORMATS - _DAY_FORMATS  # which require a time
# The time of a day that was sent without one, where a time is required: of a range, its ends; of a deadline, the day.
START_OF_WORK, START_OF_DAY, END_OF_DAY = time(9), time(0), time(23, 59)
DEADLINE = "due"  # how the names of deadlines begin

_NUMERIC_DATE = re.compile(r"[0-9]{1,4}([/.-])[0-9]{1,2}\1[0-9]{1,4}\b.{0,40}")
_TIME_OF_DAY = re.compile(r"(?:at )?(?:[0-9]{1,2}(?::[0-9]{2}){1,2}(?: ?[ap]\.?m\.?)?|[0-9]{1,2} ?[ap]\.?m\.?|noon)")
_EPOCH = re.compile(r"[0-9]{9,13}")
_ZONE = re.compile(r"\b(UTC|GMT|Z|[A-Z][A-Za-z]{1,20}/[A-Za-z_]{1,30})\]?\Z")
_FILLER = re.compile(r"\b(?:by|on|due|until|before|the|at|around|coming|o'clock)\b|,", re.IGNORECASE)
_WEEKDAY = re.compile(r"\b(mon|tue|wed|thu|fri|sat|sun)(?:s?day|s|nesday|rs?(?:day)?|urday)?\b")
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")  # in the order of datetime.weekday
_WEEKS_AHEAD = re.compile(r"(?:next week|in (?P<count>an?|[0-9]{1,2}|two|three|four|five|six) weeks?)")
# A time such as 15h, 15h30 or 14.30, but not the day 14.12.
_TIME_WITHOUT_COLON = re.compile(
    r"(?<=[a-z0-9] )(?P<hour>[01]?[0-9]|2[0-3])(?:h(?P<minute>[0-5][0-9])?|\.(?P<minutes>00|1[3-9]|[2-5][0-9]))\Z"
)
_DAY_AND_MONTH = re.compile(r"\b[0-9]{1,2}[/.-][0-9]{1,2}\b")
_MONTH = re.compile(
    r"\b(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]{0,6}\b.{0,3}[0-9]|"
    r"[0-9].{0,3}\b(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)",
    re.IGNORECASE,
)
_SAME_WORDS = (
    (re.compile(r"\bday after tomorrow\b"), "in 2 days"),
    (re.compile(r"\beod\b"), "end of day"),
    (re.compile(r"\Ain (?:next|coming) (?=[a-z0-9]+ (?:hours?|days?|weeks?|months?)\Z)"), "in "),
    (re.compile(r"\A(?:in |within |over |during |for )?(?:last|past) ([a-z0-9]+ (?:day|week|month)s?)\Z"), r"\1 ago"),
    (re.compile(r"\btonight ([1-9]|1[01])(:[0-5][0-9])?(?: ?pm)?\Z"), r"today \1\2pm"),
    (re.compile(r"\b(1[0-2]|[1-9])(:[0-5][0-9])? in (?:afternoon|evening)\b"), r"\1\2pm"),
    (re.compile(r"\b(1[0-2]|[1-9])(:[0-5][0-9])? in morning\b"), r"\1\2am"),
    (re.compile(r"(?<=[a-z] )(?:in )?morning\b"), "9:00"),
    (re.compile(r"\A(?:asap|immediately|right away)\Z"), "today"),
    (re.compile(r"\A(.+) from (?:now|today)\Z"), r"in \1"),
    (re.compile(r"\A\+ ?([0-9]+ ?[a-z]+)\Z"), r"in \1"),
    (re.compile(r"\b(?:an? )?fortnight\b"), "2 weeks"),
    (re.compile(r"\A(in .+?)'? time\Z"), r"\1"),
    (re.compile(r"\Awithin (?=[a-z0-9]+ (?:hours?|days?|weeks?|months?)\Z)"), "in "),
    (re.compile(r"\A(?:today|now) ?\+ ?(?=[0-9])"), "in "),
    (re.compile(r"\Ain (?:half an|an? half) hour\Z"), "in 30 minutes"),
    (re.compile(r"\Ap([0-9]{1,3})d\Z"), r"in \1 days"),
    (re.compile(r"\Ap([0-9]{1,3})w\Z"), r"in \1 weeks"),
    (re.compile(r"\Ap([0-9]{1,3})m\Z"), r"in \1 months"),
    (re.compile(r"\A(?:in |within |over )?(?:a |the )?next month\Z"), "in 1 month"),
    (re.compile(r"\A(?:in |within |over )?(?:a couple of|a few) (days|weeks|months)\Z"), r"in 3 \1"),
    (re.compile(r"\A(?:right )?now\Z"), "in 0 minutes"),
)
_SAME_DAYS = (  # as what is read best; before weekdays and months are looked for
    (re.compile(r"\A([0-9]{1,2})(?:st|nd|rd|th)? of ([a-z]{3,9}(?: [0-9]{4})?)\Z"), r"\1 \2"),
    (re.compile(r"\beow\b"), "end of week"),
    (re.compile(r"\beom\b"), "end of month"),
)
_COUNTS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_OFFSET = re.compile(
    r"(?P<sign>[+-]|by|plus|minus)? {0,2}(?P<another>another )?"
    rf"(?P<count>[0-9]{{1,4}}|an?|{'|'.join(_COUNTS)})? {{0,2}}(?P<more>more )?"
    r"(?P<unit>minutes?|mins?|hours?|hrs?|h|days?|d|weeks?|wks?|w|months?|years?)"
    r"(?P<way> later| more| earlier| sooner)?"
)
_UNITS = {"mi": "minutes", "h": "hours", "d": "days", "w": "weeks", "mo": "months", "y": "years"}  # by how they begin
_COUNTED = re.compile(r"\Ain [0-9a-z]+ ")
_HOURS = (*_COUNTS, "eleven", "twelve")
_CLOCK = re.compile(rf"\b(?:a )?(half|quarter) (past|to) ({'|'.join(_HOURS)}|1[0-2]|[1-9])\b")
_END_OF_DAY = re.compile(r"\A(?:the )?end of (?:day )?(?=[a-z]{3,9}\Z)")  # end of friday
_EPOCH_SECONDS, _EPOCH_MILLISECONDS = range(10**8, 10**10), range(10**11, 10**13)  # of the years 1973 to 2286


def find_date(value: Any, format: str, *, now: datetime, name: str = "") -> str | None:
    """Return a value as text of a date format, None if it is not a date or could mean several days.

    `now` is in the user's time zone. In formats that allow local times, the result is one. `name` is that of the
    argument: "next week" is its first day for due_after, and its last for due_before.
    """
    found = _find(value, now, name)
    return _write(found[0], format, has_time=found[1], now=now, time_of_day=_choose_time(name)) if found else None


def find_day_at(value: Any, time_of_day: time, format: str, *, now: datetime, name: str = "") -> str | None:
    """Return the day of a value that has no time, at a time of day; None if it has a time or is no date."""
    found = _find(value, now, name)
    if found is None or found[1]:
        return None
    return _write(found[0], format, has_time=False, now=now, time_of_day=time_of_day)


def _find(value: Any, now: datetime, name: str) -> tuple[datetime, bool] | None:
    """Return the day and time that a value means, and whether it has a time; None if it is not a date."""
    try:
        return _read_epoch(value) or _read_text(value, now, periods.get_range_end(name))
    except (ValueError, OverflowError):  # a year that no datetime has
        return None


def _choose_time(name: str) -> time:
    """Return the time of day that a day without a time has in an argument of this name."""
    end = periods.get_range_end(name)
    if end == periods.START:
        return START_OF_DAY
    return END_OF_DAY if end == periods.END or name.startswith(DEADLINE) else START_OF_WORK


def read_offset(value: Any) -> relativedelta | None:
    """Return by how much a text moves a date: "+1 week", "-3 days", "a week later". None if it names a day itself."""
    found = (
        _OFFSET.fullmatch(value.strip().lower()) if isinstance(value, str) and len(value) <= MAX_TEXT_LENGTH else None
    )
    if found is None or not (found["sign"] or found["another"] or found["more"] or found["way"]):
        return None
    word = found["count"]
    count = 1 if word in (None, "a", "an") else int(word) if word.isdecimal() else _COUNTS.index(word) + 1
    unit = next(unit for beginning, unit in _UNITS.items() if found["unit"].startswith(beginning))
    is_back = found["sign"] in ("-", "minus") or found["way"] in (" earlier", " sooner")
    return relativedelta(**{unit: -count if is_back else count})  # type: ignore[arg-type]  # the units are its arguments


def add_offset(base: date | None, offset: relativedelta, format: str, *, now: datetime) -> str | None:
    """Return a date or date-time moved by an offset, as text of a date format; None outside the years 1 to 9999.

    Without a base it counts from now. An offset of whole days gives a day where the format has days, so that the time
    of day stays.
    """
    moves_time = bool(offset.hours or offset.minutes)
    start = base or (now.replace(second=0, microsecond=0) if moves_time else now.date())
    moment = start if isinstance(start, datetime) else datetime.combine(start, time(), now.tzinfo)
    has_time = moves_time or (format not in _DAY_FORMATS and isinstance(start, datetime))
    try:
        moved = moment.astimezone(now.tzinfo).replace(tzinfo=None) + offset
    except (ValueError, OverflowError):
        return None
    return _write(moved, format, has_time=has_time, now=now)


def is_time_of_day(value: Any) -> bool:
    """Return whether a value is a time without a day, such as 18:00 or "at 6 pm"."""
    return isinstance(value, str) and _TIME_OF_DAY.fullmatch(value.strip().lower()) is not None


def get_midnight(moment: datetime) -> datetime:
    """Return the start of a moment's day."""
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def is_past(text: str, now: datetime) -> bool:
    """Return whether a date-time, local if it has no offset, is before now."""
    moment = datetime.fromisoformat(text.upper())
    return (moment if moment.tzinfo else moment.replace(tzinfo=now.tzinfo)) < now


def read_day(value: Any) -> date | None:
    """Return the day of a date or date-time in ISO 8601, None for anything else."""
    found = _read_iso(value) if isinstance(value, str) and len(value) >= len("2026-03-01") else None
    return found[0].date() if found else None


def _read_epoch(value: Any) -> tuple[datetime, bool] | None:
    """Return the moment of a Unix time in seconds or milliseconds."""
    if isinstance(value, str) and _EPOCH.fullmatch(value.strip()):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if int(value) in _EPOCH_SECONDS:
        return datetime.fromtimestamp(value, UTC), True
    if int(value) in _EPOCH_MILLISECONDS:
        return datetime.fromtimestamp(value / 1_000, UTC), True
    return None


def _read_text(value: Any, now: datetime, range_end: str) -> tuple[datetime, bool] | None:
    """Return the day and time of a text, and whether it has a time. Without a zone in the text, they have none."""
    if not isinstance(value, str) or len(value) > MAX_TEXT_LENGTH:
        return None
    text, zone = _split_zone(value.strip())
    local_now = now.astimezone(zone or now.tzinfo).replace(tzinfo=None)
    is_numeric = _NUMERIC_DATE.fullmatch(text)
    found = _read_iso(text) or (_read_numeric(text) if is_numeric else _read_words(text, local_now, range_end))
    if found is None or zone is None or found[0].tzinfo is not None:
        return found
    return found[0].replace(tzinfo=zone), found[1]


def _split_zone(text: str) -> tuple[str, tzinfo | None]:
    """Return a text without the name of a time zone at its end, and the zone."""
    found = _ZONE.search(text)
    if found is None:
        return text, None
    if found[1] in ("UTC", "GMT", "Z"):
        return text[: found.start()].rstrip(" ["), UTC
    try:
        return text[: found.start()].rstrip(" ["), ZoneInfo(found[1])
    except (ZoneInfoNotFoundError, ValueError):
        return text, None


def _read_iso(text: str) -> tuple[datetime, bool] | None:
    try:
        return datetime.fromisoformat(text.upper()), len(text) > len("2026-03-01")
    except ValueError:
        return None


def _read_numeric(text: str) -> tuple[datetime, bool] | None:
    """Return a day in digits, unless its day could be its month: 25/12/2026 and 02.03.2026, but not 02/03/2026."""
    midnight, noon = datetime(2000, 1, 1), datetime(2000, 1, 1, 12)  # noqa: DTZ001  # the times if it has none
    orders = (False,) if text[:4].isdecimal() else (True,) if "." in text[:4] else (True, False)  # is the day first
    first, *others = (date_parser.parse(text, default=midnight, dayfirst=day_first) for day_first in orders)
    if any(other != first for other in others):
        return None
    return first, date_parser.parse(text, default=noon, dayfirst=orders[0]) == first


def _read_words(text: str, now: datetime, range_end: str) -> tuple[datetime, bool] | None:
    text = " ".join(_FILLER.sub(" ", text.lower()).split())
    for pattern, same in _SAME_DAYS:
        text = pattern.sub(same, text)
    text = _TIME_WITHOUT_COLON.sub(lambda found: f"{found['hour']}:{found['minute'] or found['minutes'] or '00'}", text)
    if _DAY_AND_MONTH.search(text):
        return None  # 3/4 can mean two days
    if day := periods.find_day(text, now.date(), range_end=range_end):
        return datetime.combine(day, time()), False
    text = _CLOCK.sub(_write_clock, text)
    weekday = _WEEKDAY.search(text)
    rest = " ".join(_WEEKDAY.sub("", text).split())
    if weekday and (ahead := _WEEKS_AHEAD.fullmatch(rest)):
        return _count_weeks(now, ahead["count"], _WEEKDAYS.index(weekday[1])), False
    if _MONTH.search(text):
        text = rest
    for pattern, same in _SAME_WORDS:
        text = pattern.sub(same, text)
    if weekday or text.endswith(("today", "tomorrow")):
        text = _END_OF_DAY.sub("", text)
    found = _get_calendar().nlp(text, now)
    if not found or len(found) > 1 or found[0][4].strip() != text:
        return None
    moment, context = found[0][0], found[0][1]
    if not (context.hasTime or context.accuracy & (context.ACU_DAY | context.ACU_WEEK) or _COUNTED.match(text)):
        return None  # a month or a year: no day
    if weekday and moment.weekday() != _WEEKDAYS.index(weekday[1]):
        return None  # "saturday 4 december" in a year in which that is a Friday
    return moment.replace(second=0, microsecond=0), bool(context.hasTime)


def _write_clock(found: re.Match[str]) -> str:
    """Return a time such as "half past three" or "a quarter to 4" in digits."""
    hour = int(found[3]) if found[3].isdecimal() else _HOURS.index(found[3]) + 1
    minute = 30 if found[1] == "half" else 15
    return f"{hour}:{minute}" if found[2] == "past" else f"{(hour - 2) % 12 + 1}:{60 - minute}"


def _count_weeks(now: datetime, count: str | None, weekday: int) -> datetime:
    """Return the day of the week a number of weeks after this one."""
    weeks = 1 if count in (None, "a", "an") else int(count) if count.isdecimal() else _COUNTS.index(count) + 1
    monday = now - timedelta(days=now.weekday())
    return (monday + timedelta(weeks=weeks, days=weekday)).replace(hour=0, minute=0, second=0, microsecond=0)


@cache
def _get_calendar() -> Any:
    return parsedatetime.Calendar(parsedatetime.Constants(usePyICU=False), version=parsedatetime.VERSION_CONTEXT_STYLE)


def _write(moment: datetime, format: str, *, has_time: bool, now: datetime, time_of_day: time = START_OF_WORK) -> str:
    if format == "date" or (not has_time and format == "iso-date-or-date-time"):
        return moment.date().isoformat()
    if not has_time:
        moment = datetime.combine(moment.date(), time_of_day, moment.tzinfo)
    if moment.tzinfo is None and format == "date-time":
        moment = moment.replace(tzinfo=now.tzinfo)
    text = moment.isoformat(timespec="seconds" if moment.second or format == "date-time" else "minutes")
    return text.replace("+00:00", "Z")
