"""Date-times at the edge: RFC 3339 text in, aware datetimes inside, RFC 3339 text out, in UTC or in a zone."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

EXPECTED = "an RFC 3339 date-time in the years 1 to 9999 without a leap second, such as 2026-03-01T09:00:00Z"

EXPECTED_LOCAL = "a date-time in the years 1 to 9999, such as 2026-03-01T09:00 in the user's zone or with an offset"

EXPECTED_DATE = "a date of the years 1 to 9999, such as 2026-03-01"


def read(text: str, *, zone: ZoneInfo | None = None) -> datetime:
    """Return the moment in UTC. Digits beyond microseconds are cut; without an offset it is wall time of the zone.

    Raises ValueError for what RFC 3339 can write and no database can hold: the year 0, leap seconds, and moments
    that leave the years 1 to 9999 on their way to UTC; and for a missing offset where no zone is given.
    """
    moment = datetime.fromisoformat(text.upper())  # RFC 3339 section 5.6 allows t and z, fromisoformat does not
    if moment.tzinfo is not None:
        return _in_utc(moment)
    if zone is None:
        raise ValueError("A date-time needs an offset.")
    return at_wall(moment, zone)


def at_wall(wall: datetime, zone: ZoneInfo) -> datetime:
    """Return in UTC the moment when clocks in the zone show this time. Raises ValueError beyond the years 1 to 9999.

    A time that the clocks skip in spring moves forward by what they skip (2:30 is 3:30); of one that comes twice in
    autumn the first is meant. Both are what RFC 5545, section 3.3.5, has calendars do.
    """
    return _in_utc(wall.replace(tzinfo=zone, fold=0))


def write(moment: datetime, *, zone: ZoneInfo | None = None) -> str:
    """Return the moment as RFC 3339, to the second or, where it has any, the microsecond.

    It is told in UTC with Z; where a zone is given, in that zone with its offset then.
    """
    return _told(moment, zone).isoformat().replace("+00:00", "Z")


def _told(moment: datetime, zone: ZoneInfo | None) -> datetime:
    try:
        local = moment.astimezone(zone or UTC)
    except OverflowError:  # the year 10000 there, or the year 0
        return moment.astimezone(UTC)
    offset = local.utcoffset() or timedelta()
    # RFC 3339 has no seconds in an offset; before about 1900 clocks went by the sun and had them.
    return local if offset % timedelta(minutes=1) == timedelta() else moment.astimezone(UTC)


def _in_utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("The date-time lies outside the years 1 to 9999.") from error
