"""Date-times at the edge: RFC 3339 text in, aware datetimes inside, UTC text with Z out."""

from datetime import UTC, datetime

EXPECTED = "an RFC 3339 date-time in the years 1 to 9999 without a leap second, such as 2026-03-01T09:00:00Z"


def read(text: str) -> datetime:
    """Return the moment in UTC. Digits beyond microseconds are cut.

    Raises ValueError for what RFC 3339 can write and no database can hold: the year 0, leap seconds, and moments
    that leave the years 1 to 9999 on their way to UTC.
    """
    moment = datetime.fromisoformat(text.upper())  # RFC 3339 section 5.6 allows t and z, fromisoformat does not
    if moment.tzinfo is None:
        raise ValueError("A date-time needs an offset.")
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("The date-time lies outside the years 1 to 9999.") from error


def write(moment: datetime) -> str:
    """Return the moment as RFC 3339 in UTC with Z, to the second or, where it has any, the microsecond."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
