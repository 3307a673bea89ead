from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

from benchmarks.surfaces.relative_dates import RelativeDates

DATES = RelativeDates(date(2026, 11, 30), ZoneInfo("Europe/Berlin"))


def test_placeholders_become_dates() -> None:
    text = DATES.fill_placeholders("Move it from {date 0} to {day 4}.")

    assert text == "Move it from 2026-11-30 to Friday, 4 December 2026."


def test_times_are_read_in_the_users_zone() -> None:
    assert DATES.to_local(datetime(2026, 11, 30, 23, 30, tzinfo=UTC)) == (date(2026, 12, 1), "00:30")
    assert DATES.to_local(date(2026, 12, 1)) == (date(2026, 12, 1), "")
    assert DATES.to_local(None) == (None, "")
