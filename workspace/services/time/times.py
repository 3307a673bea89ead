"""Times as the API accepts and returns them, and the local time of a user."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from core.handler_contract import ArgumentError, OpRequest, build_invalid_args
from workspace.models.calendar_event import EARLIEST, LATEST
from workspace.models.profile import get_zone_names
from workspace.services import access

EXPECTED = "an RFC 3339 date-time in the years 1 to 9999 without a leap second, such as 2026-03-01T09:00:00Z"
EXPECTED_LOCAL = "a date-time in the years 1 to 9999, such as 2026-03-01T09:00 in the user's zone or with an offset"
EXPECTED_DATE = "a date of the years 1 to 9999, such as 2026-03-01"
_DATE_LENGTH = len("2026-03-01")
EXPECTED_LOCAL = "a date-time or a date of the years 1900 to 2199, such as 2026-03-01T09:00 or 2026-03-01"
EXPECTED_ZONE = "the IANA name of a time zone, such as Europe/Berlin"


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

    A time that the clocks skip in spring moves forward by the gap (2:30 becomes 3:30). If a time occurs twice in
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

    The offset is included if the local time alone would mean another moment: for a time that occurs twice.
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


def list_clock_changes(name: str, sent: datetime, moment: datetime, *, zone: ZoneInfo) -> list[str]:
    """Return a warning if the sent time has no offset and does not exist in the zone, or occurs twice."""
    if sent.tzinfo is not None:
        return []
    text = format_time(moment, zone=zone)
    if moment.astimezone(zone).replace(tzinfo=None) != sent:
        return [f"The clocks of {zone.key} skip {name} that day; read it as {text}."]
    first, second = (sent.replace(tzinfo=zone, fold=fold).utcoffset() for fold in (0, 1))
    return [f"The clocks of {zone.key} show {name} twice that day; took the first, {text}."] if first != second else []


@dataclass(slots=True)
class LocalTimeParser:
    """Parses the times of one call in a zone, and collects errors and warnings."""

    zone: ZoneInfo
    errors: list[ArgumentError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def parse(self, args: Mapping[str, Any], name: str) -> datetime | date | None:
        """Return an argument as a moment in UTC or as a date. None if it is missing or invalid."""
        text = args.get(name)
        if text is None:
            return None
        try:
            if len(text) == len("2026-03-01"):
                return self._check_range(name, date.fromisoformat(text))
            moment = parse_time(text, zone=self.zone)
        except ValueError:
            self.add_error(name, "impossible_time", f"{name} is not a valid time; send {EXPECTED_LOCAL}.")
            return None
        if self._check_range(name, moment):
            self.warnings += list_clock_changes(name, datetime.fromisoformat(text.upper()), moment, zone=self.zone)
            return moment
        return None

    def add_error(self, name: str, code: str, message: str, **correction: Any) -> None:
        """Add an error for an argument, with its correction if it is certain (see ArgumentError)."""
        self.errors.append(ArgumentError(path=f"/{name}", code=code, message=message, **correction))

    def raise_errors(self) -> None:
        """Raise InvalidArgs if there are any errors."""
        if self.errors:
            raise build_invalid_args(self.errors)

    def _check_range(self, name: str, when: datetime | date) -> datetime | date | None:
        day = when.date() if isinstance(when, datetime) else when
        if EARLIEST.date() <= day < LATEST.date():
            return when
        self.add_error(name, "impossible_time", f"{name} is out of range; send {EXPECTED_LOCAL}.")
        return None


def from_request(request: OpRequest) -> LocalTimeParser:
    """Return the clock for a call, in the time_zone sent or else the subject's. Raises InvalidArgs."""
    name = request.args.get("time_zone")
    if name is None:
        return LocalTimeParser(access.get_zone(request.subject))
    if name not in get_zone_names():
        message = f"time_zone is not a known time zone; send {EXPECTED_ZONE}, or leave it out for the user's own."
        raise build_invalid_args(
            [ArgumentError(path="/time_zone", code="unknown_zone", message=message, expected=EXPECTED_ZONE)]
        )
    return LocalTimeParser(ZoneInfo(name))


def to_range_start(when: date, zone: ZoneInfo) -> datetime:
    """Return the moment at which a range begins. A date begins with its day in the zone."""
    return when if isinstance(when, datetime) else get_day_start(when, zone)


def to_range_end(when: date, zone: ZoneInfo) -> datetime:
    """Return the moment before which a range ends. A date is the last day of the range, in the zone."""
    return when if isinstance(when, datetime) else get_day_start(when + timedelta(days=1), zone)


def get_day_start(day: date, zone: ZoneInfo) -> datetime:
    """Return the start of a day in the zone, in UTC."""
    return localize(datetime(day.year, day.month, day.day), zone)  # noqa: DTZ001  # a local time has no zone yet
