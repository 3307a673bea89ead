"""Parse and format RFC 3339 date-times. Values in between are aware datetimes."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

EXPECTED = "an RFC 3339 date-time in the years 1 to 9999 without a leap second, such as 2026-03-01T09:00:00Z"

EXPECTED_LOCAL = "a date-time in the years 1 to 9999, such as 2026-03-01T09:00 in the user's zone or with an offset"

EXPECTED_DATE = "a date of the years 1 to 9999, such as 2026-03-01"

_DATE_LENGTH = len("2026-03-01")


def parse_time(text: str, *, zone: ZoneInfo | None = None) -> datetime:
    """Return the moment in UTC, truncated to microseconds. Text without an offset is local time of the zone.

    Raises ValueError for RFC 3339 times that a database cannot store: the year 0, leap seconds, and times that are
    outside the years 1 to 9999 in UTC. Also raises it if both offset and zone are missing.
    """
    moment = datetime.fromisoformat(text.upper())  # RFC 3339 section 5.6 allows t and z, fromisoformat does not
    if moment.tzinfo is not None:
        return _to_utc(moment)
    if zone is None:
        raise ValueError("A date-time needs an offset.")
    return localize(moment, zone)


def is_date(text: object) -> bool:
    """Return whether a valid time or date is only a date."""
    return isinstance(text, str) and len(text) == _DATE_LENGTH


def localize(local_time: datetime, zone: ZoneInfo) -> datetime:
    """Return a local time of the zone in UTC. Raises ValueError outside the years 1 to 9999.

    A time that the clocks skip in spring moves forward by the gap (2:30 becomes 3:30). Of a time that occurs twice in
    autumn, the first is used. Both follow RFC 5545, section 3.3.5.
    """
    return _to_utc(local_time.replace(tzinfo=zone, fold=0))


def format_time(moment: datetime, *, zone: ZoneInfo | None = None) -> str:
    """Return the moment in RFC 3339, with microseconds only if there are any.

    The time is in UTC with Z, or in the zone with its offset.
    """
    return _convert(moment, zone).isoformat().replace("+00:00", "Z")


def format_local_time(moment: datetime, *, zone: ZoneInfo) -> str:
    """Return the moment as a local time of the zone without an offset, such as 2026-03-01T09:00.

    The offset is there if the local time alone would be read as another moment: of a time that occurs twice.
    """
    local = _convert(moment, zone).replace(tzinfo=None)
    try:
        is_clear = localize(local, zone) == moment
    except ValueError:
        is_clear = False
    if not is_clear:
        return format_time(moment, zone=zone)
    return local.isoformat(timespec="auto" if local.second or local.microsecond else "minutes")


def _convert(moment: datetime, zone: ZoneInfo | None) -> datetime:
    try:
        local = moment.astimezone(zone or UTC)
    except OverflowError:  # the year 10000 or 0 in the zone
        return moment.astimezone(UTC)
    offset = local.utcoffset() or timedelta()
    # RFC 3339 offsets have no seconds, but local mean times before about 1900 do.
    return local if offset % timedelta(minutes=1) == timedelta() else moment.astimezone(UTC)


def _to_utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("The date-time is outside the years 1 to 9999.") from error
