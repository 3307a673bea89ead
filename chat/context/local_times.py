"""Times of answers in the user's zone with its offset: one form for the model and for people.

The gateway and most services answer UTC times, and the calendar local times. What a caller sends back in this form
means the same.
"""

import re
from datetime import datetime, tzinfo
from typing import Any

CALENDAR = "cal."  # how ops begin whose times without an offset are local to the user
TEXTS = frozenset({"message", "warnings", "undone"})  # fields with sentences, in which times may stand
# Services write UTC in several forms: Z, +00:00, +0000 or +00, and a blank in place of the T.
_UTC_TIME = re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z\b|[+-]00(?::?00)?(?![\d:]))", re.ASCII)
_LOCAL_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?")


def localize_answer(answer: Any, zone: tzinfo) -> Any:
    """Return an answer of the gateway with its UTC times, and local times of the calendar, in a zone."""
    return _localize(answer, zone, is_calendar=False, is_text=False)


def _localize(value: Any, zone: tzinfo, *, is_calendar: bool, is_text: bool) -> Any:
    if isinstance(value, str):
        return _localize_text(value, zone, is_calendar=is_calendar, is_text=is_text)
    if isinstance(value, list):
        return [_localize(each, zone, is_calendar=is_calendar, is_text=is_text) for each in value]
    if isinstance(value, dict):
        op = value.get("op")
        in_calendar = op.startswith(CALENDAR) if isinstance(op, str) else is_calendar
        return {
            name: _localize(each, zone, is_calendar=in_calendar, is_text=name in TEXTS) for name, each in value.items()
        }
    return value


def _localize_text(text: str, zone: tzinfo, *, is_calendar: bool, is_text: bool) -> str:
    if is_text:
        return _UTC_TIME.sub(lambda match: _format(match[0], zone), text)
    if _UTC_TIME.fullmatch(text) or (is_calendar and _LOCAL_TIME.fullmatch(text)):
        return _format(text, zone)
    return text


def _format(text: str, zone: tzinfo) -> str:
    try:
        moment = datetime.fromisoformat(text)
        local = moment.astimezone(zone) if moment.tzinfo else moment.replace(tzinfo=zone)
        return local.isoformat(timespec="seconds" if local.second else "minutes")
    except (ValueError, OverflowError):  # not a time, or in the year 0 or 10000
        return text
