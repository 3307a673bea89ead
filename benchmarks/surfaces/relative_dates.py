"""Days relative to the day of a session, as messages name them and as answers may write them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

# {date 4} becomes 2026-12-04, {day 4} becomes Friday, 4 December 2026: the day four days after today.
_PLACEHOLDER = re.compile(r"\{(date|day) (-?\d{1,3})\}")


@dataclass(frozen=True, slots=True)
class RelativeDates:
    """Today, and the time zone of the user."""

    today: date
    zone: ZoneInfo

    def get_date(self, days: int) -> date:
        """Return the date so many days after today."""
        return self.today + timedelta(days)

    def fill_placeholders(self, text: str) -> str:
        """Return a message with its dates."""

        def fill(match: re.Match[str]) -> str:
            day = self.get_date(int(match[2]))
            return day.isoformat() if match[1] == "date" else f"{day:%A}, {day.day} {day:%B} {day.year}"

        return _PLACEHOLDER.sub(fill, text)

    def to_local(self, value: object) -> tuple[date | None, str]:
        """Return the day of a date or time in the user's zone, and its time of day; empty for a date."""
        if isinstance(value, datetime):
            local = value.astimezone(self.zone)
            return local.date(), f"{local:%H:%M}"
        return (value if isinstance(value, date) else None), ""

    def iter_spellings(self, days: int) -> Iterator[str]:
        """Yield the ways in which an answer may write the day so many days after today."""
        day = self.get_date(days)
        yield day.isoformat()
        for month in (f"{day:%B}", f"{day:%b}", f"{day:%b}."):
            yield from (f"{day.day} {month}", f"{month} {day.day}", f"{day.day:02} {month}", f"{day.day}. {month}")
            yield f"{day.day}th of {month}"
        yield from (f"{day.day}/{day.month}/", f"{day.day:02}.{day.month:02}.", f"{day.month}/{day.day}/")
