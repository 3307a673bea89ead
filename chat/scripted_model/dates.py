"""Dates: what today is according to the system prompt, days in words, and how days and times are written."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

_DATE = re.compile(r"\b(20\d\d-\d\d-\d\d)\b")
_MOMENT = re.compile(r"\b20\d\d-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:\d\d)?")
_TODAY = re.compile(r"\btoday is\b[^\n]{0,40}?\b(20\d\d-\d\d-\d\d)\b", re.IGNORECASE)
_ZONE = re.compile(r"\b((?:Africa|America|Antarctica|Arctic|Asia|Atlantic|Australia|Europe|Indian|Pacific)/[\w/+-]+)")
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
TIME = re.compile(r"\bat (\d{1,2})(?::(\d\d))?\s?(am|pm)?\b", re.IGNORECASE)
CLOCK_TIME = re.compile(r"\b(\d{1,2})(?::(\d\d)|(?= ?[ap]m))\s?(am|pm)?\b", re.IGNORECASE)  # which no number is
_IN_DAYS = re.compile(r"\bin (\d{1,3}) (day|week)s?\b")
_WEEKDAY = re.compile(rf"\b(next )?({'|'.join(_WEEKDAYS)})\b")
_MONTHS = tuple("january february march april may june july august september october november december".split())
_MONTH = rf"({'|'.join(f'{name}|{name[:3]}' for name in _MONTHS)})\b\.?"
_DAY_OF_MONTH = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th|\.)?(?: of)? {_MONTH}(?:,? (20\d\d))?\b")
_MONTH_AND_DAY = re.compile(rf"\b{_MONTH} (\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? (20\d\d)\b)?")
_ANY_DAY = re.compile(
    rf"\b(?:on |by )?(?:the )?(?:day after tomorrow|tomorrow|today|tonight|(?:next|this) week"
    rf"|in \d{{1,3}} (?:day|week)s?|(?:next |this )?(?:{'|'.join(_WEEKDAYS)})|20\d\d-\d\d-\d\d)\b",
    re.IGNORECASE,
)
# Hours of a part of the day; the gateway leaves out time outside working hours.
_PARTS_OF_DAY = {"morning": ("06:00", "12:00"), "afternoon": ("12:00", "18:00"), "evening": ("18:00", "22:00")}


@dataclass(frozen=True, slots=True)
class Days:
    """Today and the user's time zone. `today` is None if the system prompt does not say it."""

    today: date | None
    zone: ZoneInfo | None

    def parse_day(self, text: str) -> str | None:
        """Return the first day that a text names, as an ISO date. Without today, only a date in digits is known."""
        text = text.lower()
        if match := _DATE.search(text):
            return match[1]
        if self.today is None:
            return None
        day = self._parse_relative(text, self.today)
        return day.isoformat() if day else None

    def _parse_relative(self, text: str, today: date) -> date | None:
        for word, days in (("day after tomorrow", 2), ("tomorrow", 1), ("today", 0), ("tonight", 0)):
            if word in text:
                return today + timedelta(days)
        if match := _IN_DAYS.search(text):
            return today + timedelta(int(match[1]) * (7 if match[2] == "week" else 1))
        if day := _parse_date(text, today):
            return day
        if match := _WEEKDAY.search(text):
            weekday = _WEEKDAYS.index(match[2])
            if match[1]:  # of the next week, as the gateway reads it
                return self._get_next_monday(today) + timedelta(weekday)
            return today + timedelta((weekday - today.weekday() - 1) % 7 + 1)
        if "next week" in text:
            return self._get_next_monday(today)
        return None

    def parse_range(self, text: str) -> dict[str, str]:
        """Return time_min and time_max of a day or week in words; nothing if the text names none."""
        text = text.lower()
        if self.today and "next week" in text:
            monday = self._get_next_monday(self.today)
            return {"time_min": monday.isoformat(), "time_max": (monday + timedelta(6)).isoformat()}
        if self.today and "this week" in text:
            sunday = self._get_next_monday(self.today) - timedelta(1)
            return {"time_min": self.today.isoformat(), "time_max": sunday.isoformat()}
        day = self.parse_day(text)
        return {"time_min": day, "time_max": day} if day else {}

    def parse_hours(self, text: str) -> dict[str, str]:
        """Return time_min and time_max as `parse_range` does, or of the part of the day that the text names."""
        day = self.parse_day(text)
        part = next((hours for name, hours in _PARTS_OF_DAY.items() if name in text.lower()), None)
        if day and part:
            return {"time_min": f"{day}T{part[0]}", "time_max": f"{day}T{part[1]}"}
        return self.parse_range(text)

    def replace_times(self, text: str, other: str) -> str:
        """Return a text with the day and the time of day of another text instead of its own."""
        if self.parse_range(other):
            text = _ANY_DAY.sub("", text)
        elif not TIME.search(other):
            return text
        if TIME.search(other):
            text = TIME.sub("", text)
        return f"{text.rstrip(' .?!')} {other}"

    @staticmethod
    def _get_next_monday(today: date) -> date:
        return today + timedelta(7 - today.weekday())

    def shift(self, value: object, days: int) -> str | None:
        """Return the day a number of days after a row's date, in the user's zone; None if it has none."""
        moment = self.parse_local(value)
        return (moment.date() + timedelta(days)).isoformat() if moment else None

    def format_day(self, value: object) -> str:
        """Return a date or date-time as a day such as Fri 27 Nov, in the user's zone."""
        moment = self.parse_local(value)
        return f"{moment:%a} {self._format_date(moment)}" if moment else str(value)

    def format_span(self, start: object, end: object) -> str:
        """Return a span of time, such as Wed 25 Nov, 10:00–12:00."""
        first, last = self.parse_local(start), self.parse_local(end)
        if not first or not last:
            return f"{start} to {end}"
        return f"{self.format_day(start)}, {first:%H:%M}–{last:%H:%M}"

    def format_times(self, text: str) -> str:
        """Return a text with its date-times as people write them, such as 25 Nov 10:00, in the user's zone."""
        return _MOMENT.sub(lambda match: self._format_moment(match[0]), text)

    def _format_moment(self, value: str) -> str:
        moment = self.parse_local(value)
        return f"{self._format_date(moment)} {moment:%H:%M}" if moment else value

    def _format_date(self, moment: datetime) -> str:
        is_this_year = self.today is not None and moment.year == self.today.year
        return f"{moment.day} {moment:%b}{'' if is_this_year else f' {moment.year}'}"

    def parse_local(self, value: object) -> datetime | None:
        """Return the moment of a row's date or time, in the user's zone if it is in UTC."""
        try:
            moment = datetime.fromisoformat(str(value))
        except ValueError:
            return None
        is_in_utc = moment.tzinfo is not None and moment.utcoffset() == timedelta(0)
        return moment.astimezone(self.zone or UTC) if is_in_utc else moment


