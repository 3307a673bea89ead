"""Dates with only a known year or month, and the time fields of rows."""

import re
from calendar import monthrange
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from typing import Any
from zoneinfo import ZoneInfo

from django.db import models

from core.handler_contract import ArgumentError
from workspace.entity_types import EntityType
from workspace.models import Entity
from workspace.services import access
from workspace.services.time import times

EXPECTED = "a date-time such as 2026-03-01T09:00 or 2026-03-01T09:00:00Z, or 2026-03-01, 2026-03, 2026 or March 2026"
MONTHS = tuple("january february march april may june july august september october november december".split())
_DATE_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ].+")
_LOCAL_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9:.]+")
_YEAR_FIRST = re.compile(r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2}))?)?")
_MONTH_FIRST = re.compile(r"([a-z]{3,9})\.?,? ([0-9]{4})")
LAST_MINUTE = time(23, 59)
LAST_DAY = "_until"  # how fields end that hold the last day of a series, which counts as a whole


@dataclass(slots=True)
class PartialDates:
    """Reads the dates of one call in a time zone, with a warning for each that its clocks skip or show twice."""

    zone: ZoneInfo
    warnings: list[str] = field(default_factory=list)

    def complete_times(
        self, sent: Mapping[str, Any], *, kind: EntityType, pointer: str
    ) -> tuple[dict[str, Any], list[ArgumentError]]:
        """Return the fields with complete times, and an error for each invalid time. Invalid fields are left out."""
        fields, errors = dict(sent), []
        for name in kind.fields:
            if name not in sent or not isinstance(column := kind.model._meta.get_field(name), models.DateField):
                continue
            try:
                moment = parse_partial_date(sent[name], is_end=not name.startswith("start"), zone=self.zone)
            except ValueError:
                del fields[name]
                message = f"{name} is not a valid time; send {EXPECTED}."
                errors.append(ArgumentError(f"{pointer}/{name}", "impossible_time", message, expected=EXPECTED))
                continue
            # A date column takes the date as written, whatever its offset.
            is_moment = isinstance(column, models.DateTimeField)
            fields[name] = times.format_time(moment) if is_moment else moment.date().isoformat()
            if is_moment and _LOCAL_TIME.fullmatch(text := sent[name].strip()):
                local_time = datetime.fromisoformat(text.upper())
                self.warnings += times.list_clock_changes(name, local_time, moment.astimezone(UTC), zone=self.zone)
        return fields, errors


def parse_partial_date(text: str, *, is_end: bool, zone: ZoneInfo) -> datetime:
    """Return the moment of a text. A day, month or year means its first second, or its last if `is_end`.

    A date-time keeps its offset; all others are in the zone. Raises ValueError if the text is not a time or the
    database cannot store it.
    """
    text = text.strip()
    if _DATE_TIME.fullmatch(text):
        times.parse_time(text, zone=zone)  # raises if it cannot be stored
        moment = datetime.fromisoformat(text.upper())
        return moment if moment.tzinfo else moment.replace(tzinfo=zone)
    if not (parts := _parse_parts(text)):
        raise ValueError("The text is not a time.")
    year, *rest = parts
    if not is_end:
        month, day = [*rest, 1, 1][:2]
        return _localize(datetime(year, month, day, tzinfo=zone))
    month = rest[0] if rest else 12
    day = rest[1] if len(rest) > 1 else monthrange(year, month)[1]
    return _localize(datetime(year, month, day, 23, 59, 59, tzinfo=zone))


def _localize(moment: datetime) -> datetime:
    """Return a moment that the database can store, else raise ValueError."""
    times.parse_time(moment.isoformat())
    return moment


def _parse_parts(text: str) -> list[int]:
    """Return the year and, if present, the month and day. Empty if the text is not a time."""
    if found := _YEAR_FIRST.fullmatch(text):
        return [int(part) for part in found.groups() if part is not None]
    if found := _MONTH_FIRST.fullmatch(text.casefold()):
        months = [number for number, name in enumerate(MONTHS, 1) if _is_month(found[1], name)]
        return [int(found[2]), *months[:1]] if months else []
    return []


def _is_month(word: str, name: str) -> bool:
    return word in (name, name[:3], "sept" if name == "september" else name)


@dataclass(frozen=True, slots=True)
class CompletedFields:
    """The fields of a call with an offset in each time, and a warning for each time that is not as it was sent."""

    fields: dict[str, Any]
    warnings: tuple[str, ...]


def complete_times(
    sent: Mapping[str, Any], *, kind: EntityType, subject: str, row: Entity | None = None
) -> CompletedFields:
    """Read times without an offset in the subject's time zone.

    A date keeps the time of day that the field of the row has: moving something to Friday does not move it to the
    evening. Otherwise, and for the last day of a series, it means the first minute of that day for a start, and the
    last minute for anything else. A text that is not a time is left unchanged, so that its column reports it.
    """
    incomplete = {name: sent[name] for name in _get_time_fields(kind) if _is_local(sent.get(name))}
    if not incomplete:
        return CompletedFields(dict(sent), ())
    zone = access.get_zone(subject)
    fields, warnings = dict(sent), []
    for name, text in incomplete.items():
        try:
            old = None if name.endswith(LAST_DAY) else getattr(row, name, None)
            moment, part = _parse_local(text, zone, is_start=name.startswith("start"), old=old)
        except ValueError:
            continue
        fields[name] = times.format_time(moment)
        if not part:
            local_time = datetime.fromisoformat(text.upper())
            warnings += times.list_clock_changes(name, local_time, moment, zone=zone)
            continue
        warnings.append(f"Read {name} as {times.format_time(moment, zone=zone)},{part} in {zone.key}.")
    return CompletedFields(fields, tuple(warnings))


def _get_time_fields(kind: EntityType) -> list[str]:
    return [name for name in kind.fields if isinstance(kind.model._meta.get_field(name), models.DateTimeField)]


def _is_local(text: Any) -> bool:
    try:
        return isinstance(text, str) and datetime.fromisoformat(text.upper()).tzinfo is None
    except ValueError:
        return False


def _parse_local(text: str, zone: ZoneInfo, *, is_start: bool, old: datetime | None) -> tuple[datetime, str]:
    """Return the moment in UTC, and which time of a day it is. Raises ValueError if no database can store it."""
    if not times.is_date(text):
        return times.parse_time(text, zone=zone), ""
    time_of_day, part = (time.min, " the start of that day") if is_start else (LAST_MINUTE, " the end of that day")
    if old is not None and (old_time := old.astimezone(zone).time().replace(microsecond=0)) != time_of_day:
        time_of_day, part = old_time, " that day at the old time,"
    return times.localize(datetime.combine(date.fromisoformat(text), time_of_day), zone), part
