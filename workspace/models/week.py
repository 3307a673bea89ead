"""Weekly working hours as JSON: for each weekday, the spans of local time in which a person works."""

import re
from itertools import pairwise
from typing import Any

from django.core.exceptions import ValidationError

Week = dict[str, list[str]]  # {"monday": ["09:00-12:00", "13:00-17:00"], …}; a missing day is a day off
Span = tuple[int, int]  # minutes of local time since midnight, end exclusive

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MOST_SPANS = 12  # per day

_SPAN = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])-(?:([01][0-9]|2[0-3]):([0-5][0-9])|(24):(00))")


def usual() -> Week:
    """Return the default working hours: Monday to Friday, 9 to 5."""
    return {day: ["09:00-17:00"] if day in WEEKDAYS[:5] else [] for day in WEEKDAYS}


def spans(week: Week, weekday: int) -> list[Span]:
    """Return the spans of a weekday in order. Monday is 0."""
    return [_minutes(span) for span in week.get(WEEKDAYS[weekday], [])]


def validate(week: Any) -> None:
    """Raise ValidationError unless the value is a valid week of working hours."""
    if not isinstance(week, dict) or not week.keys() <= set(WEEKDAYS):
        raise ValidationError(f"Enter a JSON object with only these keys: {', '.join(WEEKDAYS)}.")
    for day, told in week.items():
        if not isinstance(told, list) or not all(isinstance(span, str) and _SPAN.fullmatch(span) for span in told):
            raise ValidationError(f'{day}: enter a list of spans such as ["09:00-12:00", "13:00-17:00"], or [].')
        if len(told) > MOST_SPANS:
            raise ValidationError(f"{day}: enter at most {MOST_SPANS} spans.")
        if not _in_order([_minutes(span) for span in told]):
            raise ValidationError(
                f"{day}: each span must end after it starts, and start no earlier than the previous one ends."
            )


def _minutes(span: str) -> Span:
    begin, end = (60 * int(time[:2]) + int(time[3:]) for time in span.split("-"))
    return begin, end


def _in_order(day: list[Span]) -> bool:
    return all(begin < end for begin, end in day) and all(end <= begin for (_, end), (begin, _) in pairwise(day))