def read_time(text: str, pattern: re.Pattern[str] = TIME) -> str | None:
    """Return a time of day such as 17:00, None if the text names none."""
    match = pattern.search(text)
    if not match or int(match[1]) > 23 or int(match[2] or 0) > 59:
        return None
    hour = int(match[1]) % 12 + (12 if match[3].lower() == "pm" else 0) if match[3] else int(match[1])
    return f"{hour:02}:{match[2] or '00'}"


def _parse_date(text: str, today: date) -> date | None:
    """Return a day and a month in words; without a year, the next such day."""
    if match := _DAY_OF_MONTH.search(text):
        number, month, year = match.groups()
    elif match := _MONTH_AND_DAY.search(text):
        month, number, year = match.groups()
    else:
        return None
    numbers = [at for at, name in enumerate(_MONTHS, start=1) if name.startswith(month)]
    try:
        day = date(int(year or today.year), numbers[0], int(number))
        return day if year or day >= today else day.replace(year=day.year + 1)
    except ValueError:
        return None


def read_days(system: str) -> Days:
    """Read today and the time zone from a system prompt, which says both."""
    date_match, zone_match = _TODAY.search(system) or _DATE.search(system), _ZONE.search(system)
    try:
        today = date.fromisoformat(date_match[1]) if date_match else None
    except ValueError:
        today = None
    try:
        zone = ZoneInfo(zone_match[1].rstrip("./+-")) if zone_match else None
    except (ValueError, OSError, LookupError):
        zone = None
    return Days(today, zone)
