"""Date and time formats of pages."""

from datetime import UTC, date, datetime

from django.utils import formats


def test_times_have_their_zone_and_dates_start_with_the_day() -> None:
    assert formats.date_format(datetime(2026, 3, 1, 21, 5, tzinfo=UTC), "DATETIME_FORMAT") == "1 Mar 2026, 21:05 UTC"
    assert formats.date_format(date(2026, 3, 1), "DATE_FORMAT") == "1 Mar 2026"
