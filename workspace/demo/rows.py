"""Helpers that describe demo rows as plain data, with times relative to the moment of loading."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

# The numbers of the demo's projects.
WEBSITE, KITCHEN, SURVEY, FAIR, GARDEN, PHOTO_BOOK = 1, 2, 3, 4, 5, 9

_IDS = {
    "project": "0d9a4c1e-5b7f-4e2a-9c31-6f8e2b7d1a{:02}",
    "membership": "3c8e5d10-9a2b-4f6c-8d71-5b40e9ac1c{:02}",
    "task": "7e3b9f20-1c4d-4a8b-8e55-2d90c6fa3b{:02}",
    "document": "c4a1d2e3-90ab-4cde-8f01-3b5d7e9f1a{:02}",
    "goal": "5a1c7e80-2b3d-4f60-8a91-c0de1a7b4c{:02}",
    "plan": "6b2d8f91-3c4e-4a71-9ba2-d1ef2b8c5d{:02}",
    "milestone": "7c3e9fa2-4d5f-4b82-8cb3-e2f03c9d6e{:02}",
    "risk": "8d4fa0b3-5e6a-4c93-9dc4-f3a14dae7f{:02}",
    "requirement": "9e5ab1c4-6f7b-4da4-8ed5-a4b25ebf8a{:02}",
    "profile": "1b7c3d50-2e4f-4a61-8b72-9c83da94eb{:02}",
    "event": "b07cd3e6-8b9d-4fc6-8af7-c6d47fdbac{:02}",
    "calendar": "c18de4f7-9cae-4fd7-9b08-d7e58aecbd{:02}",
    "edge": "af6bc2d5-7a8c-4eb5-9fe6-b5c36fca9b{:02}",
}


@dataclass(frozen=True, slots=True)
class RelativeDay:
    """A date: a number of days after the day of loading."""

    days: int

    def resolve(self, loaded: datetime) -> date:
        return (loaded + timedelta(days=self.days)).date()


@dataclass(frozen=True, slots=True)
class RelativeTime:
    """A time: an hour (UTC) a number of days after the day of loading."""

    days: int
    hour: int

    def resolve(self, loaded: datetime) -> datetime:
        return (loaded + timedelta(days=self.days)).replace(hour=self.hour, minute=0, second=0, microsecond=0)


@dataclass(frozen=True, slots=True)
class DemoRow:
    """One row. `number` is the end of its fixed id and is never reused; `touched` is its last update, in hours ago."""

    number: int
    touched: int
    columns: dict[str, Any]

    def resolve_columns(self, loaded: datetime) -> dict[str, Any]:
        """Return the columns, with their times relative to the moment of loading."""
        return {
            name: value.resolve(loaded) if isinstance(value, RelativeTime | RelativeDay) else value
            for name, value in self.columns.items()
        }


def define_row(*, number: int, touched: int, **columns: Any) -> DemoRow:
    """Return a demo row with these columns."""
    return DemoRow(number, touched, columns)


def at_work_start(days: int) -> RelativeTime:
    """Return 9:00 UTC, when work starts, that many days after loading."""
    return RelativeTime(days, 9)


def at_work_end(days: int) -> RelativeTime:
    """Return 17:00 UTC, when work ends, that many days after loading."""
    return RelativeTime(days, 17)


def get_demo_id(kind: str, number: int) -> str:
    """Return the fixed id of the row of a kind with this number."""
    return _IDS[kind].format(number)
