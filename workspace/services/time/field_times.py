"""Complete the times of a call that have no offset: they are meant in the user's time zone."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any
from zoneinfo import ZoneInfo

from django.db import models

from workspace.entity_types import EntityType
from workspace.models import Entity
from workspace.services.access import profiles
from workspace.services.time import times

LAST_MINUTE = time(23, 59)


@dataclass(frozen=True, slots=True)
class CompletedFields:
    """The fields of a call with an offset in each time, and a warning for each time that had none."""

    fields: dict[str, Any]
    warnings: tuple[str, ...]


def complete_times(
    sent: Mapping[str, Any], *, kind: EntityType, subject: str, row: Entity | None = None
) -> CompletedFields:
    """Read times without an offset in the subject's time zone.

    A date keeps the time of day that the field of the row has: who moves something to Friday does not move it to the
    evening. Otherwise it means the first minute of that day for a start, and the last minute for anything else. A text
    that is no time is left as it is, so that its column reports it.
    """
    incomplete = {name: sent[name] for name in _get_time_fields(kind) if _is_local(sent.get(name))}
    if not incomplete:
        return CompletedFields(dict(sent), ())
    zone = profiles.get_zone(subject)
    fields, warnings = dict(sent), []
    for name, text in incomplete.items():
        try:
            moment, part = _parse_local(text, zone, is_start=name.startswith("start"), old=getattr(row, name, None))
        except ValueError:
            continue
        fields[name] = times.format_time(moment)
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
