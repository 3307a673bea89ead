"""Parse local times and dates in the time zone of a call."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo

from workspace.contract import OpRequest
from workspace.errors import ArgumentError, build_invalid_args
from workspace.models.calendar_event import EARLIEST, LATEST
from workspace.models.profile import get_zone_names
from workspace.services.access import profiles
from workspace.services.time import times

EXPECTED = "a date-time or a date of the years 1900 to 2199, such as 2026-03-01T09:00 or 2026-03-01"
EXPECTED_ZONE = "the IANA name of a time zone, such as Europe/Berlin"


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
            moment = times.parse_time(text, zone=self.zone)
        except ValueError:
            self.add_error(name, "impossible_time", f"{name} is not a valid time; send {EXPECTED}.")
            return None
        if self._check_range(name, moment):
            self._warn_of_clock_change(name, datetime.fromisoformat(text.upper()), moment)
            return moment
        return None

    def add_error(self, name: str, code: str, message: str, **correction: Any) -> None:
        """Add an error for an argument, with its correction if it is certain (see ArgumentError)."""
        self.errors.append(ArgumentError(path=f"/{name}", code=code, message=message, **correction))

    def raise_errors(self) -> None:
        """Raise InvalidArgs if there are any errors."""
        if self.errors:
            raise build_invalid_args(self.errors)

    def _warn_of_clock_change(self, name: str, local_time: datetime, moment: datetime) -> None:
        """Add a warning if the local time does not exist on that day, or occurs twice."""
        if local_time.tzinfo is not None:
            return
        text = times.format_time(moment, zone=self.zone)
        first, second = (local_time.replace(tzinfo=self.zone, fold=fold).utcoffset() for fold in (0, 1))
        if moment.astimezone(self.zone).replace(tzinfo=None) != local_time:
            self.warnings.append(f"The clocks of {self.zone.key} skip {name} that day; read it as {text}.")
        elif first != second:
            self.warnings.append(f"The clocks of {self.zone.key} show {name} twice that day; took the first, {text}.")

    def _check_range(self, name: str, when: datetime | date) -> datetime | date | None:
        day = when.date() if isinstance(when, datetime) else when
        if EARLIEST.date() <= day < LATEST.date():
            return when
        self.add_error(name, "impossible_time", f"{name} is out of range; send {EXPECTED}.")
        return None


def from_request(request: OpRequest) -> LocalTimeParser:
    """Return the clock for a call, in the time_zone sent or else the subject's. Raises InvalidArgs."""
    name = request.args.get("time_zone")
    if name is None:
        return LocalTimeParser(profiles.get_zone(request.subject))
    if name not in get_zone_names():
        message = f"time_zone is not a known time zone; send {EXPECTED_ZONE}, or leave it out for the user's own."
        raise build_invalid_args(
            [ArgumentError(path="/time_zone", code="unknown_zone", message=message, expected=EXPECTED_ZONE)]
        )
    return LocalTimeParser(ZoneInfo(name))


def get_day_start(day: date, zone: ZoneInfo) -> datetime:
    """Return the start of a day in the zone, in UTC."""
    return times.localize(datetime(day.year, day.month, day.day), zone)  # noqa: DTZ001  # a local time has no zone yet
