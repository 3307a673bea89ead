"""How dates and times are written on pages."""

from datetime import UTC, date, datetime

from django.utils import formats


def test_times_say_their_zone_and_days_come_before_months() -> None:
    assert formats.date_format(datetime(2026, 3, 1, 21, 5, tzinfo=UTC), "DATETIME_FORMAT") == "1 Mar 2026, 21:05 UTC"
    assert formats.date_format(date(2026, 3, 1), "DATE_FORMAT") == "1 Mar 2026"
