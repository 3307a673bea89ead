"""Weekly working hours as JSON: for each weekday, the spans of local time in which a person works."""

import re
from itertools import pairwise
from typing import Any

from django.core.exceptions import ValidationError

Week = dict[str, list[str]]  # {"monday": ["09:00-12:00", "13:00-17:00"], …}; a missing day is a day off
MinuteSpan = tuple[int, int]  # minutes of local time since midnight, end exclusive

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MAX_SPANS_PER_DAY = 12  # per day

_SPAN = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])-(?:([01][0-9]|2[0-3]):([0-5][0-9])|(24):(00))")


def usual() -> Week:
    """Return the default working hours: Monday to Friday, 9 to 5."""
    return {day: ["09:00-17:00"] if day in WEEKDAYS[:5] else [] for day in WEEKDAYS}


def parse_spans(week: Week, weekday: int) -> list[MinuteSpan]:
    """Return the spans of a weekday in order. Monday is 0."""
    return [_parse_span(span) for span in week.get(WEEKDAYS[weekday], [])]


def validate_week(week: Any) -> None:
    """Raise ValidationError unless the value is a valid week of working hours."""
    if not isinstance(week, dict) or not week.keys() <= set(WEEKDAYS):
        raise ValidationError(f"Enter a JSON object with only these keys: {', '.join(WEEKDAYS)}.")
    for day, spans in week.items():
        if not isinstance(spans, list) or not all(isinstance(span, str) and _SPAN.fullmatch(span) for span in spans):
            raise ValidationError(f'{day}: enter a list of spans such as ["09:00-12:00", "13:00-17:00"], or [].')
        if len(spans) > MAX_SPANS_PER_DAY:
            raise ValidationError(f"{day}: enter at most {MAX_SPANS_PER_DAY} spans.")
        if not _is_ordered([_parse_span(span) for span in spans]):
            raise ValidationError(
                f"{day}: each span must end after it starts, and start no earlier than the previous one ends."
            )


def _parse_span(span: str) -> MinuteSpan:
    begin, end = (60 * int(time[:2]) + int(time[3:]) for time in span.split("-"))
    return begin, end


def _is_ordered(day: list[MinuteSpan]) -> bool:
    return all(begin < end for begin, end in day) and all(end <= begin for (_, end), (begin, _) in pairwise(day))
