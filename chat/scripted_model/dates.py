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
_IN_DAYS = re.compile(r"\bin (\d{1,3}) (day|week)s?\b")
_WEEKDAY = re.compile(rf"\b(next )?({'|'.join(_WEEKDAYS)})\b")


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
        if match := _WEEKDAY.search(text):
            return today + timedelta((_WEEKDAYS.index(match[2]) - today.weekday() - 1) % 7 + 1)
        if "next week" in text:
            return self._get_next_monday(today)
        return None

    def parse_range(self, text: str) -> dict[str, str]:
        """Return time_min and time_max of a day or week in words; nothing if the text names none."""
        text = text.lower()
        if self.today and "next week" in text:
            monday = self._get_next_monday(self.today)
            return {"time_min": monday.isoformat(), "time_max": (monday + timedelta(6)).isoformat()}
        day = self.parse_day(text)
        return {"time_min": day, "time_max": day} if day else {}

    @staticmethod
    def _get_next_monday(today: date) -> date:
        return today + timedelta(7 - today.weekday())

    def format_day(self, value: object) -> str:
        """Return a date or date-time as a day such as Fri 27 Nov, in the user's zone."""
        moment = self._parse_moment(value)
        return f"{moment:%a} {self._format_date(moment)}" if moment else str(value)

    def format_span(self, start: object, end: object) -> str:
        """Return a span of time, such as Wed 25 Nov, 10:00–12:00."""
        first, last = self._parse_moment(start), self._parse_moment(end)
        if not first or not last:
            return f"{start} to {end}"
        return f"{self.format_day(start)}, {first:%H:%M}–{last:%H:%M}"

    def format_times(self, text: str) -> str:
        """Return a text with its date-times as people write them, such as 25 Nov 10:00, in the user's zone."""
        return _MOMENT.sub(lambda match: self._format_moment(match[0]), text)

    def _format_moment(self, value: str) -> str:
        moment = self._parse_moment(value)
        return f"{self._format_date(moment)} {moment:%H:%M}" if moment else value

    def _format_date(self, moment: datetime) -> str:
        is_this_year = self.today is not None and moment.year == self.today.year
        return f"{moment.day} {moment:%b}{'' if is_this_year else f' {moment.year}'}"

    def _parse_moment(self, value: object) -> datetime | None:
        try:
            moment = datetime.fromisoformat(str(value))
        except ValueError:
            return None
        is_in_utc = moment.tzinfo is not None and moment.utcoffset() == timedelta(0)
        return moment.astimezone(self.zone or UTC) if is_in_utc else moment


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
