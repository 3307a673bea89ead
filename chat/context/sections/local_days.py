"""Dates and times of rows, in the user's time zone."""

from datetime import date, datetime, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

UTC = ZoneInfo("UTC")


def find_zone(name: Any) -> ZoneInfo:
    """Return the time zone of this name, or UTC."""
    try:
        return ZoneInfo(name) if isinstance(name, str) else UTC
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC


def parse_moment(value: Any, zone: tzinfo) -> datetime | date | None:
    """Return the date or the local time in a row's field; None if it has none. Without offset, times are local."""
    if not isinstance(value, str):
        return None
    try:
        if len(value) == len("2026-03-01"):
            return date.fromisoformat(value)
        moment = datetime.fromisoformat(value)
        return moment.astimezone(zone) if moment.tzinfo else moment.replace(tzinfo=zone)
    except (ValueError, OverflowError):
        return None


def get_day(moment: datetime | date) -> date:
    """Return the day of a date or a local time."""
    return moment.date() if isinstance(moment, datetime) else moment


def format_day(value: Any, zone: tzinfo) -> str:
    """Return the local day in a row's field as 2026-03-01, or an empty string."""
    moment = parse_moment(value, zone)
    return get_day(moment).isoformat() if moment else ""
