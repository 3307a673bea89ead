"""The dialect of our argument schemas: JSON Schema 2020-12, and the formats and annotations that we add to it."""

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

DIALECT = "https://json-schema.org/draft/2020-12/schema"

LOCAL_DATE_TIME = "iso-date-time"  # a date-time whose offset is optional; the name that JSON Schema tools use
DATE_OR_LOCAL_DATE_TIME = "iso-date-or-date-time"  # the same, or a date for whole days
# How signatures name these formats: in fewer tokens.
FORMAT_NAMES = {LOCAL_DATE_TIME: "date-time", DATE_OR_LOCAL_DATE_TIME: "date or date-time"}

VALUE_ALIASES = "x-aliases"  # annotation {value sent: value meant}, for words that models send instead of values
VALUE_REFUSALS = "x-refused"  # annotation {value sent: sentence}: what to do instead of sending an unsupported value
SHORT_NOTE = "x-note"  # annotation: a few words that short help shows after the type, instead of bounds
OPTION = "x-option"  # annotation, true: the argument of an update says how to do it or what to answer, not what changes
ANNOTATIONS = frozenset({VALUE_ALIASES, VALUE_REFUSALS, SHORT_NOTE, OPTION})  # no model is shown these keywords

_LOCAL_DATE_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,30})?)?([Zz]|[+-][0-9]{2}:[0-9]{2})?"
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def build_empty_schema() -> dict[str, Any]:
    """Return the schema of an op that takes no arguments."""
    return {"type": "object", "properties": {}, "additionalProperties": False}


def _is_local_date_time(text: str) -> bool:
    """Return whether a text is an RFC 3339 date-time; seconds and offset are optional, and a space may be the T."""
    return bool(_LOCAL_DATE_TIME.fullmatch(text)) and _exists_in_calendar(text)


def _is_date_or_local_date_time(text: str) -> bool:
    """Return whether a text is a date, or a date-time whose seconds and offset are optional."""
    return _is_local_date_time(text) or (bool(_DATE.fullmatch(text)) and _exists_in_calendar(text))


def _exists_in_calendar(text: str) -> bool:
    """Return whether the day and the time exist."""
    try:
        datetime.fromisoformat(text.upper())
    except ValueError:
        return False
    return True


FORMATS: dict[str, Callable[[str], bool]] = {
    LOCAL_DATE_TIME: _is_local_date_time,
    DATE_OR_LOCAL_DATE_TIME: _is_date_or_local_date_time,
}
