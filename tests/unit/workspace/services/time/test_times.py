from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from tests.support.loops import for_each
from workspace.services.time import times

BERLIN = ZoneInfo("Europe/Berlin")


@for_each(
    "text, moment",
    [
        ("2026-03-01T09:00:00Z", datetime(2026, 3, 1, 9, tzinfo=UTC)),
        ("2026-03-01t09:00:00z", datetime(2026, 3, 1, 9, tzinfo=UTC)),  # RFC 3339 section 5.6 allows lower case
        ("2026-03-01T09:00:00+02:00", datetime(2026, 3, 1, 7, tzinfo=UTC)),
        ("2026-03-01T09:00:00-00:00", datetime(2026, 3, 1, 9, tzinfo=UTC)),  # offset unknown, section 4.3
        ("2026-03-01T09:00:00.5Z", datetime(2026, 3, 1, 9, 0, 0, 500_000, tzinfo=UTC)),
        ("2026-03-01T09:00:00.123456789012345678901Z", datetime(2026, 3, 1, 9, 0, 0, 123_456, tzinfo=UTC)),
        ("0001-01-01T00:00:00Z", datetime(1, 1, 1, tzinfo=UTC)),
        ("9999-12-31T23:59:59Z", datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)),
        ("2024-02-29T00:00:00Z", datetime(2024, 2, 29, tzinfo=UTC)),
    ],
)
def test_parse_returns_utc(text: str, moment: datetime) -> None:
    assert times.parse_time(text) == moment
    assert times.parse_time(text).tzinfo is UTC


UNSTORABLE = [
    "0000-01-01T00:00:00Z",  # a year that Python and SQL do not support
    "2016-12-31T23:59:60Z",  # a leap second
    "0001-01-01T00:00:00+14:00",  # the year 0 in UTC
    "9999-12-31T23:59:59-14:00",  # the year 10000 in UTC
    "2026-02-30T09:00:00Z",
    "2026-03-01T24:00:00Z",
    "tomorrow",
    "",
]


@for_each(
    "text, zone",
    [
        *((text, zone) for text in UNSTORABLE for zone in (None, BERLIN)),
        ("2026-03-01T09:00:00", None),  # no offset
        ("0001-01-01T00:00:00", BERLIN),
    ],
)
def test_parse_refuses_unstorable_times(text: str, zone: ZoneInfo | None) -> None:
    with pytest.raises(ValueError, match=r".+"):
        times.parse_time(text, zone=zone)


@for_each(
    "moment, zone, text",
    [
        (datetime(2026, 3, 1, 9, tzinfo=UTC), None, "2026-03-01T09:00:00Z"),
        (datetime(2026, 3, 1, 9, tzinfo=timezone(timedelta(hours=2))), None, "2026-03-01T07:00:00Z"),
        (datetime(2026, 3, 1, 9, 0, 0, 5, tzinfo=UTC), None, "2026-03-01T09:00:00.000005Z"),
        (datetime(33, 3, 1, tzinfo=UTC), None, "0033-03-01T00:00:00Z"),
        (datetime(2026, 1, 1, 9, tzinfo=UTC), BERLIN, "2026-01-01T10:00:00+01:00"),
        (datetime(2026, 7, 1, 9, tzinfo=UTC), BERLIN, "2026-07-01T11:00:00+02:00"),
        (datetime(2026, 1, 1, 9, tzinfo=UTC), ZoneInfo("UTC"), "2026-01-01T09:00:00Z"),
    ],
)
def test_format_returns_utc_with_z_or_the_offset_of_a_zone(moment: datetime, zone: ZoneInfo | None, text: str) -> None:
    assert times.format_time(moment, zone=zone) == text


@for_each(
    "text, moment",
    [
        ("2026-07-01T09:00", "2026-07-01T07:00:00Z"),
        ("2026-01-15t09:00:00.5", "2026-01-15T08:00:00.500000Z"),
        ("2026-07-01T09:00:00Z", "2026-07-01T09:00:00Z"),  # an offset overrides the zone
        ("2026-07-01T09:00:00-04:00", "2026-07-01T13:00:00Z"),
        ("2026-03-29T02:30:00", "2026-03-29T01:30:00Z"),  # the clocks skip it: 3:30
        ("2026-03-29T01:59:59", "2026-03-29T00:59:59Z"),
        ("2026-03-29T03:00:00", "2026-03-29T01:00:00Z"),
        ("2026-10-25T02:30:00", "2026-10-25T00:30:00Z"),  # occurs twice: the first
        ("2026-10-25T03:00:00", "2026-10-25T02:00:00Z"),
    ],
)
def test_parse_reads_a_time_without_offset_as_local_time_of_the_zone(text: str, moment: str) -> None:
    assert times.format_time(times.parse_time(text, zone=BERLIN)) == moment


@for_each(
    "moment",
    [datetime(1800, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, tzinfo=UTC), datetime(1, 1, 1, tzinfo=UTC)],
)
def test_format_in_a_zone_uses_utc_when_the_offset_is_not_whole_minutes(moment: datetime) -> None:
    for name in ("Europe/Berlin", "America/New_York"):
        text = times.format_time(moment, zone=ZoneInfo(name))

        assert times.parse_time(text) == moment
